#!/usr/bin/env python3
"""Writes docs/paper.md: what the paper prints, the command that computes it here, our value, a verdict.

    bench/paper.py build/stair --out out/paper             computes what is missing, then writes the page
    bench/paper.py build/stair --out out/paper --only fig1 rows whose place contains a word; no page
    bench/paper.py --out out/paper                         writes the page from the files that are there; rows
                                                           without a file stay as the page has them

Each row is a command and a function of its JSON.  Results are kept as one file each under --out, with the
command in them; a file of another command or version is computed again.  With --reference DIR the tables
that the authors published are compared, too.
"""
import argparse
import csv
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "paper.md")
TWO = "attention:layers=2"
QUESTIONS = "--data data/questions.label --vocab data/vocab.txt"


# ---- values of results: (text, number or None, error) ---------------------------------------------

def shown(value, error=0.0):
    if not error:
        return f"{value:.6g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 9:
        return f"{value:.9f} +- {error:.0e}"
    return f"{value:.{digits}f} +- {error:.{digits}f}"


def step(k):
    def read(results):
        found = results[k]
        return shown(found["alpha"], found["error"]), found["alpha"], found["error"]
    return read


def order(results):
    learned = [" ".join(str(n) for n in s["learns"]) for s in results if s["kind"] == "weak"]
    return "layers " + ", then ".join(learned), learned, 0


def entry(name, i, j=None, start=None):
    def read(results):
        found = [r for r in results if start in (None, r.get("start"))][0]
        value, error = found[name], found.get(name + "_error")
        for k in (i, j):
            if k is not None:
                value, error = value[k], error[k]
        return shown(value, error), value, error
    return read


def prediction(name):
    def read(results):
        errors = results[0]["errors"]
        return shown(errors[name], errors[name + "_error"]), errors[name], errors[name + "_error"]
    return read


def starts_agree(results):
    """Largest distance between the two starts, in errors."""
    by = {}
    for r in results:
        by.setdefault(r["alpha"], {})[r["start"]] = r
    far = 0
    for pair in by.values():
        for i in range(2):
            a, b = pair["uninformed"], pair["informed"]
            error = math.hypot(a["Q_error"][i][i], b["Q_error"][i][i])
            far = max(far, abs(a["Q"][i][i] - b["Q"][i][i]) / max(error, 1e-3))
    return f"both starts within {far:.1f} errors", far, 0


def no_hard_phase(results):
    hard = [r["alpha"] for r in results if r["hard"]]
    return ("hard at " + ", ".join(map(str, hard)) if hard else "no hard phase"), bool(hard), 0


def worst_z(results):
    zs = [abs(z) for r in results for z in r["z_Q"] + r["z_M"] if z is not None]
    return f"largest z {max(zs):.1f} over {len(zs)} overlaps", max(zs), 0


def by_seed(results):
    """Rows of each run, in order."""
    runs = {}
    for row in results:
        runs.setdefault(row["seed"], []).append(row)
    return list(runs.values())


