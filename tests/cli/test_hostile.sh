# Files, names and surroundings that somebody hostile chose: refused by name, or printed as plain text.
. "$(dirname "$0")/lib.sh"
need_numpy
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' a b c >vocab
printf 'A:x a b\nB:x c a\nA:x b\nB:x c c\n' >asked
"$STAIR" train --data asked --vocab vocab --classes A,B --dim 4 --rank 1 --layers 1 --epochs 1 --batch 4 --validation 0 \
    --save w.npz --quiet >/dev/null 2>stderr || fail 'train' "$(cat stderr)"
$PYTHON - <<'PY'
import numpy as np, zipfile
from numpy.lib import format as f
w = dict(np.load("w.npz"))
def variant(name, **change):
    np.savez(name, **{**w, **change})
text = lambda s: np.frombuffer(s, dtype=np.uint8)
variant("few.npz", classes=text(b"A"))
variant("many.npz", classes=text(b"A,B,C"))
variant("empty_name.npz", classes=text(b"A,,B"))
variant("nul.npz", classes=text(b"A\0,B"))
variant("escape.npz", classes=text(b"\x1b]0;pwned\x07,B"))
variant("odd.npz", classes=np.array([65.5, 44, 66]))
variant("rows.npz", readout=w["readout"][:1])
variant("bias.npz", readout_bias=w["readout_bias"][:1])
variant("rank.npz", attention_bias=np.zeros((1, 2)))
variant("layers.npz", attention_bias=np.zeros((2, 1)))
variant("dim.npz", readout=np.zeros((2, 5)))
variant("pad.npz", shape=np.array([16, 99, 1, 0]))
variant("half.npz", shape=np.array([16.5, 0, 1, 0]))
variant("classes.npz", readout=np.zeros((65, 4)), readout_bias=np.zeros(65), classes=text(b"A," * 65))
variant("c1.npz", classes=text("\u009b31mx,B".encode()))
# a small file that unpacks to 4 GiB, and one whose shape fits nothing
def bomb(name, shape):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        for key, value in w.items():
            with z.open(key + ".npy", "w", force_zip64=True) as out:
                if key != "embedding":
                    f.write_array(out, value)
                    continue
                f.write_array_header_1_0(out, {"descr": "|u1", "fortran_order": False, "shape": shape})
                for _ in range(shape[0] * shape[1] // (1 << 20)):
                    out.write(bytes(1 << 20))
bomb("bomb.npz", (1 << 26, 4))
bomb("wide.npz", (1 << 20, 64))
head = np.lib.format.header_data_from_array_1_0(w["scale"])
with zipfile.ZipFile("header.npz", "w") as z:
    for key, value in w.items():
        with z.open(key + ".npy", "w") as out:
            if key != "scale":
                f.write_array(out, value)
            else:
                body = ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }" + " " * 20000 + "\n").encode()
                out.write(b"\x93NUMPY\x02\x00" + len(body).to_bytes(4, "little") + body + value.tobytes())
np.save("short.npy", np.log([[[0.5, 0.4], [0.5, 0.5]]]))
np.save("far.npy", np.array([[[0, -1e300], [np.log(0.5)] * 2]]))
np.save("good.npy", np.log([[[0.5, 0.5], [0.5, 0.5]]]).astype("f4"))
np.save("omega.npy", np.zeros((1, 1, 2)))
np.save("cov.npy", np.eye(1))
np.save("x.npy", np.ones((1, 2, 3)))
np.save("huge.npy", np.full((1, 1), 1e308))
np.save("omega1.npy", np.zeros((1, 1, 1)))
PY
use() { echo "$STAIR train --weights $1 --vocab vocab --predict asked"; }
for file in few many empty_name; do refuse "names of classes: $file" "classes.*does not name" $(use $file.npz); done
for file in nul odd escape; do refuse "names of classes: $file" "classes.*not text" $(use $file.npz); done
for file in rows bias rank layers dim; do refuse "arrays that do not fit: $file" "does not fit|names?" $(use $file.npz); done
for file in pad half; do refuse "sizes: $file" 'make no sense' $(use $file.npz); done
refuse 'more classes than there may be' 'more than 64' $(use classes.npz)
refuse 'a header over 10 kB' 'over 10 kB' $(use header.npz)
refuse 'a shape that fits nothing is not unpacked' 'does not fit' $(use wide.npz)
refuse 'an array that unpacks to gigabytes' 'too large.*STAIR_LARGEST_ARRAY' $(use bomb.npz)
refuse 'a limit that was lowered' 'too large' env STAIR_LARGEST_ARRAY=8 $(use w.npz)
refuse 'a limit that is none' 'STAIR_LARGEST_ARRAY' env STAIR_LARGEST_ARRAY=much $(use w.npz)
if [ "$(id -u)" != 0 ]; then
    chmod 0 w.npz
    refuse 'weights that may not be read' 'Permission denied' $(use w.npz)
    chmod 600 w.npz
fi
expect 'weights as they were saved' 0 '^ *1 +[AB] ' $(use w.npz)
expect 'C1 control characters' 0 '\?31mx|B' $(use c1.npz)
! grep -q "$(printf '\302\233')" stdout || fail 'C1 control characters' 'reach the terminal'
printf 'A:x a\0b\n' >nul.label
refuse 'NUL in questions' 'nul.label:1: byte 6 is NUL' $(use w.npz | sed 's/predict asked/predict nul.label/')

