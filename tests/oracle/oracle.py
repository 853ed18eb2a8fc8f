"""Computes points of known_answers.txt that need at most two hidden dimensions.

    python3 oracle.py FOLDER NAME...     (all such points when no name is given)

Writes FOLDER/NAME.txt, one block of the table: every point is computed twice, with different rules,
and the digits stated are those on which the two agree.
"""
import os
import sys
import time

from gmpy2 import mpfr, log10, sqrt

import posterior
from lines import Lines
from plane import Plane
from points import POINTS, ZERO, find, inputs, model_string


RIDGES = ("second_1e-10", "skip_zero")  # thin curves: line by line; everything else over the plane


def flat(rows):
    return [v for row in rows for v in row]


def norm(values):
    return sqrt(sum(v * v for v in values))


def symmetric(inp, ans):
    """At omega = 0 the posterior is even under Z -> -Z: g is exactly 0, not what rounding leaves."""
    if not any(v for row in inp["omega"] for v in row):
        ans["g"] = [ZERO for _ in ans["g"]]
    return ans


def distance(a, b):
    top = norm([u - v for u, v in zip(a, b)])
    return float(top / norm(a)) if top else 0.0


def agreement(a, b):
    """Largest of |delta log z| and the relative Frobenius distances of g and dg."""
    return max(float(abs(a["logz"] - b["logz"])), distance(a["g"], b["g"]),
               distance(flat(a["dg"]), flat(b["dg"])))


def digits(far):
    return 60 if far == 0 else int(-log10(mpfr(far)))


def number(v):
    return "{0:.36e}".format(v) if isinstance(v, type(mpfr(1))) else "%.17g" % v


def block(p, inp, ans, dig):
    lines = ["point " + p["name"], "model " + model_string(p),
             "sizes %d %d %d" % (p["P"], p["M"], p["rank"]), "digits %d" % dig]
    for key, rows in (("label", inp["label"]), ("fibre", inp["fibre"]), ("omega", inp["omega"]),
                      ("cov", inp["V"]), ("logz", [[ans["logz"]]]),
                      ("g", [ans["g"][i * p["M"]:(i + 1) * p["M"]] for i in range(p["P"])]), ("dg", ans["dg"])):
        lines.append(key)
        lines += ["  " + " ".join(number(v) for v in row) for row in rows]
    return "\n".join(lines) + "\n"


def solve(p):
    """The inputs, and two answers by different rules."""
    inp = inputs(p)
    if p["L"] == 1:
        return inp, posterior.solve(p, inp, 0), posterior.solve(p, inp, 1)
    cancels = 1.0 if min(p["V"][:2]) > 1e-7 else 1e-6  # what V^-1 takes away
    if p["name"] in RIDGES:
        lines = Lines(p, inp)
        return inp, lines.solve(20, 1e-33 * cancels, 1.0, True), lines.solve(27, 1e-34 * cancels, 1.1, True)
    plane = Plane(p, inp)
    return inp, plane.solve(20, 1e-33 * cancels, 1.0, True), plane.solve(27, 1e-35 * cancels, 1.17, True)


def solve_once(p, inp):
    """One answer, 28 digits before V^-1 takes some away."""
    return posterior.solve(p, inp, 1) if p["L"] == 1 else Plane(p, inp).solve(20, 1e-28, 1.0)


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    todo = [find(n) for n in names] or [p for p in POINTS if p["L"] == 1 or p["L"] == p["M"] == 2]
    for p in todo:
        start = time.time()
        inp, a, b = solve(p)
        a, b = symmetric(inp, a), symmetric(inp, b)
        far = agreement(a, b)
        with open(os.path.join(folder, p["name"] + ".txt"), "w") as f:
            f.write(block(p, inp, b, min(36, digits(far))))
        print("%-30s agreement %.1e, %.0f s, log z %.12f"
              % (p["name"], far, time.time() - start, float(b["logz"])), flush=True)


if __name__ == "__main__":
    main()
