"""Cross-check of known_answers.txt by plain Monte Carlo of the definition.

    python3 check.py TABLE SAMPLES NAME...

Draws Z ~ N(omega, V), computes the label's fibre coordinate forward, and weights each draw by a narrow
kernel around the given one: no inverse of H, no determinant, no choice of branches.  The kernel is the
fourth-order Gaussian one, so its bias is of order width^4.  For rank 1 the coordinate is h_L itself, at
+h and at -h.  For rank 2 with two tokens it is (|h_1 - h_2|, (|h_1|^2 - |h_2|^2) / 2 |h_1 - h_2|), whose
density is 2 pi |h_1 - h_2| exp(log z).  Doubles, and a few digits only.
"""
import sys

import numpy as np

WIDTH = {2: 0.05, 3: 0.10}


def read(path):
    words = " ".join(line for line in open(path) if not line.startswith("#")).split()
    blocks, keys = {}, ("label", "fibre", "omega", "cov", "logz", "g", "dg")
    at = words.index("point")
    while at < len(words):
        b = dict(name=words[at + 1], model=words[at + 3], P=int(words[at + 5]), M=int(words[at + 6]), R=int(words[at + 7]))
        P, M, R = b["P"], b["M"], b["R"]
        at += 10
        for key, shape in zip(keys, ((M, M), (M, R), (P, M), (P, P), (1,), (P, M), (P * M, P * M))):
            n = int(np.prod(shape))
            b[key] = np.array([float(v) for v in words[at + 1:at + 1 + n]]).reshape(shape)
            at += 1 + n
        blocks[b["name"]] = b
    return blocks


def forward(b, Z):
    """h_L (n, M) of Z (n, P, M), rank 1."""
    keys = dict(item.split("=") for item in b["model"].split(":")[1].split(","))
    n, M = len(Z), b["M"]
    H = np.broadcast_to(np.eye(M), (n, M, M))
    for l in range(b["P"]):
        h = np.einsum("nij,nj->ni", H, Z[:, l])
        if l == b["P"] - 1:
            return h
        J = h[:, :, None] * h[:, None, :]
        if keys.get("activation") != "linear":
            J = np.exp(J - J.max(2, keepdims=True))
            J /= J.sum(2, keepdims=True)
        if keys.get("mixing") == "literal":
            J = J.transpose(0, 2, 1)
        H = np.einsum("nij,njk->nik", float(keys["skip"]) * np.eye(M) + J, H)


def kernel(d, width):
    u2 = (d * d).sum(-1) / width ** 2
    dim = d.shape[-1]
    return (1 + dim / 2 - u2 / 2) * np.exp(-u2 / 2) / (2 * np.pi * width ** 2) ** (dim / 2)


def weights(b, Z):
    h0 = b["fibre"]
    if b["R"] == 1:
        h = forward(b, Z)
        w = WIDTH[b["M"]]
        return (kernel(h - h0[:, 0], w) + kernel(h + h0[:, 0], w)) / 2
    d = Z[:, :, 0] - Z[:, :, 1]
    s = np.sqrt((d * d).sum(1))
    t = ((Z[:, :, 0] ** 2).sum(1) - (Z[:, :, 1] ** 2).sum(1)) / (2 * s)
    d0 = h0[0, 0] - h0[1, 0]
    return kernel(np.stack([s - d0, t - (h0[0, 0] + h0[1, 0]) / 2], -1), WIDTH[2]) / (2 * np.pi * d0)


def check(b, samples, seed=1):
    rng = np.random.default_rng(seed)
    P, M = b["P"], b["M"]
    V = b["cov"]
    root = np.linalg.cholesky(V)
    rows = []
    batch = 500000
    for _ in range(samples // batch):
        r = np.einsum("pq,nqm->npm", root, rng.standard_normal((batch, P, M)))
        Z = b["omega"] + r
        w = weights(b, Z)
        r = r.reshape(batch, -1)
        wr = w[:, None] * r
        rows.append(np.concatenate([[w.sum()], wr.sum(0), (wr.T @ r).ravel()]) / batch)
    rows = np.array(rows)
    n = P * M

    def moments(a):
        mean = a[1:n + 1] / a[0]
        return np.concatenate([[np.log(a[0])], mean, (a[n + 1:] / a[0]).reshape(n, n)[np.triu_indices(n)]])
    total = rows.mean(0)
    # jackknife over batches
    k = len(rows)
    left = np.array([moments((total * k - row) / (k - 1)) for row in rows])
    error = np.sqrt((k - 1) * left.var(0))
    found = moments(total)
    big = np.kron(V, np.eye(M))
    mean = big @ b["g"].ravel()
    second = big + big @ b["dg"] @ big + np.outer(mean, mean)
    want = np.concatenate([b["logz"], mean, second[np.triu_indices(n)]])
    z = (found - want) / error
    print("%-28s log z %9.5f, table %9.5f, error %.5f | means and second moments: largest error %.1e, "
          "largest |z| %.1f, rms z %.2f" % (b["name"], found[0], want[0], error[0], error[1:].max(),
                                            np.abs(z).max(), np.sqrt((z * z).mean())), flush=True)


if __name__ == "__main__":
    table = read(sys.argv[1])
    for name in sys.argv[3:]:
        check(table[name], int(float(sys.argv[2])))
