#!/usr/bin/env python3
"""Writes docs/paper.md: what the paper prints, the command that computes it here, our value, a verdict.

    bench/paper.py build/stair --out out/paper             computes what is missing, then writes the page
    bench/paper.py build/stair --out out/paper --only fig1 rows whose place contains a word; no page
    bench/paper.py --out out/paper                         writes the page from the files that are there

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
    ("Appendix, Fig. 5",
     "unless Q22 is almost one the first layer is not learned (here: alpha = 0.5, Q22 = 0.77)",
     f"evolve {TWO} --alpha 0.5 --precision 1e-2", entry("Q", 0, 0, "uninformed"), holds(lambda x: x == 0)),
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
    done = subprocess.run([stair, *shlex.split(command), "--json", "--quiet"], capture_output=True, text=True,
                          cwd=os.path.join(HERE, ".."))
    if done.returncode not in (0, 3):
        sys.exit(f"stair {command}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"line": command, "result": result}, file)
    return result


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
    lines, missing = [], 0
    for place, says, command, read, judge in ROWS:
        if options.only.lower() not in place.lower().replace(". ", ""):
            continue
        found = result_of(options.stair, options.out, command, version)
        if not found:
            missing += 1
            continue
        text, value, error = read(found["results"])
        lines.append((place, says, command, text, judge(value, error)))
    if options.reference:
        lines += compare_authors(options.stair, options.out, options.reference, version)
    rows = [f"| {p} | {s} | `stair {c}` | {t} | {v} |" for p, s, c, t, v in lines]
    print("\n".join(rows))
    if options.only or missing:
        sys.exit(f"{missing} results are missing: give the program" if missing else 0)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
