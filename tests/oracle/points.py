"""The points of known_answers.txt: model, V, and a label that (omega, V) can produce.

A point is drawn as the theory draws it: omega ~ N(0, 1 - V), Z ~ N(omega, V), label = g(Z); then V,
omega and the label are rounded to doubles and from there on taken as exact.  Nothing here is shared
with the library: the forward map is written again from its definition, in 75 digits.

For M = 2 and softmax the label alone gives the last layer's h (up to rotations), so h is computed
from the rounded label.  Otherwise (M > 2, or the linear activation) a rounded label is no longer
exactly a label; there h itself is rounded to doubles and is the exact input, and the label is g of it,
rounded for use by the library.
"""
import random

import gmpy2
from gmpy2 import mpfr, exp, log, sqrt, cos, sin

gmpy2.get_context().precision = 250

ONE, ZERO = mpfr(1), mpfr(0)


def point(name, V, seed, L=2, M=2, rank=1, c=1.0, mixing="attention", activation="softmax", z=None):
    """V: (eigenvalues, ...) with an angle last when P = 2, or for P != 2 the diagonal."""
    return dict(name=name, L=L, M=M, rank=rank, c=c, mixing=mixing, activation=activation, V=V,
                seed=seed, P=L * rank, z=z)


DEG = 0.017453292519943295

POINTS = [
    # one layer: two or four terms, closed form
    point("one_layer", (0.7,), 1, L=1),
    point("one_layer_small", (1e-6,), 2, L=1),
    point("one_layer_three_tokens", (0.4,), 3, L=1, M=3),
    # two layers, moderate V
    point("moderate", (0.8, 0.5, 0.0), 11),
    point("prior", (1.0, 1.0, 0.0), 12),
    point("full", (0.9, 0.2, 35 * DEG), 13),
    point("literal", (0.9, 0.2, -35 * DEG), 14, mixing="literal"),
    point("skip_tenth", (0.6, 0.3, 20 * DEG), 15, c=0.1),
    point("skip_tenth_literal", (0.6, 0.3, 20 * DEG), 16, c=0.1, mixing="literal"),
    point("skip_four", (0.7, 0.1, 60 * DEG), 17, c=4.0),
    point("skip_zero", (0.6, 0.4, 20 * DEG), 32, c=0.0),
    point("skip_negative", (0.7, 0.4, 25 * DEG), 18, c=-0.5),
    point("skip_negative_literal", (0.7, 0.4, -25 * DEG), 19, c=-0.5, mixing="literal"),
    point("skip_below_minus_one", (0.7, 0.3, 40 * DEG), 20, c=-2.5),
    point("skip_below_minus_one_literal", (0.9, 0.05, 10 * DEG), 21, c=-2.5, mixing="literal"),
    # one eigenvalue of V small: first layer learned, second layer learned, a tilted direction
    point("first_1e-2", (1e-2, 0.8, 0.0), 22),
    point("first_1e-4", (1e-4, 0.7, 0.0), 23, c=0.1),
    point("first_1e-8", (1e-8, 0.5, 0.0), 24, mixing="literal"),
    point("first_1e-10", (1e-10, 0.6, 0.0), 25),
    point("second_1e-2", (0.7, 1e-2, 0.0), 26),
    point("second_1e-4", (0.8, 1e-4, 0.0), 27, c=4.0),
    point("second_1e-8", (0.6, 1e-8, 0.0), 28, c=0.1),
    point("second_1e-10", (0.5, 1e-10, 0.0), 29, mixing="literal"),
    point("tilted_1e-4", (0.8, 1e-4, 30 * DEG), 30),
    point("tilted_1e-8", (0.5, 1e-8, -50 * DEG), 31, c=-0.5),
    point("tilted_1e-10", (0.7, 1e-10, 40 * DEG), 33),
    point("tilted_1e-10_literal", (0.7, 1e-10, -20 * DEG), 37, c=-2.5, mixing="literal"),
    # both small
    point("both_1e-4", (1e-4, 3e-4, 15 * DEG), 34),
    point("both_1e-8", (1e-8, 1e-6, 70 * DEG), 35, c=4.0),
    point("both_1e-10", (1e-10, 1e-10, 0.0), 36),
    point("both_unequal", (1e-10, 1e-4, 0.0), 38, c=-0.5, mixing="literal"),
    # labels at the ends of their range
    point("saturated", (0.5, 0.4, 10 * DEG), 41, z=((0.7, -1.1), (3.1, -2.6))),
    point("near_tie", (0.6, 0.3, -15 * DEG), 42, z=((0.8, 0.3), (0.5, 0.50003))),
    # linear activation
    point("linear", (0.8, 0.3, 20 * DEG), 51, activation="linear"),
    point("linear_small", (0.5, 1e-6, 0.0), 52, activation="linear"),
    # rank 2: rotations
    point("rank_two", (0.6, 0.3, 25 * DEG), 61, L=1, rank=2),
    point("rank_two_small", (0.5, 1e-4, 40 * DEG), 64, L=1, rank=2),
    point("rank_two_three_tokens", (0.6, 0.3, 25 * DEG), 62, L=1, M=3, rank=2),
    point("rank_two_three_tokens_small", (0.3, 1e-4, -25 * DEG), 63, L=1, M=3, rank=2),
    # more hidden dimensions (space.c)
    point("three_tokens", (0.5, 0.3, 20 * DEG), 71, M=3),
    point("three_tokens_literal", (0.3, 0.6, -30 * DEG), 72, M=3, c=0.5, mixing="literal"),
    point("three_layers", (0.4, 0.3, 0.5), 81, L=3),
    point("three_layers_prior", (1.0, 1.0, 1.0), 82, L=3),
]


