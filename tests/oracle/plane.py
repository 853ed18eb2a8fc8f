"""Two layers, two tokens: the integral over the plane of Z_1, to 45 digits before cancellation.

    log z = log 1/2 sum_{+-} int dz |det H(z)|^-1 prod_m N((z_m, +-x_m); omega_m, V),  x = H(z)^-1 h

Where the mass is, is found first, in doubles, by dividing a square that provably holds it all: with
F = det(H) (Z - omega), smooth everywhere (also where H is singular), a cell is dropped when the
quadratic form of every sampled F, with V widened by the variation of F between samples, is above
the cut.  Widening only lowers the form, so no mode is lost however narrow it is.  Each cell left is
integrated by a tensor Gauss-Legendre rule, and halved in both directions until the rule and its
four children agree.
"""
import math

import gmpy2
import numpy as np
from gmpy2 import mpfr, exp, log, sqrt

from points import ZERO, ONE
from posterior import inverse, answers

def gauss_legendre(n):
    nodes = []
    pi = gmpy2.const_pi()
    for i in range(n):
        x = gmpy2.cos(pi * (i + mpfr("0.75")) / (n + mpfr("0.5")))
        for _ in range(12):
            a, b = ONE, x
            for k in range(2, n + 1):
                a, b = b, ((2 * k - 1) * x * b - (k - 1) * a) / k
            slope = n * (x * b - a) / (x * x - 1)
            x -= b / slope
        a, b = ONE, x
        for k in range(2, n + 1):
            a, b = b, ((2 * k - 1) * x * b - (k - 1) * a) / k
        slope = n * (x * b - a) / (x * x - 1)
        nodes.append((x, 2 / ((1 - x * x) * slope * slope)))
    return nodes


PAIRS = [(i, j) for i in range(4) for j in range(i, 4)]


def scale(total):
    """Sizes that errors of the 15 sums are measured in."""
    sd = [sqrt(abs(total[k] / total[0])) for k in (5, 9, 12, 14)]
    return [total[0]] + [total[0] * s for s in sd] + [total[0] * sd[i] * sd[j] for i, j in PAIRS]


