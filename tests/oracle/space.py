"""Points of known_answers.txt with three or more hidden dimensions, through space.c.

    python3 space.py PROGRAM FOLDER REACH STEP FINER_STEP NAME
"""
import os
import subprocess
import sys
import time

from gmpy2 import mpfr, log, sqrt

from oracle import agreement, block, digits, symmetric
from points import ZERO, find, inputs
from posterior import answers, inverse


def cholesky(A):
    n = len(A)
    C = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            v = mpfr(A[i][j]) - sum((C[i][k] * C[j][k] for k in range(j)), ZERO)
            C[i][j] = sqrt(v) if i == j else v / C[j][j]
    return C


def run(program, p, inp, reach, step, shift):
    L, M, V = p["L"], p["M"], inp["V"]
    C = cholesky(V)  # its last row: Z_L - omega_L = a . u + s * (one more normal)
    h = [row[0] for row in inp["fibre"]]
    numbers = [p["c"], step, shift, reach] + h + [v for row in inp["omega"] for v in row]
    numbers += [C[l][k] for l in range(L - 1) for k in range(L - 1)]
    numbers += [C[L - 1][l] for l in range(L - 1)] + [C[L - 1][L - 1]]
    text = "%d %d %d " % (L, M, p["mixing"] == "literal")
    text += " ".join("{0:.40e}".format(mpfr(v)) for v in numbers) + "\n"
    out = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.split()
    n = L * M
    s0, s1, rest = mpfr(out[0]), [mpfr(v) for v in out[1:n + 1]], [mpfr(v) for v in out[n + 1:-1]]
    s2 = [[ZERO] * n for _ in range(n)]
    it = iter(rest)
    for i in range(n):
        for j in range(i, n):
            s2[i][j] = s2[j][i] = next(it)
    ans = answers(p, V, s0, s1, s2, ZERO)
    # dZ_hidden = |det C_hidden|^M du, and one half for the two signs
    for l in range(L - 1):
        ans["logz"] += M * log(C[l][l])
    ans["logz"] += (L - 1) * M * log(mpfr(step)) - log(mpfr(2))
    return ans, int(out[-1])


def main():
    program, folder, reach, step, finer, name = sys.argv[1:]
    p = find(name)
    inp = inputs(p)
    os.makedirs(folder, exist_ok=True)
    start = time.time()
    a, na = run(program, p, inp, reach, step, "0.3")
    b, nb = run(program, p, inp, reach, finer, "0.1")
    a, b = symmetric(inp, a), symmetric(inp, b)
    far = agreement(a, b)
    with open(os.path.join(folder, name + ".txt"), "w") as f:
        f.write(block(p, inp, b, min(32, digits(far))))
    print("%-30s agreement %.1e, %d and %d nodes, %.0f s, log z %.12f"
          % (name, far, na, nb, time.time() - start, float(b["logz"])), flush=True)


if __name__ == "__main__":
    main()
