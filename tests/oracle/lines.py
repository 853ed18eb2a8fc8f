"""The integral of plane.py again, another way: nested, one line at a time.

    z_1 - z_2 = s outside, z_1 + z_2 = t inside, dz_1 dz_2 = ds dt / 2

On each line the interval is divided as plane.py divides the square, so that every peak is found however
narrow it is, and each piece is integrated by a Gauss-Legendre rule halved until it agrees with its halves;
so is the outer integral.  A thin ridge (in literal mixing x_1 + x_2 does not depend on z, so a small V of
the second layer confines z to a curve only) costs no more than a peak.
"""
import math

import numpy as np
from gmpy2 import mpfr

from plane import Plane, gauss_legendre, scale
from points import ZERO

ADD = lambda a, b: [x + y for x, y in zip(a, b)]


class Lines(Plane):
    most = 3000

    def pieces(self, s, middle, reach):
        """Intervals (t, half width) of the line that may hold mass, and its largest log f."""
        grid = np.linspace(-1, 1, 9)
        todo = np.zeros(1, dtype=np.int64)
        done, best = [], -np.inf
        for depth in range(61):
            if len(todo) == 0:
                break
            r = math.ldexp(reach, -depth)
            t = (middle - reach + (2 * todo[:, None] + 1) * r + r * grid)[:, :, None]
            keep, rough, top = self.judge((t + s) / 2, (t - s) / 2)
            best = max(best, top.max())
            stop = keep & (~rough | (depth >= 55)) & (depth >= 2)
            done += [(int(i), depth, v) for i, v in zip(todo[stop], top[stop])]
            todo = np.concatenate([2 * todo[keep & ~stop] + i for i in (0, 1)])
        m, r = mpfr(middle), mpfr(reach)
        return [(m - r + (2 * i + 1) * (r / 2 ** d), r / 2 ** d) for i, d, v in done
                if v > self.best - self.cut - 25], best

    def piece_sums(self, s, t, r):
        nodes = []
        for x, w in self.rule:
            u = t + r * x
            nodes.append(((u + s) / 2, (u - s) / 2, w * r / 2))
        return self.sums(nodes)

    def refine_piece(self, s, t, r, whole, size, depth):
        if max(abs(a) / b for a, b in zip(whole, size)) < self.accept * mpfr("1e-12"):
            return whole
        half = r / 2
        left, right = self.piece_sums(s, t - half, half), self.piece_sums(s, t + half, half)
        total = ADD(left, right)
        if max(abs(a - b) / c for a, b, c in zip(total, whole, size)) <= self.accept:
            return total
        if depth > 260:
            raise RuntimeError("no convergence on a line")
        return ADD(self.refine_piece(s, t - half, half, left, size, depth + 1),
                   self.refine_piece(s, t + half, half, right, size, depth + 1))

    def line(self, s):
        pieces, _ = self.pieces(float(s), self.middle, self.reach)
        first = [(t, r, self.piece_sums(s, t, r)) for t, r in pieces]
        total = [ZERO] * 15
        for f in first:
            total = ADD(total, f[2])
        self.count += 1
        if total[0] == 0:
            return total
        size = scale(total)
        if self.floor is not None:  # a line that matters little need not be as accurate
            size = [max(a, b) for a, b in zip(size, self.floor)]
        out = [ZERO] * 15
        for t, r, whole in first:
            out = ADD(out, self.refine_piece(s, t, r, whole, size, 0))
        return out

    def span(self, s, r):
        out = [ZERO] * 15
        for x, w in self.rule:
            out = ADD(out, [v * (w * r) for v in self.line(s + r * x)])
        return out

    def refine_span(self, s, r, whole, depth):
        if max(abs(a) / b for a, b in zip(whole, self.scale)) < self.accept * mpfr("1e-12"):
            return whole
        half = r / 2
        left, right = self.span(s - half, half), self.span(s + half, half)
        total = ADD(left, right)
        miss = max(abs(a - b) / c for a, b, c in zip(total, whole, self.scale))
        if miss <= self.accept:
            self.worst = max(self.worst, float(miss))
            return total
        if depth > 260:
            raise RuntimeError("no convergence across lines")
        return ADD(self.refine_span(s - half, half, left, depth + 1),
                   self.refine_span(s + half, half, right, depth + 1))

    def spans(self, cells):
        """Disjoint intervals (middle, half width) of s that the cells reach."""
        ends = sorted((x - y - 2 * r, x - y + 2 * r) for x, y, r in cells)
        merged = [list(ends[0])]
        for a, b in ends[1:]:
            if a <= merged[-1][1]:
                merged[-1][1] = max(b, merged[-1][1])
            else:
                merged.append([a, b])
        out = []
        for a, b in merged:
            for k in range(4):
                out.append((a + (b - a) * (2 * k + 1) / 8, (b - a) / 8))
        return out

    def solve(self, order, accept, stretch, verbose=False):
        lim = math.sqrt((2 * self.cut + 60) * float(self.V[0][0])) * stretch
        root = (float(self.omega[0]), float(self.omega[1]), lim)
        cells, self.best = self.cells(root)
        self.middle, self.reach = root[0] + root[1] + 0.011 * lim, 2.05 * lim
        self.rule = gauss_legendre(order)
        self.offset, self.accept, self.worst = mpfr(self.best), mpfr(accept), 0.0
        self.evals, self.count, self.floor = 0, 0, None
        spans = self.spans(cells)
        self.accept, want = mpfr("1e-8"), self.accept  # a rough look first, for the sizes
        total = [ZERO] * 15
        for s, r in spans:
            total = ADD(total, self.span(s, r))
        self.scale, self.accept = scale(total), want
        width = sum(r for _, r in spans) * 2
        self.floor = [v / width for v in self.scale]
        out = [ZERO] * 15
        for s, r in spans:
            out = ADD(out, self.refine_span(s, r, self.span(s, r), 0))
        if verbose:
            print("  %d spans, %d lines, %d evaluations, worst accepted %.1e"
                  % (len(spans), self.count, self.evals, self.worst), flush=True)
        return self.finish(out)