class Plane:
    most = 10 ** 9  # cells: beyond, they are left as they are

    def __init__(self, p, inp):
        self.p = p
        self.V = inp["V"]
        W, _ = inverse(self.V)
        self.W = (W[0][0], W[0][1], W[1][1])
        self.omega = [mpfr(v) for row in inp["omega"] for v in row]
        self.h = [inp["fibre"][0][0], inp["fibre"][1][0]]
        self.c = mpfr(p["c"])
        self.linear = p["activation"] == "linear"
        self.literal = p["mixing"] == "literal"
        # exp(-90) = 8e-40 of the largest value is left out; more where V^-1 cancels digits
        self.cut = 90.0 if min(p["V"][:2]) > 1e-3 else 118.0
        self.evals = 0

    # -- doubles: where the mass is ---------------------------------------------------------------
    def sample(self, z1, z2):
        """det H and adj(H) h at arrays z1, z2."""
        c = float(self.c)
        if self.linear:
            a, b, o12, o21 = c + z1 * z1, c + z2 * z2, z1 * z2, z1 * z2
        else:
            with np.errstate(over="ignore"):
                p = 1 / (1 + np.exp(-z1 * (z1 - z2)))
                q = 1 / (1 + np.exp(-z2 * (z2 - z1)))
            a, b, o12, o21 = c + p, c + q, 1 - p, 1 - q
        if self.literal:
            o12, o21 = o21, o12
        h1, h2 = float(self.h[0]), float(self.h[1])
        return a * b - o12 * o21, b * h1 - o12 * h2, a * h2 - o21 * h1

    def judge(self, z1, z2):
        """For cells of samples (n, k, l) or (n, k, 1): which may hold mass (keep), which of these are too
        coarse to integrate (rough), and the largest log f seen in each."""
        V = np.array(self.V, dtype=float)
        W = np.array([[float(self.W[0]), float(self.W[1])], [float(self.W[1]), float(self.W[2])]])
        w11, w12, w21, w22 = (float(v) for v in self.omega)
        limit = 2 * self.cut + 40
        det, n1, n2 = self.sample(z1, z2)
        jump = lambda f: np.maximum(np.abs(np.diff(f, axis=1)).max((1, 2)),
                                    np.abs(np.diff(f, axis=2)).max((1, 2), initial=0.0))
        keep, rough = np.zeros(len(z1), bool), np.zeros(len(z1), bool)
        top = np.full(len(z1), -np.inf)
        big = np.abs(det).max((1, 2)) + jump(det)
        for sign in (1, -1):
            F = np.stack([det * (z1 - w11), sign * n1 - det * w21,
                          det * (z2 - w12), sign * n2 - det * w22], -1)
            s = np.stack([np.maximum(jump(F[..., i]), jump(F[..., i + 2])) for i in (0, 1)], -1) * 1.5
            B = np.linalg.inv(V[None] * (big ** 2)[:, None, None] + (s ** 2)[:, None, :] * np.eye(2))
            form = lambda a: sum(a(i, j) * F[..., 2 * m + i] * F[..., 2 * m + j]
                                 for m in (0, 1) for i in (0, 1) for j in (0, 1))
            wide = form(lambda i, j: B[:, i, j][:, None, None]).min((1, 2))
            with np.errstate(divide="ignore", invalid="ignore"):
                Q = form(lambda i, j: W[i, j]) / det ** 2
                logf = -Q / 2 - np.log(np.abs(det))
            Q = np.where(np.isfinite(Q), Q, 1e300)
            top = np.maximum(top, np.where(np.isfinite(logf), logf, -np.inf).max((1, 2)))
            low = Q.min((1, 2))
            near = wide <= limit
            keep |= near
            # a mode may hide between samples, or the form varies much
            rough |= near & ((wide < low / 3 - 60) | (np.minimum(Q, limit).max((1, 2)) - low > 120))
        return keep, rough, top

    def cells(self, root):
        """Cells (z1, z2, half width), exact in mpfr so that they tile without gaps, that cover all
        points within the cut; and the largest log f seen."""
        gx, gy = np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 1, 7), indexing="ij")
        todo = np.zeros((1, 2), dtype=np.int64)  # cell k of 2^depth along each axis
        done, best = [], -np.inf
        for depth in range(61):
            if len(todo) == 0:
                break
            r = math.ldexp(root[2], -depth)
            keep, rough, top = self.judge(
                root[0] - root[2] + (2 * todo[:, 0, None, None] + 1) * r + r * gx,
                root[1] - root[2] + (2 * todo[:, 1, None, None] + 1) * r + r * gy)
            best = max(best, top.max())
            stop = keep & (~rough | (depth >= 55) | (len(done) + len(todo) > self.most)) & (depth >= 3)
            done += [(int(i), int(j), depth, t) for (i, j), t in zip(todo[stop], top[stop])]
            split = todo[keep & ~stop]
            todo = np.concatenate([2 * split + np.array([[i, j]]) for i in (0, 1) for j in (0, 1)])
        x, y, r = (mpfr(v) for v in root)
        return [(x - r + (2 * i + 1) * (r / 2 ** d), y - r + (2 * j + 1) * (r / 2 ** d), r / 2 ** d)
                for i, j, d, t in done if t > best - self.cut - 25 or len(done) > self.most], best

    # -- 75 digits --------------------------------------------------------------------------------
    def sums(self, nodes):
        """15 sums over nodes (z1, z2, weight): 1, the four of r = Z - omega, the ten products."""
        c, (h1, h2), (w11, w12, w21, w22) = self.c, self.h, self.omega
        a11, a12, a22 = self.W
        linear, literal, offset = self.linear, self.literal, self.offset
        out = [ZERO] * 15
        low = mpfr(-self.cut - 20)
        for z1, z2, weight in nodes:
            d = z1 - z2
            if linear:
                a, b = c + z1 * z1, c + z2 * z2
                o12 = o21 = z1 * z2
            else:
                e = exp(-z1 * d)
                f = exp(z2 * d)
                u, v = 1 / (1 + e), 1 / (1 + f)
                a, b = c + u, c + v
                o12, o21 = e * u, f * v
                if literal:
                    o12, o21 = o21, o12
            det = a * b - o12 * o21
            if det == 0:
                continue
            x1, x2 = (b * h1 - o12 * h2) / det, (a * h2 - o21 * h1) / det
            r1, r2 = z1 - w11, z2 - w12
            base = -a11 * (r1 * r1 + r2 * r2) / 2 - offset
            for s1, s2 in ((x1 - w21, x2 - w22), (-x1 - w21, -x2 - w22)):
                q = base - a12 * (r1 * s1 + r2 * s2) - a22 * (s1 * s1 + s2 * s2) / 2
                if q < low:
                    continue
                w = exp(q) / abs(det) * weight
                t1, t2, t3, t4 = w * r1, w * r2, w * s1, w * s2
                out[0] += w
                out[1] += t1
                out[2] += t2
                out[3] += t3
                out[4] += t4
                out[5] += t1 * r1
                out[6] += t1 * r2
                out[7] += t1 * s1
                out[8] += t1 * s2
                out[9] += t2 * r2
                out[10] += t2 * s1
                out[11] += t2 * s2
                out[12] += t3 * s1
                out[13] += t3 * s2
                out[14] += t4 * s2
        self.evals += len(nodes)
        return out

    def cell_sums(self, x, y, r):
        xs = [(x + r * t, w * r) for t, w in self.rule]
        ys = [(y + r * t, w * r) for t, w in self.rule]
        return self.sums([(u, v, a * b) for u, a in xs for v, b in ys])

    def refine(self, x, y, r, whole, depth):
        if max(abs(a) / s for a, s in zip(whole, self.scale)) < self.accept * mpfr("1e-12"):
            return whole
        half = r / 2
        parts = [(x + i * half, y + j * half) for i in (-1, 1) for j in (-1, 1)]
        sums = [self.cell_sums(u, v, half) for u, v in parts]
        total = [sum(c) for c in zip(*sums)]
        miss = max(abs(a - b) / s for a, b, s in zip(total, whole, self.scale))
        if miss <= self.accept:
            self.worst = max(self.worst, float(miss))
            return total
        if depth > 260:
            raise RuntimeError("no convergence")
        out = [ZERO] * 15
        for (u, v), part in zip(parts, sums):
            out = [a + b for a, b in zip(out, self.refine(u, v, half, part, depth + 1))]
        return out

    def solve(self, order, accept, stretch, verbose=False):
        """accept: how closely a cell and its children agree, relative to the whole, before the
        children are believed (they are far closer than that to the truth)."""
        lim = math.sqrt((2 * self.cut + 60) * float(self.V[0][0])) * stretch
        root = (float(self.omega[0]) + 0.013 * stretch * lim, float(self.omega[1]) - 0.007 * lim, 1.03 * lim)
        cells, best = self.cells(root)
        self.rule = gauss_legendre(order)
        self.offset, self.accept, self.worst, self.evals = mpfr(best), mpfr(accept), 0.0, 0
        first = []
        for x, y, r in cells:
            first.append((x, y, r, self.cell_sums(x, y, r)))
        self.scale = scale([sum(c) for c in zip(*(f[3] for f in first))])
        out = [ZERO] * 15
        for x, y, r, whole in first:
            out = [a + b for a, b in zip(out, self.refine(x, y, r, whole, 0))]
        if verbose:
            print("  %d cells, %d evaluations, worst accepted %.1e" % (len(cells), self.evals, self.worst), flush=True)
        return self.finish(out)

    def finish(self, out):
        s2 = [[ZERO] * 4 for _ in range(4)]
        for (i, j), v in zip(PAIRS, out[5:]):
            s2[i][j] = s2[j][i] = v
        ans = answers(self.p, self.V, out[0], out[1:5], s2, self.offset)
        ans["logz"] -= log(mpfr(2))
        return ans