def first_above(layer, level, unit):
    """Where a cosine first passes a level, the median over seeds."""
    def read(results):
        passed = []
        for run in by_seed(results):
            times = [row.get("epoch", row.get("iteration")) for row in run
                     if row["cosine"][layer - 1] > level]
            passed.append(times[0] if times else math.inf)
        passed.sort()
        middle = passed[len(passed) // 2]
        return f"{unit} {middle:g} (median of {len(passed)})", middle, 0
    return read


def similarity_order(results):
    """Which layer's similarity to its final weights passes 0.5 first, by seeds."""
    first = {}
    for run in by_seed(results):
        when = {}
        for row in run:
            for layer, s in enumerate(row["similarity"]):
                if s > 0.5:
                    when.setdefault(layer + 1, row["epoch"])
        if when:
            winner = min(when, key=lambda k: when[k])
            first[winner] = first.get(winner, 0) + 1
    text = ", ".join(f"layer {k} first in {n} runs" for k, n in sorted(first.items()))
    return text or "no similarity above 0.5", first, 0


def order_of_learning(later, level, sooner, unit):
    """How well `sooner` is known where the cosine of layer `later` first passes a level: the least over seeds."""
    def read(results):
        known = [row["cosine"][sooner - 1] for run in by_seed(results)
                 for row in [next((r for r in run if r["cosine"][later - 1] > level), None)] if row]
        return (f"cosine of layer {sooner} at least {min(known):.3f} where that of layer {later} passes "
                f"{level:g} ({len(known)} runs)", min(known), 0)
    return read


def settings(**printed_values):
    """Options of the command beside the printed ones."""
    def read(found):
        ours = {name: found["options"][name.replace("_", "-")] for name in printed_values}
        if ours.get("weight_decay") == -1:
            ours["weight_decay"] = 0.07 / found["options"]["dim"]  # what -1 stands for
        ours = {name: x[0] if isinstance(x, list) else x for name, x in ours.items()}
        wrong = [n for n, x in ours.items() if not math.isclose(x, printed_values[n], rel_tol=1e-9)]
        return ", ".join(f"{n.replace('_', ' ')} {x:g}" for n, x in ours.items()), wrong, 0
    read.whole = True
    return read


def memory(found):
    return f"{found['memory'] / 1024:.0f} MB at most", found["memory"], 0


memory.whole = True


def weights_error(results):
    e, q, q_error = results[0]["errors"], results[0]["Q"], results[0]["Q_error"]
    square = sum(x * x for row in q for x in row)
    error = 2 * math.sqrt(sum((x * y) ** 2 for a, b in zip(q, q_error) for x, y in zip(a, b)))
    return (f"{shown(e['weights'], e['weights_error'])}; 1 - Tr Q^2 = {shown(1 - square, error)}",
            1 - square - e["weights"], error)


def same_error(results):
    a, b = (r["errors"] for r in results if r["start"] == "uninformed")
    far = abs(a["plugin"] - b["plugin"]) / math.hypot(a["plugin_error"], b["plugin_error"])
    return f"{shown(a['plugin'], a['plugin_error'])} and {shown(b['plugin'], b['plugin_error'])}", far, 0


def identities(results):
    """How many hold, are too dear to resolve, and fail."""
    count = {name: sum(r["verdict"] == name for r in results) for name in ("holds", "not resolved")}
    failed = len(results) - sum(count.values())
    worst = max((r for r in results if r["verdict"] == "holds"), key=lambda r: r["violation"] / r["tolerance"])
    left = f", {count['not resolved']} not resolved" if count["not resolved"] else ""
    return (f"{count['holds']} of {len(results)} identities hold{left}; nearest to its tolerance: "
            f"{worst['identity']}, {worst['violation']:.1e} of {worst['tolerance']:.1e}",
            (failed, count["not resolved"]), 0)


def hold_all(found, error):
    failed, unresolved = found
    return "differs" if failed else "agrees as far as resolved" if unresolved else "agrees"


def hidden_until(rows):
    """Largest held overlap of layer 2 at which layer 1 is not learned, and the smallest at which it is."""
    none = max(r["Q22"] for r in rows if r["Q11"] == 0)
    some = min((r for r in rows if r["Q11"] > 0), key=lambda r: r["Q22"])
    return (f"Q11 = 0 up to Q22 = {none:g}, {shown(some['Q11'], some['Q11_error'])} at {some['Q22']:g}", none, 0)


def orders_by_skip(rows):
    right = [r["skip"] for r in rows if r["alpha2"] < r["alpha1"]]
    return f"layer 2 before layer 1 at {len(right)} of {len(rows)} values of c", len(right) == len(rows), 0


def at_alpha(name, alpha):
    def read(rows):
        row = next(r for r in rows if r["series"] == "theory" and abs(r["alpha"] - alpha) < 1e-9)
        return shown(row[name], row[name + "_error"]), row[name], row[name + "_error"]
    return read


# ---- verdicts --------------------------------------------------------------------------------------

def printed(value, last, erratum=None):
    """Agrees within half a unit of the last printed digit and three errors."""
    def judge(ours, error):
        near = abs(ours - value) <= 0.5 * last + 3 * error
        return "agrees" if near else differs(erratum)
    return judge


def differs(erratum):
    return f"differs: [erratum {erratum[0]}](errata.md#{erratum[1]})" if erratum else "differs"


def holds(test, otherwise="differs"):
    return lambda ours, error: "agrees" if test(ours) else otherwise


ROWS = [
    ("Theorem 2, Fig. 1", "alpha_1 of two layers, c = 1: about 0.14", f"threshold {TWO} --precision 1e-4",
     step(0), printed(0.14, 0.01, ("1", "1-alpha_1"))),
    ("Fig. 1, right", "alpha_1 at c = 4: 0.083", f"threshold {TWO},skip=4 --steps 1 --precision 1e-4",
     step(0), printed(0.083, 0.001, ("1", "1-alpha_1"))),
    ("Theorem 2, Fig. 1", "alpha_2 of two layers, c = 1: about 0.79", f"threshold {TWO} --precision 1e-4",
     step(1), printed(0.79, 0.01, ("2", "2-alpha_2"))),
    ("Section 3.1", "the second layer is learned first, then the first", f"threshold {TWO} --precision 1e-4",
     order, holds(lambda x: x == ["2", "1"])),
    ("Section 3.1", "Q12 = Q21 = 0 at convergence", f"evolve {TWO} --alpha 0.9 --precision 1e-2",
     entry("Q", 0, 1, "uninformed"), holds(lambda x: x == 0)),
    ("Section 3.1", "the same with strong side information: no gap",
     f"evolve {TWO} --alpha 0.3,0.6,0.8,0.9 --precision 1e-2", starts_agree, holds(lambda x: x < 3)),
    ("Section 3.1, Theorem 1", "GAMP is Bayes-optimal: the free entropy has one extremum",
     f"entropy {TWO} --alpha 0.3,0.6,0.8,0.9 --precision 1e-2", no_hard_phase, holds(lambda x: not x)),
    ("Fig. 1, left", "prediction error below alpha_1: 0.387 on the axis",
     f"evolve {TWO} --alpha 0.1 --precision 1e-3", prediction("plugin"), printed(0.387, 0.001)),
    ("Fig. 1, left; eq. 11", "the prediction error of eq. 11 is what is plotted",
     f"evolve {TWO} --alpha 0.1 --precision 1e-3", prediction("bayes"),
     printed(0.387, 0.001, ("4", "4-prediction-error"))),
    ("Fig. 1, left", "Q11 = 0.82 at alpha = 1.2, as printed: exact model",
     f"evolve {TWO} --alpha 1.2 --from uninformed --precision 1e-2", entry("Q", 0, 0, "uninformed"),
     printed(0.82, 0.01, ("3", "3-the-plateau"))),
    ("Fig. 1, left", "Q11 = 0.82 at alpha = 1.2: with the regulariser of the authors' code",
     f"evolve {TWO},prenoise=1e-3 --alpha 1.2 --from uninformed --precision 1e-2",
     entry("Q", 0, 0, "uninformed"), printed(0.82, 0.01, ("3", "3-the-plateau"))),
    ("Lemma 1, Fig. 1 left", "GAMP at D = 1000, 16 runs, lies on state evolution",
     f"amp {TWO} --dim 1000 --alpha 0.3,0.5 --seeds 16 --summary --max-iterations 100 --tolerance 1e-3",
     worst_z, holds(lambda x: x < 4)),
    ("Fig. 2, top", "GAMP at alpha = 1.2: the second layer within the first few iterations",
     f"amp {TWO} --dim 1000 --alpha 1.2 --seeds 5 --history --theory none",
     first_above(2, 0.5, "cosine 0.5 at iteration"), holds(lambda x: x <= 6)),
    ("Fig. 2, top", "the first layer after approximately 10 iterations",
     f"amp {TWO} --dim 1000 --alpha 1.2 --seeds 5 --history --theory none",
     first_above(1, 0.5, "cosine 0.5 at iteration"), holds(lambda x: 6 <= x <= 20)),
    ("Fig. 2, bottom", "SGD starts to learn the second layer after one epoch",
     f"sgd {TWO} --dim 500 --alpha 15 --seeds 5", first_above(2, 0.2, "cosine 0.2 at epoch"),
     holds(lambda x: x <= 5)),
    ("Fig. 2, bottom", "the first layer only later, clearly apart",
     f"sgd {TWO} --dim 500 --alpha 15 --seeds 5", first_above(1, 0.5, "cosine 0.5 at epoch"),
     holds(lambda x: 20 < x < math.inf)),
    ("Fig. 3, left", "three layers: the last is learned first",
     "threshold attention:layers=3 --steps 3 --precision 1e-2", order, holds(lambda x: x[0] == "3")),
    ("Fig. 3, left", "layers 1 and 2 share one threshold (conjectured to be general)",
     "threshold attention:layers=3 --steps 3 --precision 1e-2", order,
     holds(lambda x: len(x) == 2, "differs: each layer has its own step")),
    ("Fig. 3, right", "a transformer on TREC: the order is reversed, the first layer first (here on the "
     "questions of the project)", f"train {QUESTIONS} --rate 1e-3 --records 4 --seeds 4", similarity_order,
     holds(lambda x: x and max(x, key=lambda k: x[k]) == 1)),
    ("Section 3.2, eq. 43", "in the limit of many layers hidden ones are a committee that is learned",
     "threshold attention-limit:layers=64,beta=1,variant=flow", order,
     holds(lambda x: len(x) > 1, differs(("16", "16-large-depth-limit")))),
    ("Section 3.2, eq. 43", "the printed committee: hidden layers are learned together, after the last",
     "threshold attention-limit:layers=4,beta=1 --steps 2 --precision 1e-2", order,
     holds(lambda x: x == ["4", "1 2 3"])),
    ("Theorem 1", "estimation error 1 - Tr Q^2 (here at alpha = 0.5)", f"evolve {TWO} --alpha 0.5 --precision 1e-2",
     weights_error, lambda x, error: "agrees" if abs(x) <= 3 * error else differs(("5", "5-bayes-error"))),
    ("Section 3.1", "prediction error constant for alpha < alpha_1 (here: 0.05 and 0.15)",
     f"evolve {TWO} --alpha 0.05,0.15 --precision 1e-2", same_error, holds(lambda x: x < 3)),
    ("Fig. 1, right", "three regimes over a wide range of c, the second layer first", "figure fig1-right --quick",
     orders_by_skip, holds(lambda x: x)),
    ("Fig. 2, top", "the first layer begins when the second is almost perfectly reconstructed",
     f"amp {TWO} --dim 1000 --alpha 1.2 --seeds 5 --history --theory none",
     order_of_learning(1, 0.3, 2, "iteration"), holds(lambda x: x > 0.9)),
    ("Fig. 2, bottom", "the first layer only when the second is almost perfectly learned",
     f"sgd {TWO} --dim 500 --alpha 15 --seeds 5", order_of_learning(1, 0.3, 2, "epoch"), holds(lambda x: x > 0.9)),
    ("Fig. 2, bottom", "D = 500, alpha = 15, lambda = 1.4e-4, eta = 15, batches of 200, each 3 times",
     f"sgd {TWO} --dim 500 --alpha 15 --seeds 5",
     settings(dim=500, alpha=15, weight_decay=1.4e-4, rate=15, batch=200, repeat=3), holds(lambda x: not x)),
    ("Appendix, real data", "D = 128, P = 64, two layers, M = 32, first weights 1e-4, 40 epochs in batches of 16 (and "
     "a rate of 5e-5, which fits the size of TREC)", f"train {QUESTIONS} --rate 1e-3 --records 4 --seeds 4",
     settings(dim=128, rank=64, layers=2, longest=32, start=1e-4, epochs=40, batch=16), holds(lambda x: not x)),
    ("Appendix, untied weights", "keys and queries of their own: the same theory",
     "diagnose attention:layers=1,weights=untied", identities, hold_all),
    ("Appendix, sequence to sequence", "outputs in R^(D x M): the same theory",
     "diagnose attention:layers=2,output=sequence", identities, hold_all),
    ("Appendix, multi-head attention", "several heads and a readout: the same theory",
     "diagnose attention:layers=1,heads=2,readout=1,noise=0.1 --points 20", identities, hold_all),
    ("Corollary, softmax", "g_out of two layers as a ratio of integrals (errata 9, 10 corrected)",
     f"diagnose {TWO} --points 50", identities, hold_all),
    ("Appendix, linear activation", "I_sigma in closed form", f"diagnose {TWO},activation=linear --points 50",
     identities, hold_all),
    ("Appendix, Fig. 5", "alpha = 1: unless Q22 is almost one the first layer is not learned",
     "figure fig5 --quick", hidden_until, holds(lambda x: x >= 0.9)),
    ("Appendix, Fig. 5", "the same with the regulariser of the authors' code", "figure fig5-prenoise --quick",
     hidden_until, holds(lambda x: x >= 0.9)),
    ("Appendix, numerics", "a run of GAMP takes about 290 GB of memory",
     f"amp {TWO} --dim 1000 --alpha 1.2 --seeds 5 --history --theory none", memory,
     lambda kilobytes, error: f"takes {290e6 / kilobytes:.0f} times less" if kilobytes < 290e6 else "takes more"),
]


# ---- running ---------------------------------------------------------------------------------------

def result_of(stair, folder, command, version):
    """The JSON of a command, from its file or computed."""
    name = "".join(c if c.isalnum() or c in "=.-" else "_" for c in command)[:120] + ".json"
    path = os.path.join(folder, name)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        if kept["line"] == command and version in (None, kept["result"]["stair"]):
            return kept["result"]
    if not stair:
        return None
    print(f"stair {command}", file=sys.stderr, flush=True)
    result = figure_of(stair, folder, command, version) if command.startswith("figure ") else run(stair, command)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"line": command, "result": result}, file)
    return result


