"""Checks answers against each other: g = d log z / d omega and dg = d g / d omega, by central differences.

    python3 derivatives.py NAME...

The moments that g and dg are made of, and V^-1, play no part in log z; so this is a test of both.
"""
import copy
import sys

from gmpy2 import mpfr, sqrt

from oracle import flat, norm, solve_once
from points import find, inputs


def check(name):
    p = find(name)
    inp = inputs(p)
    P, M = p["P"], p["M"]
    step = sqrt(mpfr(min(p["V"][:P]))) * mpfr("1e-7")
    mid = solve_once(p, inp)
    slope, rows = [], []
    for i in range(P):
        for m in range(M):
            ends = []
            for sign in (1, -1):
                moved = copy.deepcopy(inp)
                moved["omega"][i][m] = mpfr(moved["omega"][i][m]) + sign * step
                ends.append(solve_once(p, moved))
            slope.append((ends[0]["logz"] - ends[1]["logz"]) / (2 * step))
            rows += [(a - b) / (2 * step) for a, b in zip(ends[0]["g"], ends[1]["g"])]
    far = [norm([a - b for a, b in zip(u, v)]) / norm(v) for u, v in ((slope, mid["g"]), (rows, flat(mid["dg"])))]
    print("%-30s g %.1e, dg %.1e" % (name, *(float(f) for f in far)), flush=True)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        check(each)
