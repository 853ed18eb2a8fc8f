#!/usr/bin/env python3
"""Do two sets of figures agree?  A quick one and a full one, say.

    figures.py FOLDER FOLDER [--names a,b] [--most 4]

Figures are compared by their CSV: rows with the same series and the same point (alpha, skip, epoch, ...).  A curve
whose points hang on steps, which have errors, is read off between two points of the other, and what that may be wrong
by is added to the errors.  A number that has an error in both may differ by `--most` combined errors; what one seed
gives without an error (a single run) has to be the same.  Prints, for each figure, how many numbers were compared and the largest difference in errors;
exit 1 where one is too large, or nothing could be compared."""
import argparse
import csv
import math
import os
import sys

POINTS = {"alpha", "dim", "skip", "tokens", "layers", "iteration", "epoch", "q", "v"}  # where a row is, and its first number
APART = {"runs", "zero", "top", "bound", "shown"}  # no results
FLOOR = 1e-6  # of a number: errors below are rounding
NEAR = 0.1  # part of the way from one point to the next: a curve is read off so far from a point of it, not further


def read(path):
    """Rows of a figure by series and point, and its marks."""
    rows, marks, lines = {}, {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# mark,"):
                name, value, error, text = line.rstrip("\n").split(",", 4)[1:]
                if name != "missed":
                    marks[name, text] = (float(value), float(error))
            elif not line.startswith("#"):
                lines.append(line)
    for row in csv.DictReader(lines):
        series = row.pop("series", "")
        first = next(iter(row))
        key = (series, *(f"{k}={float(row[k]):.9g}" for k in row if k == first or k in POINTS))
        rows[key] = {k: float(v) for k, v in row.items() if k != first}
    return rows, marks


def distance(a, b, error_a, error_b):
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    error = math.hypot(error_a, error_b)
    return abs(a - b) / max(error, FLOOR * max(abs(a), abs(b)))


def curves(rows):
    """Points and rows of each series of a table that has one number for a point, in order."""
    found = {}
    for key, row in rows.items():
        if len(key) == 2 and key[1].startswith("alpha="):
            found.setdefault(key[0], []).append((float(key[1][6:]), row))
    return {series: sorted(points, key=lambda x: x[0]) for series, points in found.items()}


def read_off(points, x):
    """The row of a curve at x, by a line from the nearest point to the one on the other side of x; or None.  The
    curvature at the nearest one, from its two neighbours, is what the line may be wrong by."""
    k = min(range(len(points)), key=lambda i: abs(points[i][0] - x))
    if not 0 < k < len(points) - 1:
        return None
    (x0, a), (x1, b), (x2, c) = points[k - 1:k + 2]
    far, beyond = ((x2, c) if x > x1 else (x0, a))
    t = (x - x1) / (far - x1)
    if t > NEAR:
        return None
    row = dict(b)
    for name in b:
        if name + "_error" in b:
            bend = (c[name] - b[name]) / (x2 - x1) - (b[name] - a[name]) / (x1 - x0)
            row[name] = b[name] + t * (beyond[name] - b[name])
            row[name + "_error"] = math.hypot(max(b[name + "_error"], t * beyond[name + "_error"]),
                                              abs(bend * (x - x1)) / 2)
    return row


def pairs(old, new):
    """Rows of both that are of one point."""
    there = curves(new)
    for key, row in old.items():
        if key in new:
            yield key, row, new[key]
        elif len(key) == 2 and key[1].startswith("alpha=") and key[0] in there:
            other = read_off(there[key[0]], float(key[1][6:]))
            if other:
                yield key, row, other


def distances(old, new):
    """Of every number that both have: its name, how far apart."""
    for key, a, b in pairs(old[0], new[0]):
        for name in a.keys() & b.keys():
            if name in POINTS | APART or name.endswith("_error"):
                continue
            error = name + "_error"
            errors = [x.get(error, 0.0) for x in (a, b)]
            if any(math.isnan(x) for x in errors):
                errors = [0.0, 0.0]  # one run
            yield f"{'/'.join(map(str, key))} {name}", distance(a[name], b[name], *errors)
    for key in old[1].keys() & new[1].keys():
        yield f"mark {' '.join(key)}", distance(*(x[1][key][0] for x in (old, new)), *(x[1][key][1] for x in (old, new)))


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("folders", nargs=2)
    parse.add_argument("--names", default="")
    parse.add_argument("--most", type=float, default=4)
    args = parse.parse_args()
    have = [{f[:-4] for f in os.listdir(folder) if f.endswith(".csv")} for folder in args.folders]
    names = args.names.split(",") if args.names else sorted(have[0] & have[1])
    bad = not names
    for name in names:
        found = sorted(distances(*(read(os.path.join(f, name + ".csv")) for f in args.folders)), key=lambda x: -x[1])
        wrong = [x for x in found if not x[1] <= args.most]
        bad |= bool(wrong) or not found
        worst = f"{found[0][1]:.2f} errors apart: {found[0][0]}" if found else "nothing to compare"
        print(f"{'FAILED' if wrong or not found else 'ok'}: {name}: {len(found)} numbers, at most {worst}")
        for what, far in wrong[1:4]:
            print(f"    {far:.2f}: {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
