# stair amp: output, own data, resuming, bad input.
. "$(dirname "$0")/lib.sh"
MODEL=attention:layers=1
small="--dim 120 --alpha 0.4 --start-overlap 0.3 --max-iterations 5 --theory none"

expect 'table; not converged is exit 3' 3 'iterations +stop' "$STAIR" amp $MODEL $small
expect 'how many had not converged, and what to raise' 3 '2 of 2 runs had not converged after 5 iterations; raise --max-iterations' "$STAIR" amp $MODEL $small --seeds 2 --out n.json
[ -s n.json ] || fail 'results that had not converged are written'
expect 'iterations that were asked for: history' 0 'iterations' "$STAIR" amp $MODEL $small --history
expect 'iterations that were asked for: trajectory' 0 'iterations' "$STAIR" amp $MODEL --dim 120 --alpha 0.4 --max-iterations 3 --theory trajectory --samples 128
expect 'summary beside theory' 3 'M11 +error +theory +z' "$STAIR" amp $MODEL --dim 120 --alpha 0.4 --seeds 3 --summary
expect 'means beside theory' 3 'M11 over 3 runs: 0[.0-9]+ [+]- 0[.0-9]+; fixed point of state evolution: 0[.0-9]+ [+]- ' "$STAIR" amp $MODEL --dim 120 --alpha 0.4 --seeds 3 --max-iterations 5
expect 'history' 0 'iteration +Q11 +cosine1 +Bayes' "$STAIR" amp $MODEL $small --history
expect 'diverged is exit 3' 3 'diverged' "$STAIR" amp $MODEL --dim 200 --alpha 0.4 --start-overlap 0.3 --variant no-onsager --theory none --no-adaptive
refuse 'history and summary' 'both want the rows' "$STAIR" amp $MODEL --history --summary
refuse 'unknown variant' 'did you mean' "$STAIR" amp $MODEL --variant gmap
refuse 'side and overlap' 'no place beside' "$STAIR" amp $MODEL --side 0.1 --start-overlap 0.1
refuse 'dimension 0' 'dim' "$STAIR" amp $MODEL --dim 0
refuse 'negative alpha' 'alpha' "$STAIR" amp $MODEL --alpha=-1
refuse 'alpha is not a number' 'alpha' "$STAIR" amp $MODEL --alpha nan
refuse 'empty list' 'alpha' "$STAIR" amp $MODEL --alpha ''
refuse 'resume without a place' 'resume needs' "$STAIR" amp $MODEL --resume
refuse 'predict without data' 'goes with --data or --load' "$STAIR" amp $MODEL --predict x.npy
refuse 'one posterior to save' 'one --alpha, one seed' "$STAIR" amp $MODEL --seeds 2 --save w.npz
refuse 'bp in large dimension' 'variant bp' "$STAIR" amp $MODEL --dim 100000 --variant bp
refuse 'singular mixing' 'skip' "$STAIR" amp attention:layers=2,skip=-1

# Same bytes for any number of threads, and with X drawn again and again.
unfinished() { "$STAIR" "$@" 2>stderr; [ $? -eq 3 ] || fail "exit 3: $*" "$(head -c 400 stderr)" >&2; }
for threads in 1 2 3 7; do unfinished amp attention:layers=2 $small --seeds 2 --threads $threads --json >t$threads.json; done
for threads in 2 3 7; do cmp -s t1.json t$threads.json || fail "threads $threads give other bytes"; done
pass 'same bytes for 1, 2, 3, 7 threads'
unfinished amp attention:layers=2 $small --seeds 2 --regenerate --json | sed 's/"regenerate": true/"regenerate": false/' >r.json
cmp -s t1.json r.json || fail 'regenerated X gives other bytes'
pass 'same bytes when X is never stored'

# Killed at any moment, then resumed.
many="amp attention:layers=2 --dim 300 --alpha 0.5,1 --seeds 3 --start-overlap 0.3 --max-iterations 12 --theory none --checkpoint-every 0 --threads 1"
unfinished $many --out whole.json >/dev/null
for wait in 0.1 0.3 0.6; do
    "$STAIR" $many --out cut.json >/dev/null 2>&1 &
    pid=$!
    sleep $wait
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    unfinished $many --out cut.json --resume --force >/dev/null
    cmp -s whole.json cut.json || fail "kill -9 after $wait s, then --resume: other bytes"
    ls cut.json.state* >/dev/null 2>&1 && fail 'checkpoints are left behind'
    rm -f cut.json
