"""First steps of links by brute force, without the program: sums over grids of Z and of labels.

    expr_by_grids.py [build/stair]     prints alpha_1 of each link; with the program, how many errors it is off

Noise on y (variance D): Z_out(y), E[z|y] and E[zz|y] are sums over a grid of Z in P dimensions with the weight
N(y; g(z), D), and averages over labels sums over y.  Prenoise d: u = z + sqrt(d) xi has variance 1 + d and is what
the link sees.  Without noise and with one index: all z with the label, found between the nodes of a fine grid.  The
step is 0 where E[z|y] does not vanish, else 1 / the largest eigenvalue of F(X) = E[G X G], G = dg at omega = 0.
The grids do not resolve labels with long
tails, nor edges that are not between their cells (sign(abs(z1)-0.6745), and z1^4-3*z1^2 with noise): differences
there are theirs, as other ways to the same numbers showed.  Needs numpy."""
import itertools
import json
import subprocess
import sys
from math import erf

import numpy as np


def sign(x):
    return np.sign(x)


def relu(x):
    return np.maximum(x, 0)


ERF = np.vectorize(erf)
NAMES = {"sign": sign, "relu": relu, "abs": np.abs, "tanh": np.tanh, "exp": np.exp, "log": np.log, "sin": np.sin,
         "cos": np.cos, "sqrt": np.sqrt, "erf": ERF, "max": np.maximum, "min": np.minimum}


def link(text):
    """The formula, of an array (P, n) of Z; outputs stay apart."""
    codes = [compile(part.replace("^", "**"), part, "eval") for part in text.split(";")]

    def g(z):
        cells = {f"z{k + 1}": z[k] for k in range(len(z))}
        return np.array([eval(code, {"__builtins__": {}}, {**NAMES, **cells}) + 0 * z[0] for code in codes])
    return g


def z_grid(indices, width, reach=6.5, count=None):
    """Midpoints between cells: an even number of them, so that 0 is an edge."""
    count = count or {1: 4000, 2: 260, 3: 64}[indices]
    step = 2 * reach / count
    x = (np.arange(count) - count / 2 + 0.5) * step
    w = step * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    z = np.array(list(itertools.product(x, repeat=indices))).T if indices > 1 else x[None, :]
    weight = w if indices == 1 else np.prod(np.array(list(itertools.product(w, repeat=indices))), axis=1)
    keep = weight > 1e-13 * weight.max()
    return width * z[:, keep], weight[keep] / weight[keep].sum()


def operator(indices, chance, first, second, scale):
    """alpha_1 from labels of probability `chance` with E[u|y], E[uu|y], u of variance `scale`."""
    drift = np.einsum("y,yi,yj->ij", chance, first, first) / scale**2
    if np.trace(drift) > 1e-9:
        return 0.0
    g = second / scale**2 - np.eye(indices) / scale
    pairs = [(i, j) for i in range(indices) for j in range(i + 1)]
    f = np.zeros((len(pairs), len(pairs)))
    for b, (k, l) in enumerate(pairs):
        x = np.zeros((indices, indices))
        x[k, l] = x[l, k] = 1
        image = np.einsum("y,yij,jk,ykl->il", chance, g, x, g)
        f[:, b] = [image[i, j] for i, j in pairs]
    top = np.linalg.eigvals(f).real.max()
    return 1 / top if top > 1e-6 else np.inf


