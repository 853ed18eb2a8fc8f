#!/usr/bin/env python3
"""Fills the tables of docs/models.md: each row is a command, its numbers are what the program says.

    bench/models.py build/stair                 all tables (about an hour on two cores)
    bench/models.py build/stair --only untied   tables whose name contains a word

A table stands between <!-- table NAME --> and <!-- end -->.  Rows of other tables stay as they are.
"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "models.md")


def steps(spec, args="--precision 1e-2"):
    return {"spec": spec, "args": args.split()}


def amp(spec, alpha, dim):
    args = f"--alpha {alpha} --dim {dim} --seeds 16 --max-iterations 100 --tolerance 1e-3 --test-samples 64"
    return {"spec": spec, "amp": args.split()}


def exponents(spec):
    return {"spec": spec, "exponents": ["--degree", "4"]}


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
            amp("attention:layers=1,heads=2,readout=1,noise=0.1", 1, 500),
            amp("attention-limit:layers=2,variant=flow", 0.4, 1000),
            amp("attention-limit:layers=3,beta=1", 0.5, 500),
            amp("attention:layers=1,tokens=3,rank=2", 0.3, 500),
            amp("attention:output=sequence", 0.45, 500)],
    "zoo": [steps(s, "--precision 1e-3") for s in
            ("abs", "sign", "linear:noise=1", "relu", "door:width=1", "norm2", "norm2:indices=3", "product",
             "parity", "parity:indices=3", "committee:indices=2", "staircase")] +
           [steps(s, "--precision 1e-3 --steps 1") for s in ("soft-committee", "committee", "expr:z1^2-z2^2")],
    "zoo-exponents": [exponents(s) for s in
                      ("square", "relu", "door:width=1", "norm2", "product", "parity:indices=3", "committee",
                       "soft-committee", "staircase", "expr:z1^3-3*z1", "expr:z1+z1*z2+z1*z2*z3")],
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
    kind = "perfect: " if step["kind"] == "perfect" else ""
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


HEADS = {"amp": ["| model | run | diagonal of Q (state evolution) | largest z |", "|---|---|---|---|"],
         "zoo-exponents": ["| model | information exponent (term), leap | generative exponent (term), leap |",
                           "|---|---|---|"]}
STEPS_HEAD = ["| model | precision | steps (what is learned) |", "|---|---|---|"]


def row(stair, entry):
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
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for name, entries in TABLES.items():
        if options.only not in name:
            continue
        mark = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", re.S)
        if not mark.search(page):
            sys.exit(f"docs/models.md has no table {name}")
        lines = HEADS.get(name, STEPS_HEAD) + [row(options.stair, entry) for entry in entries]
        page = mark.sub(lambda m: m.group(1) + "\n".join(lines) + "\n" + m.group(2), page)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)


if __name__ == "__main__":
    main()
