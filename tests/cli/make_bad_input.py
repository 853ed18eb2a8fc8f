"""Writes good points (good_*.npy) and one file per way of being bad; prints `file option pattern`."""
import struct
import numpy as np

n, P, M = 3, 2, 2
rng = np.random.default_rng(1)
omega = rng.standard_normal((n, P, M))
logits = np.log(np.array([[0.7, 0.3], [0.4, 0.6]]))[None].repeat(n, 0)
cov = np.eye(P)
np.save("good_omega.npy", omega)
np.save("good_logits.npy", logits)
np.save("good_y.npy", np.exp(logits))
np.save("good_cov.npy", cov)
table = []


def header(text, version=1, length=None):
    body = text.encode("latin1")
    size = len(body) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + body


def bad(name, content, pattern, option="omega"):
    with open(name + ".npy", "wb") as out:
        out.write(content)
    table.append((name + ".npy", option, pattern))


def dictionary(descr="'<f8'", order="False", shape="(3, 2, 2)"):
    return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape)


data = omega.tobytes()
good = open("good_omega.npy", "rb").read()
bad("empty", b"", "too short")
bad("text", b"1 2 3\n" * 10, "not an NPY file")
bad("version", header(dictionary(), 4) + data, "unknown NPY version")
bad("longheader", header(" " * 20000 + dictionary()) + data, "header over 10 kB")
bad("hugeheader", header(dictionary(), 2, 0xFFFFFFFF) + data, "header over 10 kB")
bad("cutheader", good[:40], "truncated within the NPY header")
bad("truncated", good[:-1], "truncated: shape .3, 2, 2. needs 96 bytes of data, the file has 95")
bad("trailing", good + b"x", "trailing bytes")
bad("overflow", header(dictionary(shape="(4294967296, 4294967296, 16)")) + data, "overflows")
bad("overflow2", header(dictionary(shape="(281474976710656, 65535)")) + data, "overflows")
bad("negative", header(dictionary(shape="(-3, 2, 2)")) + data, "negative dimension")
bad("hugedim", header(dictionary(shape="(99999999999999999999999, 2, 2)")) + data, "huge dimension")
bad("huge", header(dictionary(shape="(1000000000000, 2, 2)")) + data, "truncated")
bad("deep", header(dictionary(shape="(1,1,1,1,1,1,1,1,1)")) + data, "more than 8 dimensions")
bad("object", header(dictionary(descr="'|O'")) + data, "object dtype")
bad("structured", header(dictionary(descr="[('a', '<f8')]")) + data, "structured dtype")
bad("complex", header(dictionary(descr="'<c16'")) + data, "dtype '<c16' is not supported")
bad("half", header(dictionary(descr="'<f2'")) + data, "dtype '<f2' is not supported")
bad("string", header(dictionary(descr="'<U4'")) + data, "dtype '<U4' is not supported")
bad("noshape", header("{'descr': '<f8', 'fortran_order': False}") + data, "'shape' is missing")
bad("twice", header("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (3,2,2)}") + data, "stands twice")
bad("unknown", header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,2,2), 'x': 1}") + data, "unknown key 'x'")
bad("order", header(dictionary(order="Maybe")) + data, "fortran_order")
bad("nodict", header("garbage") + data, "not a dictionary")
bad("after", header(dictionary() + "x") + data, "after the dictionary")
bad("scalar", header(dictionary(shape="()")) + data[:8], "needs shape .3, 2, 2., not ..")
for name, value in ("nan", np.nan), ("inf", np.inf), ("minusinf", -np.inf):
    wrong = omega.copy()
    wrong[2, 0, 1] = value
    np.save(name + ".npy", wrong)
    table.append((name + ".npy", "omega", r"element .2, 0, 1. is -?" + name[-3:]))
np.save("nanf.npy", np.asfortranarray(np.where(np.arange(12).reshape(3, 2, 2) == 9, np.nan, omega)))
table.append(("nanf.npy", "omega", "element .2, 0, 1. is nan"))
np.save("big.npy", np.full((3, 2, 2), 2**60))
table.append(("big.npy", "omega", "beyond 2.53"))
np.save("shape.npy", omega[:, :1])
table.append(("shape.npy", "omega", "needs shape .3, 2, 2., not .3, 1, 2."))
np.save("fewer.npy", omega[:2])
table.append(("fewer.npy", "omega", "needs shape .3, 2, 2., not .2, 2, 2."))
np.save("cov3.npy", np.eye(3))
table.append(("cov3.npy", "cov", "needs shape .2, 2. or .3, 2, 2., not .3, 3."))
np.save("cov_negative.npy", -np.eye(2))
table.append(("cov_negative.npy", "cov", "cov_negative.npy: "))
wrong = np.exp(logits)
wrong[1] = [[0.7, 0.4], [0.5, 0.5]]
np.save("y_sum.npy", wrong)
table.append(("y_sum.npy", "y", "y_sum.npy: sample 1: "))
wrong = np.exp(logits)
wrong[2, 0] = [1.2, -0.2]
np.save("y_range.npy", wrong)
table.append(("y_range.npy", "y", "y_range.npy: sample 2: "))
wrong = logits.copy()
wrong[1] = np.log([[0.3, 0.7], [0.6, 0.4]])  # no token may prefer another one twice over
np.save("logits_range.npy", wrong)
table.append(("logits_range.npy", "logits", "logits_range.npy: sample 1: "))
np.save("y_shape.npy", np.exp(logits).reshape(3, 1, 4))
table.append(("y_shape.npy", "y", "needs shape .n, 2, 2. or .n, 4."))
for row in table:
    print("\t".join(row))
