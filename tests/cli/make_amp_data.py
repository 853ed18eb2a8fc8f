"""Writes a small data set of one-layer attention (amp_*.npy) and one file per way of being bad; prints `file role pattern`."""
import struct
import numpy as np

n, M, D = 40, 2, 30
rng = np.random.default_rng(5)
w = rng.standard_normal(D)
x = rng.standard_normal((n, M, D)).astype(np.float32)
h = x.astype(float) @ w / np.sqrt(D)
j = h[:, :, None] * h[:, None, :]
logits = j - np.log(np.exp(j - j.max(2, keepdims=True)).sum(2, keepdims=True)) - j.max(2, keepdims=True)
np.save("amp_w.npy", w)
np.save("amp_x.npy", x)
np.save("amp_x8.npy", x.astype(float))
np.save("amp_xf.npy", np.asfortranarray(x.astype(float)))
np.save("amp_xb.npy", x.astype(">f8"))
np.save("amp_logits.npy", logits)
np.save("amp_y.npy", np.exp(logits))
np.save("amp_new.npy", rng.standard_normal((5, M, D)))
np.save("amp_new_dim.npy", rng.standard_normal((5, M, D + 1)))
table = []


def bad(name, content, pattern, role):
    with open(name + ".npy", "wb") as out:
        out.write(content)
    table.append((name + ".npy", role, pattern))


def save(name, array, pattern, role):
    np.save(name + ".npy", array)
    table.append((name + ".npy", role, pattern))


def header(descr="'<f4'", order="False", shape=f"({n}, {M}, {D})", version=1, length=None):
    body = ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)).encode()
    size = len(body) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + body


data = x.tobytes()
good = open("amp_x.npy", "rb").read()
for role in "x", "y":
    bad(role + "_empty", b"", "too short", role)
    bad(role + "_hugeheader", header(version=2, length=0xFFFFFFFF) + data, "header over 10 kB", role)
    bad(role + "_truncated", good[:-1], "truncated", role)
    bad(role + "_trailing", good + b"x", "trailing bytes", role)
    bad(role + "_overflow", header(shape="(4294967296, 4294967296, 16)") + data, "overflows", role)
    bad(role + "_negative", header(shape="(-3, 2, 30)") + data, "negative dimension", role)
    bad(role + "_hugedim", header(shape="(99999999999999999999999, 2, 2)") + data, "huge dimension", role)
    bad(role + "_object", header(descr="'|O'") + data, "object dtype", role)
    bad(role + "_complex", header(descr="'<c16'") + data, "not supported", role)
for name, value in ("nan", np.nan), ("inf", np.inf), ("minusinf", -np.inf):
    wrong = x.copy()
    wrong[7, 1, 4] = value
    save("x_" + name, wrong, "element .7, 1, 4. is -?" + name[-3:], "x")
    save("x_f8" + name, wrong.astype(float), "element .7, 1, 4. is -?" + name[-3:], "x")
    wrong = logits.copy()
    wrong[3, 0, 1] = value
    save("l_" + name, wrong, "element .3, 0, 1. is -?" + name[-3:], "logits")
save("x_tokens", x[:, :1], r"need shape \(n, 2, D\), not \(40, 1, 30\)", "x")
save("x_flat", x[:, 0], r"need shape \(n, 2, D\), not \(40, 30\)", "x")
save("x_nothing", x[:, :, :0], r"need shape", "x")
save("y_fewer", np.exp(logits[:-1]), r"labels need shape \(40, 2, 2\) or \(40, 4\), not \(39, 2, 2\)", "y")
save("y_wide", np.zeros((n, 3)), r"labels need shape", "y")
wrong = np.exp(logits)
wrong[5] = [[0.7, 0.4], [0.5, 0.5]]
save("y_sum", wrong, "y_sum.npy: sample 5: ", "y")
wrong = np.exp(logits)
wrong[6, 0] = [1.2, -0.2]
save("y_range", wrong, "y_range.npy: sample 6: ", "y")
wrong = logits.copy()
wrong[9] = np.log([[0.3, 0.7], [0.6, 0.4]])  # no token may prefer another one twice over
save("l_range", wrong, "l_range.npy: sample 9: ", "logits")
for row in table:
    print("\t".join(row))
