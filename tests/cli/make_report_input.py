"""Result files that a page must take, and files that it must refuse: written into the present folder."""
import io
import json
import zipfile

import numpy

HOSTILE = "</script><script>alert(1)</script><!-- '\" & \u2028 \u00e9"


def result(name, results, command="evolve", options=None, **more):
    frame = {"stair": "0.1.0", "command": command, "model": "square:tokens=1", "options": options or {}, "results": results}
    with open(name, "w", encoding="utf-8") as file:
        json.dump(frame | more, file, ensure_ascii=False)


def text(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def member(name, content, descr="<f8", shape=None):
    """An NPZ whose one array says `descr` and `shape` of the bytes `content`."""
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content)


# ---- to be taken ------------------------------------------------------------------------------------------
rows = [{"alpha": k / 10, "start": start, "Q": [[0.1 * k, 0.5], [0.5, 1 / (k + 1)]], "Q_error": [[0.01, 0], [0, 0.02]],
         "errors": {"bayes": 0.5, "bayes_error": 0.1}, "theory": {"Q": [[1.0]]}, "learns": [1, 2], "hard": k > 1, "gone": None}
        for k in range(3) for start in ("uninformed", "informed")]
result("rows.json", rows, options={"seed": 3, "alpha": [0.0, 0.1, 0.2, 0.30000000000000004], "from": "informed", "side": 0.0})
result("hostile.json", [{HOSTILE: HOSTILE, "x": 1.0, "y": 2.0}, {HOSTILE: "b", "x": 2.0, "y": 3.0}], command=HOSTILE,
       options={HOSTILE: HOSTILE})
result("quote.json", [], options={"method": "it's $(touch pwned) `touch pwned`;\\", "seed": 18446744073709551615 // 2})
result("control.json", [], options={"method": "a\nrm -rf x"})
result("history.json", [{"alpha": 1.0, "seed": s, "M": [[0.5]], "history": [
    {"iteration": k, "M": [[0.1 * k]], "errors": {"bayes": 1.0}} for k in range(3)]} for s in (1, 2)], command="amp")
result("steps.json", [{"model": "m", "skip": skip, "kind": kind, "alpha": alpha, "error": 0.1, "learns": [1], "overlap": [0.5, 0.25],
                       "overlap_error": [0.1, 0.2]}
                      for skip in (0.5, 1.0) for kind, alpha in (("weak", 0.2), ("weak", 0.7), ("perfect", 1.0))], command="threshold")
result("wide.json", [{"dg": [[float(12 * i + j) for j in range(12)] for i in range(2)]}], command="channel")
result("ragged.json", [{"a": 1.0}, {"b": 2.0}, {"a": 3.0, "b": 4.0}])
numpy.savez("types.npz", alpha=numpy.array([0.5, numpy.nan, numpy.inf]), word=numpy.array(["<b>", "é", ""]), flag=numpy.array([True, False, True]),
            whole=numpy.array([1, 2, 3]), cosine=numpy.arange(6.0).reshape(3, 2), dg=numpy.arange(3 * 300.0).reshape(3, 300))
numpy.savez("edges.npz", alpha=numpy.arange(1.0), word=numpy.array(["\x7f\x80\u07ff\u0800\uffff\U00010000\U0010ffff"]))
numpy.savez_compressed("deflated.npz", alpha=numpy.arange(5.0), Q11=numpy.arange(5.0), Q11_error=numpy.ones(5))
text("unix.csv", "alpha,Q11,Q11_error,word\n0.1,nan,,a;b\n0.2,1e-3,0.5,\n")
text("dos.csv", "\ufeffalpha,Q11\r\n0.1,2\r\n0.2,-3.5e+2\r\n")

# ---- to be refused ----------------------------------------------------------------------------------------
text("bad_empty.json", "")
text("bad_text.json", "hello")
text("bad_cut.json", '{"results": [{"a": 1}')
text("bad_array.json", "[1, 2]")
text("bad_none.json", '{"stair": "0.1.0"}')
text("bad_kind.json", '{"results": {"a": 1}}')
text("bad_row.json", '{"results": [1]}')
text("bad_twice.json", '{"results": [{"a": 1, "a": 2}]}')
text("bad_name.json", '{"results": [{"a_b": 1, "a": {"b": 2}}]}')
text("bad_utf8.json", b'{"results": [{"a": "\xff"}]}')
text("bad_number.json", '{"results": [{"a": 1e999}]}')
text("bad_nan.json", '{"results": [{"a": NaN}]}')
text("bad_deep.json", '{"results": [{"a": ' + '{"b": ' * 50 + "1" + "}" * 50 + "}]}")
text("bad_deeper.json", '{"results": ' + "[" * 100000)
text("bad_long.json", '{"results": [{"%s": 1}]}' % ("n" * 5000))
text("bad_columns.json", '{"results": [{%s}]}' % ", ".join('"c%d": 1' % k for k in range(5000)))
text("bad_history.json", '{"results": [{"history": [{"a": 1}, 2]}]}')
text("bad_cells.json", '{"results": [%s]}' % ", ".join(['{"c%d": 1}' % k for k in range(3000)] * 1))
text("bad_empty.csv", "")
text("bad_cells.csv", "a,b\n1,2\n1\n")
text("bad_more.csv", "a,b\n1,2,3\n")
text("bad_names.csv", "a,,b\n1,2,3\n")
text("bad_same.csv", "a,a\n1,2\n")
text("bad_utf8.csv", b"a,b\n1,\xff\xfe\n")
text("bad_nul.csv", b"a\0b,c\n1,2\n")
text("bad_text.npz", "hello")
text("bad_empty.npz", "")
numpy.savez("bad_rows.npz", a=numpy.arange(3.0), b=numpy.arange(4.0))
numpy.savez("bad_scalar.npz", a=numpy.float64(3))
numpy.savez("bad_object.npz", a=numpy.array([{}], dtype=object))
whole = io.BytesIO()
numpy.savez(whole, a=numpy.arange(100.0))
text("bad_cut.npz", whole.getvalue()[:-200])
with zipfile.ZipFile("bad_none.npz", "w") as archive:
    pass
with zipfile.ZipFile("bad_member.npz", "w") as archive:
    archive.writestr("readme.txt", "hello")
member("bad_endless.npz", b"", shape="(281474976710656, 0)")
member("bad_huge.npz", b"", shape="(281474976710656,)")
member("bad_letters.npz", b"", descr="<U99999", shape="(0,)")
with zipfile.ZipFile("bad_bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40000000,), }".ljust(117) + b"\n"
    with archive.open("a.npy", "w", force_zip64=True) as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for _ in range(320):
            file.write(bytes(1000000))