def run(stair, command):
    """What a command prints as JSON, and the most memory it took, in kB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([stair, *shlex.split(command), "--json", "--quiet"], stdout=out, stderr=errors,
                                 cwd=os.path.join(HERE, ".."))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if child.returncode not in (0, 3):
            sys.exit(f"stair {command}: {errors.read().decode().strip()}")
        return {**json.loads(out.read()), "memory": usage.ru_maxrss}


def figure_of(stair, folder, command, version):
    """Rows of the figure that a command names; figures that are in the folder already are kept."""
    figures = os.path.join(folder, "figures")
    done = subprocess.run([stair, *shlex.split(command), "--out", figures, "--resume", "--quiet"], text=True,
                          capture_output=True)
    if done.returncode not in (0, 3):
        sys.exit(f"stair {command}: {done.stderr.strip()}")
    with open(os.path.join(figures, command.split()[1] + ".csv"), encoding="utf-8") as file:
        table = csv.DictReader(line for line in file if not line.startswith("#"))
        rows = [{k: v if k == "series" else float(v) for k, v in row.items()} for row in table]
    return {"stair": version, "results": rows}


def compare_curve(stair, folder, reference, version):
    """Rows for the dashed line of Fig. 1: the student that leaves the first layer at zero."""
    with open(os.path.join(reference, "gen_error_BO_2w_one_layer.csv"), encoding="utf-8") as file:
        table = {round(float(row["alpha"]), 3): float(row["gen_error"]) for row in csv.DictReader(file)}
    command = "figure fig1-left-prenoise --quick"
    found = result_of(stair, folder, command, version)
    rows = []
    for alpha in (0.6, 0.9, 1.2, 1.5):
        if not found or alpha not in table:
            continue
        text, ours, error = at_alpha("last_layer", alpha)(found["results"])
        near = abs(table[alpha] - ours) < 0.01 + 3 * error  # 1440 samples: noise of about 0.004
        rows.append((f"Fig. 1, left (table), alpha = {alpha:g}", f"dashed line: {table[alpha]:.4f}", command, text,
                     "agrees within its noise" if near else "differs"))
    return rows


def compare_authors(stair, folder, reference, version):
    """Rows for the thresholds against c that the authors published."""
    path = os.path.join(reference, "alpha_critical.csv")
    with open(path, encoding="utf-8") as file:
        table = [{k.strip(): v for k, v in row.items()} for row in csv.DictReader(file)]
    rows = []
    for row in table:
        c = next((float(row[k]) for k in ("c", "skip") if k in row), None)
        if c not in (0.5, 1.0, 2.0, 4.0):
            continue
        command = f"threshold {TWO},skip={c:g} --steps 2 --precision 1e-3"
        found = result_of(stair, folder, command, version)
        if not found:
            continue
        for k, name in ((0, "alpha2"), (1, "alpha1")):
            ours, error = found["results"][k]["alpha"], found["results"][k]["error"]
            theirs = float(row[name])
            near = abs(theirs - ours) < 0.02 * ours
            rows.append((f"Fig. 1, right (table), c = {c:g}", f"step {k + 1}: {theirs:.4g}", command,
                         shown(ours, error), "agrees within 2 %" if near else differs(
                             ("1", "1-alpha_1") if k == 0 else ("2", "2-alpha_2"))))
    return rows


TAIL = """
Not computed: Fig. 4 is a drawing of the factor graph. The counts of TREC (5500 questions in 6 classes, about
10 words each, 8700 words in all) are of data that are not part of the project. Steps of derivations have
their lines in [equations.md](equations.md).
"""


def rows_of_page():
    """Rows of the page as it is, by place, what the paper says, and command."""
    with open(PAGE, encoding="utf-8") as file:
        cells = [line.strip().strip("|").split(" | ") for line in file if line.startswith("| ")]
    return {tuple(c.strip().strip("`") for c in row[:3]): [c.strip() for c in row[3:]] for row in cells
            if len(row) == 5}


HEAD = """# The paper, place by place

