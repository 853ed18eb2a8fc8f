#!/usr/bin/env python3
"""GAMP in finite dimension against state evolution, as tables in Markdown.

    bench/amp_vs_theory.py PROGRAM trajectory MODEL ALPHA START ITERATIONS DIMS [SEEDS [DAMPING [SAMPLES]]]
    bench/amp_vs_theory.py PROGRAM steps MODEL ALPHAS DIMS [SEEDS [ITERATIONS [START]]]

`trajectory`: every run starts with overlap START; M = W W*^T/D and Q = W W^T/D of each index are compared with the exact
trajectory (`--theory trajectory`, SAMPLES samples) at every iteration.  The table has, for each dimension and index, the
values at the last iteration, the largest |z| over all iterations, spread times sqrt(D), and the largest |M - Q| sqrt(D).

`steps`: the mean squared cosine of each index against alpha, one line for each alpha and dimension, from a random start or one
of overlap START.
Only the standard library is used.
"""
import csv
import io
import math
import statistics
import subprocess
import sys


def amp(program, *arguments):
    command = [program, "amp", *map(str, arguments), "--history", "--csv", "--quiet", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def by_iteration(rows):
    table = {}
    for row in rows:
        table.setdefault(int(row["iteration"]), []).append(row)
    return table


def error(values):
    return statistics.stdev(values) / math.sqrt(len(values))


def trajectory(program, model, alpha, start, iterations, dims, seeds="32", damping="0", samples="65536"):
    common = [model, "--alpha", alpha, "--start-overlap", start, "--max-iterations", iterations, "--tolerance", "1e-12", "--damping", damping]
    theory = by_iteration(amp(program, *common, "--dim", 64, "--theory", "trajectory", "--samples", samples))
    last = int(iterations)
    print(f"`{model}`, alpha {alpha}, start {start}, {iterations} iterations, damping {damping}, {seeds} seeds\n")
    print("| D | index | M | error | theory | its error | largest z of M | spread sqrt(D) | largest \\|M-Q\\| sqrt(D) |")
    print("|---|---|---|---|---|---|---|---|---|")
    for dim in dims.split(","):
        runs = by_iteration(amp(program, *common, "--dim", dim, "--seeds", seeds, "--theory", "none"))
        indices = sum(name.startswith("cosine") for name in runs[0][0])
        for p in range(indices):
            cell = f"{p + 1}{p + 1}"
            worst = apart = 0
            for t in range(1, last + 1):
                m = [float(row["M" + cell]) for row in runs.get(t, [])]
                if len(m) < int(seeds):
                    continue
                known = theory[t][0] if t in theory else theory[max(theory)][0]
                z = (statistics.mean(m) - float(known["theory_Q" + cell])) / math.hypot(error(m), float(known["theory_Q" + cell + "_error"]))
                worst = max(worst, abs(z))
                apart = max(apart, max(abs(a - float(row["Q" + cell])) for a, row in zip(m, runs[t])))
            m = [float(row["M" + cell]) for row in runs[last]]
            known = theory[last][0]
            print(f"| {dim} | {p + 1} | {statistics.mean(m):.4f} | {error(m):.4f} | {float(known['theory_Q' + cell]):.4f} "
                  f"| {float(known['theory_Q' + cell + '_error']):.4f} | {worst:.1f} | {statistics.stdev(m) * math.sqrt(int(dim)):.2f} | {apart * math.sqrt(int(dim)):.2f} |", flush=True)
    print()


def steps(program, model, alphas, dims, seeds="8", iterations="100", start="0"):
    print(f"`{model}`, start {start}, {iterations} iterations, {seeds} seeds: mean of cosine^2, and its standard error\n")
    print("| alpha | D | index 1 | error | index 2 | error | diverged |")
    print("|---|---|---|---|---|---|---|")
    for alpha in alphas.split(","):
        for dim in dims.split(","):
            rows = amp(program, model, "--alpha", alpha, "--dim", dim, "--seeds", seeds, "--theory", "none", "--max-iterations", iterations, "--start-overlap", start)
            last = {}
            for row in rows:
                last[row["seed"]] = row
            parts = []
            for p in range(2):
                squares = [float(row[f"cosine{p + 1}"]) ** 2 for row in last.values()]
                parts += [f"{statistics.mean(squares):.4f}", f"{error(squares):.4f}"]
            gone = sum(float(row["Q11"]) + float(row["Q22"]) > 10 for row in last.values())
            print(f"| {alpha} | {dim} | {' | '.join(parts)} | {gone} |", flush=True)
    print()


if __name__ == "__main__":
    if len(sys.argv) < 6 or sys.argv[2] not in ("trajectory", "steps"):
        sys.exit(__doc__)
    {"trajectory": trajectory, "steps": steps}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