def model_string(p):
    skip = "%d" % p["c"] if p["c"] == int(p["c"]) else repr(p["c"])
    s = "attention:layers=%d,tokens=%d,rank=%d,skip=%s" % (p["L"], p["M"], p["rank"], skip)
    if p["mixing"] != "attention":
        s += ",mixing=" + p["mixing"]
    if p["activation"] != "softmax":
        s += ",activation=" + p["activation"]
    return s


def softmax_rows(J):
    """Rows of log-softmax."""
    out = []
    for row in J:
        top = max(row)
        norm = top + log(sum((exp(v - top) for v in row), ZERO))
        out.append([v - norm for v in row])
    return out


def gram(h):
    return [[sum((a * b for a, b in zip(u, v)), ZERO) for v in h] for u in h]


def matmul(A, B):
    return [[sum((A[i][k] * B[k][j] for k in range(len(B))), ZERO) for j in range(len(B[0]))]
            for i in range(len(A))]


def mixing_matrix(p, h):
    """c 1 + S or its transpose."""
    M, J = p["M"], gram(h)
    S = J if p["activation"] == "linear" else [[exp(v) for v in r] for r in softmax_rows(J)]
    if p["mixing"] == "literal":
        S = [[S[n][m] for n in range(M)] for m in range(M)]
    return [[S[m][n] + (mpfr(p["c"]) if m == n else 0) for n in range(M)] for m in range(M)]


def last_h(p, Z):
    """h_L (M x rank) of Z (P x M), by the recursion."""
    M, r = p["M"], p["rank"]
    H = [[ONE if m == n else ZERO for n in range(M)] for m in range(M)]
    for l in range(p["L"]):
        rows = Z[l * r:(l + 1) * r]
        h = matmul(H, [[rows[k][m] for k in range(r)] for m in range(M)])
        if l < p["L"] - 1:
            H = matmul(mixing_matrix(p, h), H)
    return h


def covariance(p):
    v = p["V"]
    if p["P"] != 2:
        return [[float(v[i]) if i == j else 0.0 for j in range(p["P"])] for i in range(p["P"])]
    a, b, t = mpfr(v[0]), mpfr(v[1]), mpfr(v[2])
    off = float((a - b) * cos(t) * sin(t)) if v[2] else 0.0
    return [[float(a * cos(t) ** 2 + b * sin(t) ** 2), off],
            [off, float(a * sin(t) ** 2 + b * cos(t) ** 2)]]


def draw(p):
    """omega, Z: P x M lists."""
    rng = random.Random(p["seed"])
    gauss = lambda: mpfr(rng.gauss(0.0, 1.0))
    P, M, v = p["P"], p["M"], p["V"]
    turn = (lambda x, y: (cos(mpfr(v[2])) * x - sin(mpfr(v[2])) * y,
                          sin(mpfr(v[2])) * x + cos(mpfr(v[2])) * y)) if P == 2 else None
    omega, Z = [[None] * M for _ in range(P)], [[None] * M for _ in range(P)]
    for m in range(M):
        w = [sqrt(1 - mpfr(v[i])) * gauss() for i in range(P)]
        d = [sqrt(mpfr(v[i])) * gauss() for i in range(P)]
        if P == 2:
            w, d = turn(*w), turn(*d)
        for i in range(P):
            if p["z"] is not None:  # Z chosen: omega around it
                Z[i][m] = mpfr(p["z"][i][m])
                omega[i][m] = float(Z[i][m] - d[i])
            else:
                omega[i][m] = float(w[i]) + 0.0
                Z[i][m] = mpfr(omega[i][m]) + d[i]
    return omega, Z


def inputs(p):
    """Exact inputs: V, omega, label as doubles; fibre = h0 (M x rank) in mpfr."""
    M, r = p["M"], p["rank"]
    omega, Z = draw(p)
    h = last_h(p, Z)
    if M == 2 and p["activation"] == "softmax":
        label = [[float(v) for v in row] for row in softmax_rows(gram(h))]
        d12 = mpfr(label[0][0]) - mpfr(label[0][1])
        d21 = mpfr(label[1][1]) - mpfr(label[1][0])
        s = sqrt(d12 + d21)
        fibre = [[d12 / s] + [ZERO] * (r - 1), [-d21 / s] + [ZERO] * (r - 1)]
    else:
        fibre = [[mpfr(float(v)) for v in row] for row in h]
        J = gram(fibre)
        if p["activation"] != "linear":
            J = softmax_rows(J)
        label = [[float(v) for v in row] for row in J]
    return dict(V=covariance(p), omega=omega, label=label, fibre=fibre, truth=Z)


def find(name):
    return next(p for p in POINTS if p["name"] == name)