What the paper prints, the command that computes it here, our value with its error, and a verdict. Written by
`bench/paper.py` from result files: `bench/paper.py build/stair --out out/paper`. Errors cover the true value
as three standard deviations do within three of them. Formulas are in [equations.md](equations.md), what is
wrong in print in [errata.md](errata.md), figures in `stair figure`.

| place | the paper says | command | here | verdict |
|---|---|---|---|---|
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("stair", nargs="?")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--reference")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    version = None
    if options.stair:
        options.stair = os.path.abspath(options.stair)
        version = subprocess.run([options.stair, "--version"], capture_output=True,
                                 text=True).stdout.split()[-1]
    lines, missing, kept = [], [], rows_of_page()
    for place, says, command, read, judge in ROWS:
        if options.only.lower() not in place.lower().replace(". ", ""):
            continue
        found = result_of(options.stair, options.out, command, version)
        if found:
            text, value, error = read(found if getattr(read, "whole", False) else found["results"])
            lines.append((place, says, command, text, judge(value, error)))
        elif (place, says, "stair " + command) in kept:
            lines.append((place, says, command, *kept[place, says, "stair " + command]))
        else:
            missing.append(command)
    if options.reference and options.stair:
        lines += compare_curve(options.stair, options.out, options.reference, version)
        lines += compare_authors(options.stair, options.out, options.reference, version)
    else:
        lines += [(p, s, c[6:], *rest) for (p, s, c), rest in kept.items() if "(table)" in p]
    rows = [f"| {p} | {s} | `stair {c}` | {t} | {v} |" for p, s, c, t, v in lines]
    print("\n".join(rows))
    if options.only or missing:
        sys.exit(f"give the program to compute stair {', '.join(missing)}" if missing else 0)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(rows) + "\n" + TAIL)


if __name__ == "__main__":
    main()
