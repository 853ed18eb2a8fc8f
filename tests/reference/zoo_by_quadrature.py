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


def noisy_abs(q, noise=1e-3, count=300):
    """y = |z| + noise of that variance: on either side of zero z given y is a Gaussian cut off there.  alpha(q)."""
    w, wide = nodes(-8 * q**0.5, 8 * q**0.5, count)
    y, across = nodes(-0.3, 9, count)
    v, w, y = 1 - q, w[:, None], y[None, :]
    s = (v * noise / (v + noise)) ** 0.5
    mass = first = 0.0
    for side in (1, -1):
        mean = (side * w * noise + y * v) / (v + noise)
        part = normal(y - side * w, v + noise)
        mass = mass + part * phi(mean / s)
        first = first + side * part * (mean * phi(mean / s) + s * normal(mean / s, 1))
    mass = np.maximum(mass, 1e-300)
    g = (first / mass - w) / v
    return q / v / np.sum(wide[:, None] * across * normal(w, q) * mass * g * g)


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


def majority(q, count=160):
    """Three signs: what is known is s = (z1 + z2 + z3)/sqrt 3, with overlap q, and the label is that of
    s + sqrt 3 median(t), t what is left.  That is learned where alpha E[(E[|t|^2/2 | y] - 1)^2] = 1.  alpha(q), and
    that product.  Both labels are alike, and so are the sixths of the turn of t that have a median of one sign."""
    r, along = nodes(0, 8, count)
    angle, around = nodes(np.pi / 6, np.pi / 2, 20)  # z1 > z2 > z3 and so on change over at its ends
    angle, around = np.concatenate([angle, angle + np.pi]), np.concatenate([around, around])
    weight = 3 * np.outer(along * r * np.exp(-r * r / 2), around) / (2 * np.pi)
    rows = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    t = np.einsum("r,ka,ki->rai", r, np.array([np.cos(angle), np.sin(angle)]), rows)
    shift, weight = 3**0.5 * np.median(t, axis=2).ravel(), weight.ravel()
    size = np.repeat(r * r / 2, len(angle))
    w, wide = nodes(-7 * q**0.5, 7 * q**0.5, count)
    wide = 2 * wide * normal(w, q)
    deviation = (1 - q) ** 0.5
    h = (w[:, None] + shift) / deviation
    below = phi(h)
    chance, slope = np.maximum(below @ weight, 1e-300), normal(h, 1) @ weight / deviation
    second = below @ (weight * size)
    alpha = q / (1 - q) / np.sum(wide * slope**2 / chance)
    return alpha, alpha * np.sum(wide * (second - chance) ** 2 / chance)


def voters(q_sum, q_rest, count=24):
    """Three signs again: log 2 less the entropy of the label where s has overlap q_sum and t has q_rest.  Means of t
    lie in one of the six sectors that permutations exchange; medians of t are sorted into bins."""
    x, weight = nodes(-7, 7, 2 * count)
    sums, share = q_sum**0.5 * x, weight * normal(x, 1)
    r, along = nodes(0, 6.5, count // 2)
    angle, around = nodes(-np.pi / 6, np.pi / 6, count // 4)
    means = q_rest**0.5 * (r[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], -1)).reshape(-1, 2)
    chance = np.outer(along * r * np.exp(-r * r / 2), around).ravel() * 3 / np.pi
    x = (np.arange(6 * count) + 0.5) * 13 / (6 * count) - 6.5
    t = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2)
    mass = np.outer(normal(x, 1), normal(x, 1)).ravel()
    mass /= mass.sum()
    rows = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    table = np.linspace(-9, 9, 20001)
    known = phi(table)
    total = np.log(2)
    for mean, part in zip(means, chance):
        median = 3**0.5 * np.sort((mean + (1 - q_rest) ** 0.5 * t) @ rows, axis=1)[:, 1]
        bins, edges = np.histogram(median, 800, weights=mass)
        h = (sums[:, None] + (edges[1:] + edges[:-1]) / 2) / (1 - q_sum) ** 0.5
        p = np.clip(np.interp(h, table, known) @ bins, 1e-300, 1 - 1e-16)
        total += part * np.sum(share * (p * np.log(p) + (1 - p) * np.log1p(-p)))
    return total


