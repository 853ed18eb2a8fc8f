#!/usr/bin/env python3
"""Table and figure of the runs of 'bench/gpu.sh table6', beside state evolution.

    bench/card/table6.py FOLDER THEORY.csv [TABLE.md FIGURE.svg DATA.csv]

docs/data/gpu-theory.csv is such a THEORY.csv.
FOLDER has table6-D.csv and table6-D-ALPHA.csv, THEORY.csv what 'stair evolve --csv' says.  Of each D and
alpha: mean overlaps over seeds, their standard deviation, and state evolution.  A spread is that of single
runs, of one run alone there is none; the figure has distances of single runs from state evolution.
Where FOLDER has early-D.csv, runs that stop after a few iterations, and early-theory.csv, the history of one
with --theory trajectory, there is a second table.
Needs gnuplot for the figure (and rsvg-convert for a PNG beside it), no packages.
"""
import csv
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

NAMES = ("Q11", "Q22")


def read_runs(folder):
    """{(dim, alpha): [(Q11, Q22, iterations), ...]}, those that are numbers"""
    runs = {}
    for path in sorted(glob.glob(os.path.join(folder, "table6-*.csv"))):
        dim = int(re.match(r"table6-(\d+)", os.path.basename(path)).group(1))
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                values = [float(row[name]) for name in NAMES]
                if all(math.isfinite(v) for v in values):
                    runs.setdefault((dim, float(row["alpha"])), []).append((*values, int(row["iterations"])))
    return runs


def read_theory(path):
    with open(path, newline="") as file:
        return sorted((float(r["alpha"]), *(float(r[n]) for n in NAMES)) for r in csv.DictReader(file))


def at(theory, alpha):
    """Overlaps of state evolution at alpha, which must be among its points."""
    for point in theory:
        if abs(point[0] - alpha) < 1e-9:
            return point[1:]
    return (math.nan,) * len(NAMES)