done
pass 'kill -9 and --resume give the same bytes'
"$STAIR" $many --out cut.json >/dev/null 2>&1 &
pid=$!
sleep 0.4
kill -TERM $pid
wait $pid
got=$?
if [ $got -eq 143 ]; then
    [ -e cut.json ] && fail 'a stopped run wrote its output'
    refuse 'checkpoint of another request' 'another request' "$STAIR" ${many/0.5,1/0.6,1} --out cut.json --resume
    unfinished $many --out cut.json --resume >/dev/null
fi
cmp -s whole.json cut.json || fail "SIGTERM (exit $got), then --resume: other bytes"
pass 'SIGTERM and --resume give the same bytes'

need_numpy
$PYTHON - t1.json <<'END' || fail 'JSON of amp'
import json, sys
whole = json.load(open(sys.argv[1]))
assert whole["command"] == "amp" and len(whole["results"]) == 2
for r in whole["results"]:
    for key in "alpha seed iterations stop Q M cosine errors history".split(): assert key in r, key
    assert len(r["history"]) == r["iterations"] + 1 == 6
    assert len(r["cosine"]) == 2 and len(r["Q"]) == 2 and len(r["M"][0]) == 2
    assert r["history"][-1]["Q"] == r["Q"] and set(r["errors"]) >= {"bayes", "plugin"}
END
pass 'JSON of amp'

# Below threshold state evolution says exactly 0, and overlaps of runs are positive.
"$STAIR" amp attention:layers=2 --dim 100 --alpha 0.3 --seeds 3 --summary --json --quiet >z.json 2>/dev/null
$PYTHON -c '
import json
r = json.load(open("z.json"))["results"][0]
assert r["theory"]["Q"][0][0] == 0 and r["theory"]["Q_error"][0][0] == 0 and r["M"][0][0] > 0, r
assert r["z_M"][0] is None and r["z_Q"][0] is None and r["z_M"][1] is not None and r["z_Q"][1] is not None, r' || fail 'no z-score against exactly 0'
pass 'no z-score against exactly 0'

# The user's own data: float32, float64, Fortran and big-endian order, y or logits: one posterior.
$PYTHON "$TESTS/make_amp_data.py" >table.tsv || fail 'making data'
fit() { echo "$STAIR" amp $MODEL --data "$@" --max-iterations 200 --force; }
for x in x x8 xf xb; do expect "data: amp_$x.npy" 0 'perfect|converged' $(fit amp_$x.npy amp_logits.npy) --logits --save $x.npz --seed 3; done
expect 'data: not converged is exit 3' 3 'had not converged after 1 iterations; raise --max-iterations' "$STAIR" amp $MODEL --data amp_x.npy amp_y.npy --max-iterations 1 --save short.npz --out short.json
[ -s short.npz ] && [ -s short.json ] || fail 'what had not converged is written'
grep -Eq -- '--(dim|seeds|alpha|theory|samples|test-samples) ' stdout && fail 'options of a synthetic teacher with --data' "$(head -1 stdout)"
$PYTHON -c 'import json; o = json.load(open("short.json"))["options"]; assert "dim" not in o and "seeds" not in o and o["max-iterations"] == 1, o' || fail 'options of data in JSON'
pass 'options of a synthetic teacher are not echoed with --data'
expect 'data: plain y' 0 'perfect|converged' $(fit amp_x.npy amp_y.npy) --save y.npz --seed 3
expect 'prediction' 0 'deviation' $(fit amp_x.npy amp_logits.npy) --logits --predict amp_new.npy --out p.npz --seed 3
$PYTHON - <<'END' || fail 'posterior and prediction'
import numpy as np
w = np.load("amp_w.npy")
mean = {k: np.load(k + ".npz") for k in ("x", "x8", "xf", "xb", "y")}
for m in mean.values():
    assert m["weights"].shape == (1, 30) and m["cov"].shape == (1, 1)
    assert min(np.abs(m["weights"][0] - w).max(), np.abs(m["weights"][0] + w).max()) < 1e-3
assert np.allclose(mean["x8"]["weights"], mean["xf"]["weights"], atol=0) and np.allclose(mean["x8"]["weights"], mean["xb"]["weights"], atol=0)
p, new = np.load("p.npz"), np.load("amp_new.npy")
h = new @ w / np.sqrt(30)
j = h[:, :, None] * h[:, None, :]
y = np.exp(j) / np.exp(j).sum(2, keepdims=True)
assert np.abs(p["mean"].reshape(5, 2, 2) - y).max() < 1e-3 and p["deviation"].max() < 1e-3
END
pass 'posterior and prediction recover the teacher'

