"""Numbers of the zoo that are published nowhere to enough digits, computed without the program.

    zoo_by_quadrature.py            prints them; they stand in tests/unit/test_zoo.c and docs/models.md

Each model has one overlap left by symmetry, so that state evolution q/(1-q) = alpha E g^2 gives alpha(q), and
expectations are sums over a grid in two dimensions.  Needs numpy."""
from math import erfc

import numpy as np


def nodes(low, high, count):
    x, w = np.polynomial.legendre.leggauss(count)
    return low + (x + 1) * (high - low) / 2, w * (high - low) / 2


def normal(x, variance):
    return np.exp(-x * x / (2 * variance)) / np.sqrt(2 * np.pi * variance)


phi = np.vectorize(lambda u: 0.5 * erfc(-u / 2**0.5))


def square(q, count=300):
    """y = z^2: E[z|y, w] = r tanh(r w/(1-q)), r = |z|.  alpha(q)."""
    w, wide = nodes(-9 * q**0.5, 9 * q**0.5, count)
    r, across = nodes(0, 12, count)
    w, r = w[:, None], r[None, :]
    density = normal(w, q) * (normal(r - w, 1 - q) + normal(r + w, 1 - q))
    g = (r * np.tanh(r * w / (1 - q)) - w) / (1 - q)
    return q / (1 - q) / np.sum(wide[:, None] * across * density * g * g)


def modulus(q, count=200):
    """y = z1^2 + z2^2: E[z|y, w] = w/|w| r A(r|w|/(1-q)), A = I1/I0 by a sum over angles.  alpha(q)."""
    w, wide = nodes(0, 9 * q**0.5, count)
    r, across = nodes(0, 12, count)
    w, r = w[:, None], r[None, :]
    k = r * w / (1 - q)
    i0, i1 = np.zeros_like(k), np.zeros_like(k)
    angles = 2 * np.pi * np.arange(128) / 128
    for angle in angles:
        part = np.exp(k * (np.cos(angle) - 1)) / len(angles)
        i0 += part
        i1 += part * np.cos(angle)
    density = w / q * np.exp(-w * w / (2 * q)) * r / (1 - q) * np.exp(-((r - w) ** 2) / (2 * (1 - q))) * i0
    g = (r * i1 / i0 - w) / (1 - q)
    return q / (1 - q) / (0.5 * np.sum(wide[:, None] * across * density * g * g))


def committee(q, count=140):
    """Two signs: what is known is z1 + z2, with overlap q; z1 - z2 is learned where alpha E[(E[t^2|y] - 1)^2] = 1,
    t = (z1 - z2)/sqrt 2.  Labels are both above, both below, one of each.  alpha(q), and that product."""
    t, weight = nodes(0, 9, count)
    weight = 2 * weight * normal(t, 1)
    w, wide = nodes(-9 * q**0.5, 9 * q**0.5, count)
    wide = wide * normal(w, q)
    s = (1 - q) ** 0.5
    up, down = (w[:, None] - t) / s, (-w[:, None] - t) / s

    def moments(chance, slope):
        return np.sum(chance * weight, 1), np.sum(slope * weight, 1), np.sum(chance * weight * t * t, 1)

    above, below = moments(phi(up), normal(up, 1) / s), moments(phi(down), -normal(down, 1) / s)
    unlike = (1 - above[0] - below[0], -above[1] - below[1], 1 - above[2] - below[2])
    kept = [[np.maximum(label[0], 1e-300), *label[1:]] for label in (above, below, unlike)]
    drift = sum(np.sum(wide * slope**2 / chance) for chance, slope, _ in kept)
    curve = sum(np.sum(wide * (second - chance) ** 2 / chance) for chance, _, second in kept)
    alpha = q / (1 - q) / drift
    return alpha, alpha * curve


def parity(q, count=40):
    """sign(z1 z2 z3), overlap q of each: S(q) = 3/2 (log(1-q) + q) + alpha E[h(t)], t the product of three
    2 Phi(w/sqrt(1-q)) - 1, h = log 2 less the entropy of (1 +- t)/2.  alpha at which S(q) = S(0) = 0."""
    u, weight = nodes(0, 6.5, count)
    weight = 2 * weight * normal(u, q / (1 - q))
    one, weight = np.append(2 * phi(u) - 1, 1.0), np.append(weight, 1 - weight.sum())
    t, chance = one, weight
    for _ in range(2):
        t, chance = np.outer(t, one).ravel(), np.outer(chance, weight).ravel()
    t = np.clip(t, 0, 1 - 1e-15)
    h = np.sum(chance * 0.5 * ((1 + t) * np.log1p(t) + (1 - t) * np.log1p(-t)))
    return -1.5 * (np.log(1 - q) + q) / h


def top(f, low, high):
    """The largest value, by golden sections."""
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(30):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = f(b)
    return max(at_a, at_b)


def root(f, low, high):
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


def main():
    print(f"square, where the overlap jumps:      {top(square, 0.5, 0.95):.6f}")
    print(f"norm2, where the overlaps jump:       {top(modulus, 0.5, 0.95):.6f}")
    q = root(lambda x: committee(x)[1] - 1, 0.3, 0.97)
    print(f"committee of two, its second step:    {committee(q)[0]:.6f}")
    print(f"parity of three, by information:      {-top(lambda x: -parity(x), 0.8, 0.99):.6f}")


if __name__ == "__main__":
    main()