def noisy(text, indices, noise, prenoise=0.0, labels=400):
    """One output."""
    scale = 1 + prenoise
    z, weight = z_grid(indices, scale**0.5)
    g = link(text)(z)[0]
    low, high = g.min() - 7 * noise**0.5, g.max() + 7 * noise**0.5
    inner = np.sort(g)[[int(q * len(g)) for q in (0.0005, 0.9995)]]
    # labels: fine where they are likely, to their ends
    edges = np.concatenate([np.linspace(low, inner[0] - 5 * noise**0.5, 80)[:-1],
                            np.linspace(inner[0] - 5 * noise**0.5, inner[1] + 5 * noise**0.5, labels),
                            np.linspace(inner[1] + 5 * noise**0.5, high, 80)[1:]])
    edges = np.unique(np.clip(edges, low, high))
    x, w = np.polynomial.legendre.leggauss(4)
    y = (edges[:-1, None] + np.diff(edges)[:, None] * (x + 1) / 2).ravel()
    dy = (np.diff(edges)[:, None] * w / 2).ravel()
    moments = [np.ones_like(weight), *z, *(z[i] * z[j] for i in range(indices) for j in range(i + 1))]
    table = np.array(moments) * weight
    sums = np.empty((len(y), len(table)))
    for k in range(0, len(y), 64):
        kernel = np.exp(-((y[k:k + 64, None] - g) ** 2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
        sums[k:k + 64] = kernel @ table.T
    mass = np.maximum(sums[:, 0], 1e-280)
    first = sums[:, 1:1 + indices] / mass[:, None]
    second = np.empty((len(y), indices, indices))
    for k, (i, j) in enumerate((i, j) for i in range(indices) for j in range(i + 1)):
        second[:, i, j] = second[:, j, i] = sums[:, 1 + indices + k] / mass
    return operator(indices, sums[:, 0] * dy, first, second, scale)


def halve(f, y, low, high):
    """Roots of f = y in brackets, by bisection."""
    at_low = f(low[None, :])[0] - y
    for _ in range(40):
        middle = (low + high) / 2
        here = f(middle[None, :])[0] - y
        left = here * at_low > 0
        low, at_low, high = np.where(left, middle, low), np.where(left, here, at_low), np.where(left, high, middle)
    return (low + high) / 2


def exact_one(text, prenoise=0.0, count=18000):
    """One index, no noise on y: E over z of what its label tells, by panels of 1/20; the other z of a label
    are found between nodes of a fine grid."""
    scale, reach = 1 + prenoise, 9.0
    f = link(text)
    grid = (np.arange(count) - count / 2 + 0.5) * (2 * reach / count)
    value = f(grid[None, :])[0]
    density = np.exp(-grid**2 / (2 * scale))
    x, w = np.polynomial.legendre.leggauss(4)
    edges = np.linspace(-reach, reach, int(40 * reach) + 1)
    nodes = (edges[:-1, None] + (edges[1] - edges[0]) * (x + 1) / 2).ravel()
    chance = np.tile(w, len(edges) - 1) * np.exp(-nodes**2 / (2 * scale))
    labels = f(nodes[None, :])[0]
    first, second = np.zeros(len(nodes)), np.full(len(nodes), scale)
    for n, y in enumerate(labels):
        flat = np.abs(value - y) <= 1e-13 * (1 + abs(y))
        if flat.sum() > 5:  # a value of its own
            mass, z = density * flat, grid
        else:
            at = np.nonzero((value[:-1] - y) * (value[1:] - y) <= 0)[0]
            at = at[np.abs(value[at + 1] - value[at]) < 0.3 * (1 + np.abs(y))]  # not a jump
            z = halve(f, y, grid[at], grid[at + 1]) if len(at) else nodes[[n]]  # none: next to a fold
            slope = (f(z[None, :] + 1e-6) - f(z[None, :] - 1e-6))[0] if len(at) else np.ones(1)
            mass = np.exp(-z * z / (2 * scale)) / np.maximum(1e-14, np.abs(slope))
        first[n] = np.sum(mass * z) / np.sum(mass)
        second[n] = np.sum(mass * z * z) / np.sum(mass)
    return operator(1, chance / chance.sum(), first[:, None], second[:, None, None], scale)


NOISY = [("z1^2", 1), ("abs(z1)", 1), ("relu(z1)", 1), ("sign(abs(z1)-0.6745)", 1), ("z1^2+z2^2", 2), ("z1*z2", 2),
         ("sign(z1*z2)", 2), ("z1^2-z2^2", 2), ("z1*z2+z1", 2), ("relu(z1)-relu(z2)", 2), ("sign(z1)+z2^2", 2),
         ("tanh(z1)*z2", 2), ("max(z1,z2)", 2), ("max(abs(z1),abs(z2))", 2), ("abs(z1)-abs(z2)", 2), ("z1^2*z2^2", 2),
         ("cos(z1)+cos(z2)", 2), ("sin(z1*z2)", 2), ("exp(-z1^2)", 1), ("z1^4-3*z1^2", 1), ("cos(2*z1)", 1),
         ("z1^3-3*z1", 1), ("abs(z1*z2)", 2), ("z1*z2*z3", 3), ("z1^2+sign(z1*z2*z3)", 3), ("z1^2+z2*z3", 3),
         ("sign(z1)*z2^2", 2), ("z1^2*sign(z2)", 2), ("sign(z1*z2)+z1^2", 2), ("min(abs(z1),1)", 1)]
EXACT = ["z1^2", "abs(z1)", "z1^4-3*z1^2", "cos(2*z1)", "cos(z1)", "z1^3-3*z1", "exp(-z1^2)", "min(abs(z1),1)",
         "max(z1^2,1)", "abs(abs(z1)-1)", "z1^4-z1^2", "z1^2/(1+z1^2)", "abs(z1)<1", "abs(sin(z1))", "log(abs(z1))",
         "sqrt(abs(z1))", "1/(1+z1^2)", "relu(abs(z1)-1)", "sin(z1)^2", "z1*tanh(z1)", "1/abs(z1)", "z1^-2",
         "tanh(z1^2)", "sign(abs(z1)-1)*z1^2", "sign(cos(3*z1))", "z1^6-3*z1^4"]


def program(stair, model):
    done = subprocess.run([stair, "threshold", model, "--steps", "1", "--json", "--quiet"], capture_output=True,
                          text=True)
    if not done.stdout.strip():
        return None, done.stderr.strip()
    step = json.loads(done.stdout)["results"][0]
    return (np.inf if step["alpha"] is None else step["alpha"], step["error"]), step["kind"]


def main():
    stair = sys.argv[1] if len(sys.argv) > 1 else None
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    rows = [(f"expr:{t}", lambda t=t: exact_one(t)) for t in EXACT]
    rows += [(f"expr:{t},prenoise=0.3", lambda t=t: exact_one(t, 0.3)) for t in EXACT[:4]]
    for noise, prenoise in ((0.1, 0), (0.1, 0.2), (0.01, 0)):
        for t, p in NOISY:
            if noise == 0.01 and p > 1:
                continue
            keys = f",noise={noise:g}" + (f",prenoise={prenoise:g}" if prenoise else "")
            rows.append((f"expr:{t}{keys}", lambda t=t, p=p, a=noise, b=prenoise: noisy(t, p, a, b)))
    for model, reference in rows:
        if only not in model:
            continue
        known = reference()
        line = f"{model:45s} {known:.6f}"
        if stair:
            found, said = program(stair, model)
            if found:
                away = abs(found[0] - known) if np.isfinite(known) or np.isfinite(found[0]) else 0
                line += f"  stair {found[0]:.6f} +- {found[1]:.1e}  off {away:.1e}"
                if away > 3 * found[1] + 3e-4 * (known if np.isfinite(known) else 1):
                    line += "  <---"
            else:
                line += f"  stair: {said} <---"
        print(line, flush=True)


if __name__ == "__main__":
    main()