# What --save kept predicts to the same bytes, with the seed of the fit unless another is given.
"$STAIR" amp $MODEL --load x8.npz --predict amp_new.npy --out loaded.npz >loaded.txt || fail 'load'
expect 'predictions after a fit' 0 'deviation' $(fit amp_x8.npy amp_logits.npy) --logits --predict amp_new.npy --out fitted.npz --seed 3
cmp -s fitted.npz loaded.npz || fail 'a loaded posterior predicts the same bytes'
grep -q -- '--seed 3' loaded.txt || fail 'the seed of the fit' "$(head -1 loaded.txt)"
"$STAIR" amp $MODEL --load x8.npz --predict amp_new.npy --seed 4 --json >other.json && "$STAIR" amp $MODEL --load x8.npz --predict amp_new.npy --json >same.json || fail 'another seed'
$PYTHON -c '
import json
a, b = (json.load(open(f))["results"] for f in ("other.json", "same.json"))
assert a != b and a[0]["plugin"] == b[0]["plugin"]' || fail 'another seed shifts the lattice'
pass 'a loaded posterior predicts the same bytes'
$PYTHON - <<'END'
import numpy as np
good = dict(np.load("x8.npz"))
for name, part in dict(nan=dict(weights=good["weights"] * np.nan), cut=dict(cov=np.eye(2)), minus=dict(cov=-np.eye(1)), seedless={}).items():
    arrays = {**good, **part}
    if name == "seedless": del arrays["seed"]
    np.savez(f"bad_{name}.npz", **arrays)
END
refuse 'load: another model' 'posterior of another model' "$STAIR" amp attention:layers=1,prenoise=0.1 --load x8.npz --predict amp_new.npy
refuse 'load: a model of other indices' 'weights of attention:layers=2.* need shape .2, D., not .1, 30.' "$STAIR" amp attention:layers=2 --load x8.npz --predict amp_new.npy
refuse 'load: samples of another dimension' 'need shape .n, 2, 30.' "$STAIR" amp $MODEL --load x8.npz --predict amp_new_dim.npy
refuse 'load: nothing to predict' 'load goes with --predict' "$STAIR" amp $MODEL --load x8.npz
refuse 'load: an option of a fit' 'damping is for a fit' "$STAIR" amp $MODEL --load x8.npz --predict amp_new.npy --damping 0.1
refuse 'load: not a number' 'finite' "$STAIR" amp $MODEL --load bad_nan.npz --predict amp_new.npy
refuse 'load: shape of cov' 'cov of .* need shape .1, 1., not .2, 2.' "$STAIR" amp $MODEL --load bad_cut.npz --predict amp_new.npy
refuse 'load: no covariance' 'no covariance' "$STAIR" amp $MODEL --load bad_minus.npz --predict amp_new.npy
refuse 'load: no seed' "no array 'seed'" "$STAIR" amp $MODEL --load bad_seedless.npz --predict amp_new.npy
refuse 'load: no file' 'absent.npz: No such file' "$STAIR" amp $MODEL --load absent.npz --predict amp_new.npy

while IFS=$'\t' read -r file role pattern; do
    case $role in
    x) refuse "$file" "$pattern" "$STAIR" amp $MODEL --data $file amp_y.npy --out out.json ;;
    y) refuse "$file" "$pattern" "$STAIR" amp $MODEL --data amp_x.npy $file --out out.json ;;
    logits) refuse "$file" "$pattern" "$STAIR" amp $MODEL --data amp_x.npy $file --logits --out out.json ;;
    esac
    grep -q "$file" stderr || fail "$file is named" "$(cat stderr)"
done <table.tsv
mkdir directory.npy && refuse 'directory' 'is a directory' "$STAIR" amp $MODEL --data directory.npy amp_y.npy
mkfifo fifo.npy && refuse 'FIFO does not block' 'not a regular file' "$STAIR" amp $MODEL --data fifo.npy amp_y.npy
refuse 'missing file' 'absent.npy: No such file' "$STAIR" amp $MODEL --data absent.npy amp_y.npy
refuse 'one of two files' 'more values' "$STAIR" amp $MODEL --data amp_x.npy
refuse 'data and dimension' 'dim is for a synthetic teacher' "$STAIR" amp $MODEL --data amp_x.npy amp_y.npy --dim 30
refuse 'new samples of another dimension' 'need shape .n, 2, 30.' "$STAIR" amp $MODEL --data amp_x.npy amp_y.npy --predict amp_new_dim.npy
echo keep >keep.npz
refuse 'no overwrite of a posterior' 'exists; pass --force' "$STAIR" amp $MODEL --data amp_x.npy amp_y.npy --save keep.npz
refuse 'no overwrite of results' 'exists; pass --force' "$STAIR" amp $MODEL $small --out keep.npz
[ "$(cat keep.npz)" = keep ] || fail 'keep.npz was touched'
finish
