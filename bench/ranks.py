"""Constants of ranks from what bench/ranks.sh measured: ranks.py FILE.csv [--docs]

    T(n, R) = 2 a log2(R) + o (b (R - 1) + 16 n / B),   o = max(1, R / processors)

is the time of an ordered sum of n numbers on R ranks, a power of two: a for each step of a headline, b for each
message, B bytes a second that a rank sends and receives, o times as long where ranks take turns.  a, b and 1/B
have the least squares of log(T / measured) over all sums that were measured; the model of many ranks has a
processor for each.  --docs writes the result between the two marks of docs/scale.md.
"""
import csv
import math
import os
import pathlib
import sys

import numpy as np

MARKS = "<!-- bench/ranks.sh --docs writes from here -->\n", "<!-- to here -->\n"
PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "scale.md"


def read(path):
    """{(what, of, ranks, number): [seconds]}"""
    table = {}
    for row in csv.DictReader(open(path)):
        key = row["what"], row["of"], int(row["ranks"]), int(row["number"])
        table.setdefault(key, []).append(float(row["seconds"]))
    return table


def efficiency(table):
    """[(job, seconds of one rank, of two, ratio)]: the shortest of each."""
    jobs = list(dict.fromkeys(of for what, of, _, _ in table if what == "efficiency"))
    best = lambda job, ranks: min(min(v) for k, v in table.items() if k[:3] == ("efficiency", job, ranks))
    return [(job, best(job, 1), best(job, 2), best(job, 1) / best(job, 2)) for job in jobs]


def iteration(table, what, dim):
    """Seconds of one iteration: the difference of the shortest runs."""
    times = {k[3]: min(v) for k, v in table.items() if k[0] == what and k[1] == str(dim)}
    few, many = min(times), max(times)
    return (times[many] - times[few]) / (many - few)


def terms(n, ranks, processors):
    turns = max(1, ranks / processors)
    return [2 * math.log2(ranks), turns * (ranks - 1), turns * 16 * n]


def fit(sums, processors):
    """(a, b, 1/B) for {(ranks, n): seconds}, and the largest factor between a sum and the model."""
    rows = np.array([terms(n, ranks, processors) for ranks, n in sums])
    away = lambda x: np.log(rows @ x) - np.log(list(sums.values()))
    best = np.array([1e-6, 1e-6, 1e-9])
    for step in 4, 2, 1.3, 1.1, 1.02, 1.005:
        better = True
        while better:
            tries = [best * np.where(np.arange(3) == k, f, 1) for k in range(3) for f in (step, 1 / step)]
            nearest = min(tries, key=lambda x: np.sum(away(x) ** 2))
            better = np.sum(away(nearest) ** 2) < np.sum(away(best) ** 2) - 1e-12
            best = nearest if better else best
    return best, float(np.exp(np.abs(away(best)).max()))


def short(x):
    return f"{x:.0f}" if x >= 10 else f"{x:.2g}"


def seconds(t):
    for scale, unit in (1, "s"), (1e-3, "ms"), (1e-6, "us"):
        if t >= scale:
            return f"{short(t / scale)} {unit}"
    return f"{short(t / 1e-9)} ns" if t >= 1e-10 else "0"


def page(table):
    sums = {(ranks, n): min(v) for (what, _, ranks, n), v in table.items() if what == "sum"}
    sizes, counts = (0, 16, 10000, 100000, 1000000), sorted({r for r, _ in sums})
    cores = len(os.sched_getaffinity(0))
    (a, b, inverse), misfit = fit({k: t for k, t in sums.items() if k[1]}, cores)
    model = lambda n, ranks: float(np.dot((a, b, inverse), terms(n, ranks, ranks)))
    lines = [f"Measured on {cores} processors, so that more than {cores} ranks wait for a processor, too:"
             f" these are\noversubscribed. The shortest of 10 to 200 sums, computing left out:\n",
             "| ranks | headline | " + " | ".join(f"{n} numbers" for n in sizes if n) + " |",
             "|---" * (len(sizes) + 1) + "|"]
    lines += ["| " + " | ".join([str(r)] + [seconds(sums[r, n]) for n in sizes]) + " |" for r in counts]
    lines += ["", f"Model of n numbers on R ranks: T = 2 a log2(R) + o (b (R - 1) + 16 n / B), o = max(1, R / {cores}), with\n"
              f"a = {seconds(a)}, b = {seconds(b)}, B = {1e-9 / inverse:.2g} GB/s; a measured sum is within a factor"
              f" of {misfit:.1f} of it.", ""]
    lines += ["| iteration of GAMP, two tokens, two indices, X drawn again | D = 10^4, alpha = 0.2 | D = 10^5, alpha = 0.002 |",
              "|---|---|---|"]
    shapes = (10000, 2000), (100000, 200)
    cost = [iteration(table, "processor", d) / (2 * n * d) for d, n in shapes]
    clock = [iteration(table, "clock", d) for d, _ in shapes]
    half = [iteration(table, "processor", d) / 2 for d, _ in shapes]
    told = [sums[2, 2 * d + 12] for d, _ in shapes]
    lines += ["| processor time of a number of X | " + " | ".join(f"{1e9 * c:.1f} ns" for c in cost) + " |",
              "| on two ranks, on the clock | " + " | ".join(map(seconds, clock)) + " |",
              "| the ordered sum | " + " | ".join(map(seconds, told)) + " |",
              "| its share, beside half of the processor time | " + " | ".join(f"{100 * t / (t + c):.2g} %" for t, c in zip(told, half)) + " |", ""]
    number, blocks, n = max(cost), 256, 2 * 10**6 + 12
    lines += [f"At D = 10^6, alpha = 1 (256 blocks) the model says, with {1e9 * number:.1f} ns for a number and a processor\n"
              "for each rank (o = 1):\n",
              "| ranks of one thread | computing an iteration | the sum | its share | hours of 50 iterations |", "|---|---|---|---|---|"]
    for ranks in 16, 64, 256, 1024:
        compute, told_in = 2e12 * number / min(ranks, blocks), model(n, ranks)
        lines.append(f"| {ranks} | {compute:.0f} s | {seconds(told_in)} | {100 * told_in / (compute + told_in):.2g} % |"
                     f" {50 * (compute + told_in) / 3600:.2g} |")
    if not efficiency(table):
        return "\n".join(lines) + "\n\nTwo ranks against two threads: not measured, since other programs ran meanwhile.\n"
    lines += ["", "Two ranks of one thread against one rank of two threads, both by mpirun, the shortest of each:\n",
              "| command | one rank | two ranks | ratio |", "|---|---|---|---|"]
    for job, one, two, ratio in efficiency(table):
        words = job.split()
        name = " ".join(words[:2]) + (" --regenerate" if "--regenerate" in words else "")
        lines.append(f"| `{name}` | {one:.1f} s | {two:.1f} s | {ratio:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    text = page(read(sys.argv[1]))
    print(text, end="")
    if "--docs" in sys.argv:
        before, rest = PAGE.read_text().split(MARKS[0])
        PAGE.write_text(before + MARKS[0] + "\n" + text + "\n" + MARKS[1] + rest.split(MARKS[1])[1])


main()
