"""Posterior sums to (log Z, g, dg), and the rules that need no adaptive integration.

A rule yields pairs (Z - omega, weight) where the weight is that of the definition without the factor
(2 pi)^(-PM/2) det V^(-M/2):

    one layer, rank 1        the two signs of h                                   (exact)
    one layer, rank 2, M = 3 the angle, trapezoidal, times the reflection         (periodic, analytic)
    one layer, rank 2, M = 2 the angle, trapezoidal, times the common component   (Gaussian in it)
"""
import gmpy2
from gmpy2 import mpfr, exp, log, sqrt, cos, sin

from points import ZERO, ONE


def inverse(A):
    """Gauss-Jordan with pivoting; also the determinant."""
    n = len(A)
    B = [[mpfr(v) for v in row] + [ONE if i == j else ZERO for j in range(n)]
         for i, row in enumerate(A)]
    det = ONE
    for k in range(n):
        piv = max(range(k, n), key=lambda i: abs(B[i][k]))
        if piv != k:
            B[k], B[piv] = B[piv], B[k]
            det = -det
        det *= B[k][k]
        d = B[k][k]
        B[k] = [v / d for v in B[k]]
        for i in range(n):
            if i != k and B[i][k] != 0:
                f = B[i][k]
                B[i] = [u - f * v for u, v in zip(B[i], B[k])]
    return [row[n:] for row in B], det


def answers(p, V, s0, s1, s2, offset):
    """From sums of w exp(-offset), of w r and of w r r^T, r = Z - omega with index p * M + m."""
    P, M = p["P"], p["M"]
    W, det = inverse(V)
    n = P * M
    mean = [v / s0 for v in s1]
    cov = [[s2[i][j] / s0 - mean[i] * mean[j] for j in range(n)] for i in range(n)]
    g = [sum((W[a][b] * mean[b * M + m] for b in range(P)), ZERO) for a in range(P) for m in range(M)]
    dg = [[ZERO] * n for _ in range(n)]
    for a in range(P):
        for m in range(M):
            for b in range(P):
                for k in range(M):
                    v = sum((W[a][i] * cov[i * M + m][j * M + k] * W[j][b]
                             for i in range(P) for j in range(P)), ZERO)
                    dg[a * M + m][b * M + k] = v - (W[a][b] if m == k else 0)
    logz = log(s0) + offset - (M * log(det) + n * log(2 * gmpy2.const_pi())) / 2
    return dict(logz=logz, g=g, dg=dg)


def accumulate(p, inp, nodes):
    """Sums over nodes (Z as P x M, weight of the measure)."""
    P, M = p["P"], p["M"]
    W, _ = inverse(inp["V"])
    omega = [[mpfr(v) for v in row] for row in inp["omega"]]
    n = P * M
    rows, top = [], None
    for Z, weight in nodes:
        r = [Z[a][m] - omega[a][m] for a in range(P) for m in range(M)]
        q = sum((W[a][b] * r[a * M + m] * r[b * M + m]
                 for a in range(P) for b in range(P) for m in range(M)), ZERO) / 2
        rows.append((q, weight, r))
        top = -q if top is None or -q > top else top
    s0, s1, s2 = ZERO, [ZERO] * n, [[ZERO] * n for _ in range(n)]
    for q, weight, r in rows:
        if top + q > 160:
            continue
        w = weight * exp(-q - top)
        s0 += w
        for i in range(n):
            wi = w * r[i]
            s1[i] += wi
            for j in range(i, n):
                s2[i][j] += wi * r[j]
    for i in range(n):
        for j in range(i):
            s2[i][j] = s2[j][i]
    return answers(p, inp["V"], s0, s1, s2, top)


def turn(h, angle, flip):
    """h0 R transposed: P x M."""
    c, s = cos(angle), sin(angle)
    rows = [(c * u - s * v, s * u + c * v) for u, v in h]
    return [[r[0] for r in rows], [(-r[1] if flip else r[1]) for r in rows]]


def sign_nodes(inp):
    for s in (1, -1):
        yield [[s * row[0] for row in inp["fibre"]]], ONE / 2


def angle_nodes(inp, count):
    for k in range(count):
        angle = 2 * gmpy2.const_pi() * (k + mpfr("0.3")) / count
        for flip in (False, True):
            yield turn(inp["fibre"], angle, flip), ONE / (2 * count)


def common_nodes(inp, count):
    """h rows are (d12 / s, v) and (-d21 / s, v) with dv on the line, then the angle; the reflection is
    v -> -v, so rotations alone suffice.  At one angle the exponent is quadratic in v, so the
    Gauss-Hermite rule of three nodes is exact for moments up to the fifth."""
    W, _ = inverse(inp["V"])
    (a, _), (b, _) = inp["fibre"]
    form = lambda u, w: sum((W[i][j] * u[i][m] * w[j][m] for i in (0, 1) for j in (0, 1) for m in (0, 1)), ZERO)
    for k in range(count):
        angle = 2 * gmpy2.const_pi() * (k + mpfr("0.3")) / count
        at = turn([(a, ZERO), (b, ZERO)], angle, False)
        along = turn([(ZERO, ONE), (ZERO, ONE)], angle, False)
        rest = [[at[i][m] - mpfr(inp["omega"][i][m]) for m in (0, 1)] for i in (0, 1)]
        curve = form(along, along)
        peak = -form(along, rest) / curve
        for t, w in ((-1, ONE / 6), (0, 2 * ONE / 3), (1, ONE / 6)):
            v = peak + t * sqrt(3 / curve)
            weight = w * sqrt(2 * gmpy2.const_pi() / curve) * exp(mpfr(3 * t * t) / 2) / count
            yield turn([(a, v), (b, v)], angle, False), weight


def solve(p, inp, fine):
    """One-layer points at a coarse (fine = 0) and a finer (fine = 1) step."""
    if p["rank"] == 1:
        return accumulate(p, inp, sign_nodes(inp))
    small = sqrt(mpfr(min(p["V"][:2])))
    count = int((60 if not fine else 85) * (1 + 2 / small))
    return accumulate(p, inp, (angle_nodes if p["M"] > p["rank"] else common_nodes)(inp, count))