def mean_and_spread(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def summarise(runs, theory):
    rows = []
    for (dim, alpha), all_runs in sorted(runs.items(), key=lambda item: (item[0][1], item[0][0])):
        row = {"dim": dim, "alpha": alpha, "runs": len(all_runs),
               "iterations": max(run[2] for run in all_runs)}
        for k, name in enumerate(NAMES):
            row[name], row[name + "_spread"] = mean_and_spread([run[k] for run in all_runs])
            row[name + "_theory"] = at(theory, alpha)[k]
        rows.append(row)
    return rows


def slope(rows, name, alpha):
    """Of the logarithm of the spread in that of D, by least squares."""
    points = [(math.log(r["dim"]), math.log(r[name + "_spread"])) for r in rows
              if r["alpha"] == alpha and r[name + "_spread"] > 0]
    if len(points) < 2:
        return math.nan
    x, y = (sum(p[k] for p in points) / len(points) for k in (0, 1))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def number(value, digits):
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def write_table(path, rows):
    with open(path, "w") as out:
        out.write("# Overlaps of GAMP on a card against state evolution\n\nTwo layers of two tokens; spread: "
                  "standard deviation over runs. By `bench/card/table6.py`.\n\n")
        out.write("| alpha | D | runs | Q11 | spread | state evolution | Q22 | spread | state evolution |\n")
        out.write("|---|---|---|---|---|---|---|---|---|\n")
        for r in rows:
            cells = [f"{r['alpha']:g}", str(r["dim"]), str(r["runs"])]
            for name in NAMES:
                cells += [number(r[name], 4), number(r[name + "_spread"], 4), number(r[name + "_theory"], 4)]
            out.write("| " + " | ".join(cells) + " |\n")
        alphas = sorted({r["alpha"] for r in rows if r["runs"] > 1})
        powers = ", ".join(f"{number(slope(rows, 'Q22', a), 2)} (alpha = {a:g})" for a in alphas)
        out.write("\n" + textwrap.fill(f"Spread of Q22 as a power of D: {powers}.", 110) + "\n")


def read_early(folder):
    """Rows of the second table: D, runs, iterations, mean and spread of Q22; and Q22 of state evolution there."""
    theory, rows = os.path.join(folder, "early-theory.csv"), []
    if not os.path.exists(theory):
        return [], None
    for path in glob.glob(os.path.join(folder, "early-[0-9]*.csv")):
        with open(path, newline="") as file:
            runs = list(csv.DictReader(file))
        rows.append((int(re.search(r"early-(\d+)", path).group(1)), len(runs), float(runs[0]["alpha"]),
                     *mean_and_spread([float(r["Q22"]) for r in runs]), int(runs[0]["iterations"])))
    with open(theory, newline="") as file:
        last = [r for r in csv.DictReader(file) if int(r["iteration"]) == rows[0][5]][0]
    return sorted(rows), (float(last["theory_Q22"]), float(last["theory_Q22_error"]))


def write_early(path, folder):
    rows, theory = read_early(folder)
    if not rows:
        return
    x, y = ([math.log(r[k]) for r in rows] for k in (0, 4))
    middle = sum(x) / len(x)
    power = sum((a - middle) * b for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)
    with open(path, "a") as out:
        out.write(f"\n## The first {rows[0][5]} iterations at alpha = {rows[0][2]:g}\n\nFrom an overlap of 0.97. "
                  f"State evolution says Q22 = {theory[0]:.4f} +- {theory[1]:.4f} there.\n\n")
        out.write("| D | runs | Q22 | its error | spread | spread times root of D |\n")
        out.write("|---|---|---|---|---|---|\n")
        for dim, runs, _, mean, spread, _ in rows:
            out.write(f"| {dim} | {runs} | {mean:.5f} | {spread / math.sqrt(runs):.5f} | {spread:.5f} | "
                      f"{spread * math.sqrt(dim):.2f} |\n")
        out.write(f"\nThe spread falls like D to the power {power:.2f}.\n")


def write_data(path, rows):
    with open(path, "w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


PLOT = """set terminal svg size 900,380 font 'sans,12' background 'white'
set output '{svg}'
set datafile missing 'nan'
set multiplot layout 1,2
set xlabel 'alpha'
set ylabel 'overlap of layer 1'
set key top left
set grid
plot '{theory}' using 1:2 with lines lw 2 lc 'black' title 'state evolution'{points}
set xlabel 'D'
set ylabel 'distance from state evolution'
set logscale xy
set format x '10^{{%T}}'
set format y '10^{{%T}}'
set key top right
plot '{spread}' using 1:2 with points pt 7 lc 'blue' title 'Q22', \\
     '{spread}' using 1:3 with points pt 9 lc 'red' title 'Q11', \\
     {scale}*x**-0.5 with lines dt 2 lc 'black' title 'D^{{-1/2}}'
"""


def distances(runs, theory):
    """For each D: root of the mean square distance of single runs from state evolution, alpha from 0.8 on."""
    out = {}
    for (dim, alpha), all_runs in runs.items():
        want = at(theory, alpha)
        if alpha < 0.8 or not math.isfinite(want[0]):
            continue
        for run in all_runs:
            out.setdefault(dim, []).append(((run[1] - want[1]) ** 2, (run[0] - want[0]) ** 2))
    return {dim: [math.sqrt(sum(p[k] for p in all_p) / len(all_p)) for k in (0, 1)]
            for dim, all_p in sorted(out.items())}


def write_figure(path, rows, runs, theory):
    if not shutil.which("gnuplot"):
        print("no gnuplot: no figure")
        return
    with tempfile.TemporaryDirectory() as folder:
        def put(name, lines):
            file = os.path.join(folder, name)
            with open(file, "w") as out:
                out.writelines(" ".join(repr(v) for v in line) + "\n" for line in lines)
            return file

        theory_file, points = put("theory", [t for t in theory if t[0] >= 0.6]), ""
        for color, dim in enumerate(sorted({r["dim"] for r in rows})):
            file = put(f"runs-{dim}", [(r["alpha"], r["Q11"], r["Q11_spread"] if r["runs"] > 1 else 0)
                                       for r in rows if r["dim"] == dim and r["alpha"] >= 0.6])
            points += f", '{file}' using 1:2:3 with yerrorbars pt 7 ps 0.6 lc {color + 1} title 'D = {dim}'"
        apart = distances(runs, theory)
        if not apart:
            print("no run above alpha = 0.8 that state evolution knows: no figure")
            return
        spread = put("spread", [(dim, *d) for dim, d in apart.items()])
        first = min(apart)
        script = PLOT.format(svg=path, theory=theory_file, points=points, spread=spread,
                             scale=apart[first][0] * math.sqrt(first))
        subprocess.run(["gnuplot"], input=script, text=True, check=True)
    if shutil.which("rsvg-convert"):
        png = os.path.splitext(path)[0] + ".png"
        subprocess.run(["rsvg-convert", path, "-z", "2", "-o", png], check=True)


def main(arguments):
    if len(arguments) not in (2, 5):
        print(__doc__)
        return 2
    table, figure, data = arguments[2:] if len(arguments) == 5 else (
        os.path.join(arguments[0], name) for name in ("table6.md", "table6.svg", "table6.csv"))
    runs, theory = read_runs(arguments[0]), read_theory(arguments[1])
    if not runs:
        print(f"no table6-*.csv with runs in {arguments[0]}")
        return 1
    rows = summarise(runs, theory)
    write_table(table, rows)
    write_early(table, arguments[0])
    write_data(data, rows)
    write_figure(figure, rows, runs, theory)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
