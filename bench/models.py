#!/usr/bin/env python3
"""Fills the tables of docs/models.md: each row is a command, its numbers are what the program says.

    bench/models.py build/stair                 all tables (about an hour on two cores)
    bench/models.py build/stair --only untied   tables whose name contains a word
    bench/models.py build/stair --only shapes --row tokens=5   of these, rows whose model contains another

A table stands between <!-- table NAME --> and <!-- end -->.  Rows of other tables stay as they are.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "models.md")


def steps(spec, args="--precision 1e-2"):
    return {"spec": spec, "args": args.split()}


def amp(spec, alpha, dim, iterations=60):
    args = f"--alpha {alpha} --dim {dim} --seeds 16 --max-iterations {iterations}"
    return {"spec": spec, "amp": (args + " --tolerance 1e-3 --test-samples 64").split()}


def exponents(spec):
    return {"spec": spec, "exponents": ["--degree", "4"]}


def hard(spec, precision="1e-2"):
    return {"spec": spec, "hard": ["--precision", precision]}


def cost(spec, formula, most=0):
    """most: steps that are timed, 0 for the staircase."""
    return {"spec": spec, "formula": formula, "most": most}


def published(command, quantity, value, source, take):
    """take: number and error from the results of a command."""
    return {"spec": "stair " + command, "published": (quantity, value, source), "take": take}


def step_at(k):
    return lambda found: (found[k]["alpha"], found[k]["error"])


def information(found):
    return found[0]["information"], found[0]["information_error"]


def overlap(found):
    return found[0]["Q"][0][0], found[0]["Q_error"][0][0]


def bayes_decay(found):
    """alpha times the error of the best classifier, arccos(sqrt q) / pi."""
    alpha, (q, error) = found[0]["alpha"], overlap(found)
    return alpha * math.acos(math.sqrt(q)) / math.pi, alpha * error / (2 * math.pi * math.sqrt(q * (1 - q)))


MONDELLI = "Mondelli and Montanari, arXiv:1708.05932, abstract"
MAILLARD = "Maillard et al., arXiv:2006.05228"
TROIANI = "Troiani et al., arXiv:2405.15480, abstract"

SHAPES = ["layers=1,tokens=1", "layers=1,tokens=3,rank=2", "layers=1,tokens=4,rank=2",
          "layers=1,noise=1e-4", "layers=2,noise=0.1", "layers=2,noise=1e-4", "layers=2,tokens=3,noise=0.1",
          "layers=2,tokens=4,rank=2", "layers=2,tokens=5", "layers=2,tokens=8", "layers=3,tokens=3",
          "layers=4,tokens=2", "layers=4,tokens=4,rank=3", "layers=4,tokens=8,rank=3,noise=1e-2"]

TABLES = {
    "untied-one": [steps(f"attention:layers=1,weights=untied,tokens={m}", "--precision 1e-6 --steps 1")
                   for m in range(2, 7)],
    "untied-perfect": [steps(f"attention:layers=1,weights=untied,tokens={m}") for m in (2, 3)],
    "untied-two": [steps("attention:layers=2,weights=untied", "--precision 3e-2 --patience 3 --steps 2")],
    "sequence": [steps(f"attention:output=sequence,skip={c}", "--precision 3e-2 --patience 3 --steps 2")
                 for c in ("0.5", "1", "2")],
    "heads": [steps("attention:layers=1,heads=2,readout=1,noise=0.1", "--precision 3e-2 --steps 2"),
              steps("attention:layers=1,heads=2,readout=1,noise=0.1,weights=untied",
                    "--precision 5e-2 --steps 2")],
    "limit": [steps(f"attention-limit:layers={n},beta={b}", "--precision 1e-3 --steps 2")
              for b in (1, 2) for n in (2, 3, 4, 8, 16, 64)] +
             [steps(f"attention-limit:layers=64,beta={b},variant=flow") for b in (1, 2)],
    "depth": [steps(f"attention:layers={n},skip={b * n}", "--precision 1e-2 --steps 2")
              for b in (1, 2) for n in (2, 3, 4, 8)],
    "amp": [amp("attention:layers=1,weights=untied", 0.6, 1000),
            amp("attention:layers=1,heads=2,readout=1,noise=0.1", 1, 500, 25),
            amp("attention-limit:layers=2,variant=flow", 0.4, 1000),
            amp("attention-limit:layers=3,beta=1", 0.5, 500),
            amp("attention:layers=1,tokens=3,rank=2", 0.3, 500),
            amp("attention:output=sequence", 0.45, 500, 40)],
    "zoo": [steps(s, "--precision 1e-3") for s in
            ("abs", "sign", "linear:noise=1", "relu", "door:width=1", "norm2", "norm2:indices=3", "product",
             "parity", "parity:indices=3", "committee:indices=2", "staircase")] +
           [steps("product:indices=3", "--precision 1e-3 --steps 1"), steps("soft-committee", "--precision 1e-3"),
            steps("committee", "--precision 1e-3"), steps("expr:z1^2-z2^2", "--precision 1e-3"),
            steps("abs:noise=1e-3", "--precision 1e-3")],
    "zoo-amp": [amp("sign", 2, 1000), amp("relu", 1, 1000), amp("door:width=1", 2, 1000),
                amp("abs", 0.9, 1000), amp("abs", 1.3, 1000), amp("product", 1, 500),
                amp("committee:indices=2", 1.5, 1000)],
    "zoo-published": [
        published("threshold square --steps 1", "weak recovery", "1/2", MONDELLI, step_at(0)),
        published("threshold square", "perfect recovery by message passing", "1.128", MAILLARD + ", a table",
                  step_at(1)),
        published("entropy square --phases", "perfect recovery by information", "1", MAILLARD + ", abstract",
                  information),
        published("threshold norm2 --steps 1", "weak recovery, complex signals", "1", MONDELLI, step_at(0)),
        published("threshold norm2", "perfect recovery of these by message passing", "2.027",
                  MAILLARD + ", a table", step_at(1)),
        published("entropy norm2 --phases", "the same by information", "2", MAILLARD + ", abstract",
                  information),
        published("threshold parity:indices=3 --steps 1", "weak recovery", "never", TROIANI, step_at(0)),
        published("threshold parity --steps 1", "weak recovery", "2.4674011", "closed form: pi^2/4", step_at(0)),
        published("evolve sign --alpha 100 --from uninformed",
                  "alpha times the error of the best classifier, large alpha", "0.44",
                  "Opper and Haussler, Phys. Rev. Lett. 66 (1991) 2677", bayes_decay),
        published("evolve linear:noise=1 --alpha 2 --from uninformed", "overlap", "0.5857864",
                  "closed form: 2 - sqrt 2", overlap)],
    "zoo-exponents": [exponents(s) for s in
                      ("square", "relu", "door:width=1", "norm2", "product", "parity:indices=3", "committee",
                       "soft-committee", "staircase", "expr:z1^3-3*z1", "expr:z1+z1*z2+z1*z2*z3")],
    "zoo-hard": [hard(s, "1e-3") for s in ("square", "abs", "norm2", "relu")] +
                [hard(s, "1e-2") for s in ("parity:indices=3", "committee")],
    "zoo-cost": [cost("abs", "expr:abs(z1)"), cost("sign", "expr:sign(z1)"), cost("relu", "expr:relu(z1)"),
                 cost("linear:noise=1", "expr:z1,noise=1"), cost("door:width=1", "expr:sign(abs(z1)-1)"),
                 cost("norm2", "expr:z1^2+z2^2"), cost("product", "expr:z1*z2"),
                 cost("parity", "expr:sign(z1*z2)"), cost("parity:indices=3", "expr:sign(z1*z2*z3)"),
                 cost("product:indices=3", "expr:z1*z2*z3", 1),
                 cost("committee:indices=2", "expr:sign(sign(z1)+sign(z2))"),
                 cost("committee", "expr:sign(sign(z1)+sign(z2)+sign(z3))"),
                 cost("staircase", "expr:z1^2+sign(z1*z2*z3)"),
                 cost("soft-committee", "expr:erf(z1/sqrt(2))+erf(z2/sqrt(2))")],
    "shapes": [steps(f"attention:{s}") for s in SHAPES],
}


def number(value, error):
    """alpha with as many digits as its error leaves."""
    if value in (None, "inf") or not isinstance(value, (int, float)):
        return "never" if value in ("inf", None) else str(value)
    if value == float("inf"):
        return "never"
    if not error:
        return f"{value:.8g}, exact to rounding"
    digits = max(0, 1 - int(f"{error:e}".split("e")[1]))
    if digits > 9:
        return f"{value:.9f} +- {error:.0e}"
    return f"{value:.{digits}f} +- {error:.{digits}f}"


def cell(step):
    learns = " ".join(str(k) for k in step["learns"])
    what = "all" if step["kind"] == "perfect" else learns
    kind = "" if step["kind"] == "weak" else step["kind"] + ": "
    jump = ", jumps" if step.get("jump") else ""
    return f"{kind}{number(step['alpha'], step['error'])} ({what}{jump})"


def amp_row(stair, entry):
    command = [stair, "amp", entry["spec"], *entry["amp"], "--summary", "--json", "--quiet"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["results"][0]
    far = max((abs(z) for z in found["z_Q"] + found["z_M"] if z is not None), default=0)
    size = len(found["Q"])
    means = ", ".join(f"{found['Q'][i][i]:.3f} ({found['theory']['Q'][i][i]:.3f})" for i in range(size))
    text = f"| `{entry['spec']}` | {' '.join(entry['amp'][:4])} | {means} | {far:.1f} |"
    print(text, flush=True)
    return text


def published_row(stair, entry):
    command = [stair, *entry["spec"].split()[1:], "--precision", "1e-3", "--json", "--quiet"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["results"]
    quantity, value, source = entry["published"]
    text = f"| `{entry['spec']}` | {quantity} | {value} | {source} | {number(*entry['take'](found))} |"
    print(text, flush=True)
    return text


def exponents_row(stair, entry):
    command = [stair, "exponents", entry["spec"], *entry["exponents"], "--json", "--quiet"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["results"]
    kinds = []
    for kind in "information", "generative":
        kinds.append("; ".join(f"{r['index']}: {r[kind]} ({r[kind + '_term']}), leap {r[kind + '_leap']}"
                               if r[kind] else f"{r['index']}: none" for r in found))
    text = f"| `{entry['spec']}` | {kinds[0]} | {kinds[1]} |"
    print(text, flush=True)
    return text


def hard_row(stair, entry):
    command = [stair, "entropy", entry["spec"], "--phases", *entry["hard"], "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(done.stdout)["results"] if done.stdout.strip() else []
    phases = "; ".join(f"{number(r['information'], r['information_error'])} to "
                       f"{number(r['algorithmic'], r['algorithmic_error'])} ({r['kind']})" for r in found)
    text = f"| `{entry['spec']}` | {phases or 'none'} |"
    print(text, flush=True)
    return text


def seconds(stair, spec, *more):
    """Processor seconds of a threshold to 1e-3, and its steps; None where it failed."""
    before = os.times()
    done = subprocess.run([stair, "threshold", spec, "--precision", "1e-3", *more, "--json", "--quiet"],
                          capture_output=True, text=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return max(0.0, spent), json.loads(done.stdout)["results"] if done.stdout.strip() else None


def apart(some, others):
    """Largest distance of steps in errors; '-': none has a finite alpha, '?': they differ in number."""
    if not some or not others or len(some) != len(others):
        return "?"
    far = []
    for a, b in zip(some, others):
        if a["alpha"] is None or b["alpha"] is None:
            if a["alpha"] is not b["alpha"]:
                return "?"
            continue
        error = (a["error"] ** 2 + b["error"] ** 2) ** 0.5
        gap = abs(a["alpha"] - b["alpha"])
        far.append(gap / error if error else 0 if not gap else float("inf"))
    return f"{max(far):.1f}" if far else "-"


def cost_row(stair, entry):
    """First step and staircase of a model and of its formula: seconds, and how far steps are apart."""
    cells = [f"`{entry['spec']}`", f"`{entry['formula']}`"]
    most = f" ({entry['most']} steps)" if entry["most"] else ""
    for whole in False, True:
        steps = str(entry["most"]) if whole else "1"
        by_model, some = seconds(stair, entry["spec"], "--steps", steps)
        by_formula, others = seconds(stair, entry["formula"], "--steps", steps)
        kind = most if whole else ""
        cells += [f"{by_model:.2f}{kind if some else ' (refused)'}", f"{by_formula:.2f}"]
        if by_formula > 5 * max(by_model, FLOOR):
            print(f"{entry['formula']}: more than 5 times {entry['spec']}", file=sys.stderr)
    text = "| " + " | ".join(cells + [apart(some, others)]) + " |"
    print(text, flush=True)
    return text


FLOOR = 0.1  # seconds below which costs are not compared


HEADS = {"zoo-hard": ["| model | hard from ... to ... (step that ends it) |", "|---|---|"],
         "zoo-cost": ["| model | formula | first step, s | of the formula | staircase, s | of the formula "
                      "| errors apart |", "|---|---|---|---|---|---|---|"],
         "zoo-amp": ["| model | run | diagonal of Q (state evolution) | largest z |", "|---|---|---|---|"],
         "amp": ["| model | run | diagonal of Q (state evolution) | largest z |", "|---|---|---|---|"],
         "zoo-published": ["| command | quantity | published | source | here |", "|---|---|---|---|---|"],
         "zoo-exponents": ["| model | information exponent (term), leap | generative exponent (term), leap |",
                           "|---|---|---|"]}
STEPS_HEAD = ["| model | precision | steps (what is learned) |", "|---|---|---|"]


def row(stair, entry):
    if "hard" in entry:
        return hard_row(stair, entry)
    if "formula" in entry:
        return cost_row(stair, entry)
    if "published" in entry:
        return published_row(stair, entry)
    if "exponents" in entry:
        return exponents_row(stair, entry)
    if "amp" in entry:
        return amp_row(stair, entry)
    command = [stair, "threshold", entry["spec"], *entry["args"], "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    text = f"| `{entry['spec']}` | {entry['args'][1]} | "
    if done.returncode in (0, 3) and done.stdout.strip():
        found = json.loads(done.stdout)["results"]
        text += "; ".join(cell(s) for s in found)
    said = done.stderr.strip().removeprefix("stair: ")
    if done.returncode and said:
        text += (" -- " if done.returncode == 3 else "refused: ") + said.split(";")[0]
    print(text, flush=True)
    return text + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("stair")
    parser.add_argument("--only", default="")
    parser.add_argument("--row", default="", help="only rows whose model contains this")
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for name, entries in TABLES.items():
        if options.only not in name:
            continue
        mark = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.S)
        if not mark.search(page):
            sys.exit(f"docs/models.md has no table {name}")
        before = {line.split("`")[1]: line for line in mark.search(page).group(0).split("\n") if "`" in line}
        lines = HEADS.get(name, STEPS_HEAD) + [
            row(options.stair, entry) if options.row in entry["spec"] or entry["spec"] not in before
            else before[entry["spec"]] for entry in entries]
        page = mark.sub(lambda m: m.group(1) + "\n".join(lines) + "\n" + m.group(2), page)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
