"""Puts the blocks of FOLDER together in the order of points.py.

    python3 table.py FOLDER > known_answers.txt
"""
import os
import sys

from points import POINTS

HEADER = """\
# Known answers of the output channel of tied single-head attention.  How they were made: README.md here.
#
# Lines that start with # come first only; then words separated by white space:
#   points N
# and N times
#   point NAME            name of the point
#   model STRING          MODEL string
#   sizes P M R           indices, tokens, rank of the last layer
#   digits D              digits of the answers on which two different rules agree: the largest of
#                         |error of log z| and the relative (Frobenius) errors of g and dg is below 10^-D
#   label  (M x M)        carried label: log y (rows of log-softmax), or y for activation=linear
#   fibre  (M x R)        h of the last layer, up to rotations (and for R >= M up to a common component)
#   omega  (P x M)
#   cov    (P x P)        V, the same for every token
#   logz                  log of the integral over the hidden indices, Haar average over rotations,
#                         density with respect to Lebesgue measure of h (of the common component for R >= M)
#   g      (P x M)        V^-1 (E[Z|y] - omega)
#   dg     (P M x P M)    V^-1 Cov(Z_pm, Z_qn | y) V^-1 - V^-1 delta_mn, index p * M + m
#
# label, omega and cov are exact doubles.  For softmax and two tokens fibre follows from the label; otherwise
# fibre holds exact doubles, and label is what they give, rounded to doubles.
"""


def main():
    names = [p["name"] for p in POINTS if os.path.exists(os.path.join(sys.argv[1], p["name"] + ".txt"))]
    print(HEADER + "points %d" % len(names))
    for name in names:
        sys.stdout.write("\n" + open(os.path.join(sys.argv[1], name + ".txt")).read())


if __name__ == "__main__":
    main()