given() { echo "$STAIR channel attention:layers=1 --logits $1 --omega omega.npy --cov cov.npy"; }
refuse 'logits that add up to less' 'short.npy: sample 0: exp of row 0.*0.9' $(given short.npy)
refuse 'logits beyond all sense' 'far.npy: sample 0: .*-1e\+300' $(given far.npy)
refuse 'logits that add up to less, amp' 'short.npy: sample 0: exp of row 0' "$STAIR" amp attention:layers=1 --data x.npy short.npy --logits
expect 'logits of single precision' 0 '^ *0 ' $(given good.npy)
"$STAIR" channel square:noise=1 --y huge.npy --omega omega1.npy --cov cov.npy >stdout 2>stderr
[ $? -lt 4 ] || fail 'a label of 1e308' "$(cat stderr)"
pass 'a label of 1e308'

for rank in 1++1 +1+1 ' 1+1' 1+-1; do refuse "rank=$rank" 'rank' "$STAIR" models "attention:layers=2,rank=$rank"; done
refuse 'a line end in a model string' 'control character' "$STAIR" channel "attention:skip=$(printf '\n')1,layers=2$(printf '\n1')"
refuse 'escapes in a message' '\?\]0;x\?' "$STAIR" channel attention:layers=1 --logits "$(printf 'a\033]0;x\007\302\233b')" --omega omega.npy --cov cov.npy
! LC_ALL=C grep -q "$(printf '[\033\007\233]')" stderr || fail 'escapes in a message' 'reach the terminal'
expect 'escapes in a file name' 0 '^# stair channel' "$STAIR" channel attention:layers=1 --points 40 --out "$(printf 'r\033[1m.csv')"
! LC_ALL=C grep -q "$(printf '\033')" stdout || fail 'escapes in a file name' 'reach the terminal'

last=18446744073709551615
expect 'the last seed' 0 "^0.5,$last," "$STAIR" sgd attention:layers=1 --dim 8 --alpha 0.5 --epochs 1 --seed $last --seeds 2 --csv
! grep -q -- '-1' <(cut -d, -f2 stdout) || fail 'the last seed' 'is -1'
expect 'the last seed, JSON' 0 "\"seed\": \"$last\"" "$STAIR" sgd attention:layers=1 --dim 8 --alpha 0.5 --epochs 1 --seed $last --json
"$STAIR" sgd attention:layers=1 --dim 8 --alpha 0.5 --epochs 1 --seed $last --out s.npz --quiet >/dev/null
$PYTHON -c "import numpy as np; assert np.load('s.npz')['seed'][0] == $last" || fail 'the last seed, NPZ'

"$STAIR" models >&- 2>stderr
[ $? -eq 1 ] && grep -q 'standard output' stderr || fail 'closed standard output' "$(cat stderr)"
"$STAIR" channel attention:layers=1 --points 2 --out closed.csv <&- >stdout 2>&- || fail 'closed standard input and error'
"$STAIR" channel attention:layers=1 --points 2 >/dev/full 2>stderr
[ $? -eq 1 ] && [ "$(wc -l <stderr)" -eq 1 ] || fail 'full standard output: one line' "$(cat stderr)"
pass 'closed and full standard files'
mkdir spool
if command -v strace >/dev/null; then
    TMPDIR=$PWD/spool strace -f -e trace=openat -o trace "$STAIR" models >/dev/null
    grep -q "spool/stair-" trace || fail 'TMPDIR' 'is not used'
fi
TMPDIR=/nonexistent expect 'a TMPDIR that is none' 0 attention "$STAIR" models
[ -z "$(ls spool)" ] || fail 'the spool' 'was left behind'

# Instruction sets: each one this machine has; stated errors hold across them.
for isa in v2 v3 v4; do
    STAIR_ISA=$isa "$STAIR" channel attention:layers=2 --points 20 --seed 3 --json >$isa.json || fail "STAIR_ISA=$isa"
    STAIR_ISA=$isa "$STAIR" threshold attention:layers=2 --precision 1e-2 --json >$isa.t.json 2>/dev/null
    [ $? -eq 0 ] || fail "STAIR_ISA=$isa threshold"
done
refuse 'an instruction set that is none' 'v2, v3 or v4' env STAIR_ISA=v9 "$STAIR" models
$PYTHON - <<'PY' || fail 'instruction sets agree'
import json
for kind, name in ("", "logz"), (".t", "alpha"):
    all = [json.load(open(isa + kind + ".json")) for isa in ("v2", "v3", "v4")]
    levels = [int(a["isa"][1]) for a in all]
    assert levels[0] == 2 and levels == sorted(levels) and all[0]["stair"], levels
    for a in all[1:]:
        assert len(a["results"]) == len(all[0]["results"])
        for x, y in zip(a["results"], all[0]["results"]):
            assert abs(x[name] - y[name]) <= 5 * (x["error"] + y["error"]) + 1e-12, (a["isa"], x[name], y[name])
PY
pass 'instruction sets agree within their errors'
expect 'sgd says that trajectories differ' 0 'instruction set' "$STAIR" sgd --help
finish