def told_apart(alpha, at=(0.932, 0.79)):
    """What S gains at the overlaps of three signs that are told apart, over that where only their sum is known."""
    def prior(q):
        return 0.5 * (np.log(1 - q) + q)

    known = top(lambda q: prior(q) + alpha * voters(q, 0.0), 0.85, 0.97, 12)
    best, place = -np.inf, list(at)
    for _ in range(3):  # one overlap after the other; S is flat at its top
        for k in (0, 1):
            def along(q):
                there = [q if i == k else place[i] for i in (0, 1)]
                return prior(there[0]) + 2 * prior(there[1]) + alpha * voters(*there)
            grid = np.linspace(place[k] - 0.02, place[k] + 0.02, 3)
            below, here, above = map(along, grid)
            place[k] += 0.5 * (grid[1] - grid[0]) * (below - above) / (below - 2 * here + above)
            best = max(best, along(place[k]))
    return best - known


def product(indices, count=1 << 16, reach=80.0):
    """z_1 ... z_P, P > 2: log |z| add up, so that E[z_1^2 | y] is a ratio of convolutions; E[z_1 z_2 | y] = 0 by
    signs.  The first step."""
    step = reach / count
    u = (np.arange(count) - count // 2) * step
    square = np.exp(2 * np.minimum(u, 6))
    one = np.where(u < 6, 2 * normal(np.sqrt(square), 1) * np.exp(u), 0) * step
    f, moved = (np.fft.fft(np.fft.ifftshift(x)) for x in (one, one * square))
    density, second = (np.fft.ifft(x * f ** (indices - 1)).real for x in (f, moved))
    known = density > 1e-17
    mean = second[known] / density[known]
    return 1 / np.sum(density[known] * (mean - 1) ** 2)


def largest(count=400):
    """max(|z1|, |z2|): one of them is y, the other below.  The first step."""
    y, weight = nodes(0, 10, count)
    below = 2 * phi(y) - 1
    mean = 0.5 * (y * y + 1 - 2 * y * normal(y, 1) / below)
    return 1 / np.sum(weight * 4 * normal(y, 1) * below * (mean - 1) ** 2)


def quartic(count=400):
    """z^4 - 3 z^2: u = z^2 = (3 +- s)/2, s = 3 - t^2 below the label 0.  The first step."""
    def share(u):
        return normal(np.sqrt(u), 1) / (2 * np.sqrt(u))

    t, weight = nodes(0, 3**0.5, count)
    large, small = 3 - t * t / 2, t * t / 2
    density = share(large) + share(small)
    mean = (large * share(large) + small * share(small)) / density
    low = np.sum(weight * 2 * t * density * (mean - 1) ** 2)
    s, weight = nodes(3, 160, count)
    u = (3 + s) / 2
    return 1 / (low + np.sum(weight * share(u) * (u - 1) ** 2))


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


def top(f, low, high, sections=30):
    """The largest value, by golden sections."""
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = f(a), f(b)
    for _ in range(sections):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = f(b)
    return max(at_a, at_b)


def root(f, low, high, halvings=40):
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


def secant(f, a, b):
    """For what is slow and nearly straight."""
    at_a, at_b = f(a), f(b)
    for _ in range(3):
        a, b, at_a = b, b - at_b * (b - a) / (at_b - at_a), at_b
        at_b = f(b)
    return b


def main():
    print(f"square, where the overlap jumps:      {top(square, 0.5, 0.95):.6f}")
    print(f"abs with noise 1e-3, where it jumps:  {top(noisy_abs, 0.8, 0.93):.6f}")
    print(f"norm2, where the overlaps jump:       {top(modulus, 0.5, 0.95):.6f}")
    q = root(lambda x: committee(x)[1] - 1, 0.3, 0.97)
    print(f"committee of two, its second step:    {committee(q)[0]:.6f}")
    q = secant(lambda x: majority(x)[1] - 1, 0.948, 0.949)
    print(f"committee of three, its second step:  {majority(q)[0]:.6f}")
    print(f"committee of three, by information:   {root(told_apart, 11.3, 11.5, 6):.2f}")
    print(f"product of three, first step:         {product(3):.6f}")
    print(f"max(|z1|,|z2|), first step:           {largest():.6f}")
    print(f"z1^4-3*z1^2, first step:              {quartic():.6f}")
    print(f"parity of three, by information:      {-top(lambda x: -parity(x), 0.8, 0.99):.6f}")


if __name__ == "__main__":
    main()
