#!/usr/bin/env bash
# stair amp --save and --load: what is in the file, the same predictions from it, and files that are refused.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_numpy
"$STAIR" amp square --dim 30 --alpha 3 --seed 0 --save p.npz --theory none --out run.csv >/dev/null || fail '--save'
$PYTHON - <<'PY' || fail 'what is saved'
import numpy as np
z = dict(np.load("p.npz"))
assert sorted(z) == ["cov", "model", "seed", "weights"], sorted(z)
assert z["weights"].shape == (1, 30) and z["weights"].dtype == "<f8" and z["cov"].shape == (1, 1)
assert z["seed"].dtype == "<u8" and list(z["seed"]) == [0] and bytes(z["model"]) == b"square:tokens=1,noise=0,prenoise=0"
x = np.random.default_rng(1).normal(size=(5, 1, 30))
np.save("x.npy", x)
np.save("flat.npy", x[:, 0])
def change(name, **what):
    np.savez(name, **{**z, **what})
change("wide.npz", cov=np.array([[0.25]]))
change("cov.npz", cov=np.eye(2))
change("row.npz", cov=np.ones(1))
change("seed.npz", seed=np.array([0.5]))
change("minus.npz", seed=np.array([-1.0]))
change("two.npz", weights=np.zeros((2, 30)))
change("model.npz", model=np.frombuffer(b"square:tokens=1,noise=0,prenoise=1", np.uint8))
change("short.npz", model=z["model"][:-1])
np.savez("lacks.npz", **{k: z[k] for k in z if k != "cov"})
PY
pass 'what is saved'
for from in p wide; do
    "$STAIR" amp square --load $from.npz --predict x.npy --csv >$from.csv || fail "--load $from.npz"
    "$STAIR" amp square --load $from.npz --predict flat.npy --csv >flat.csv && cmp -s $from.csv flat.csv || fail 'one token, two axes'
    $PYTHON - $from <<'PY' || fail "predictions from $from.npz" "$(cat $from.csv)"
import sys
import numpy as np
z, x = np.load(sys.argv[1] + ".npz"), np.load("x.npy")[:, 0]
rows = np.genfromtxt(sys.argv[1] + ".csv", delimiter=",", names=True)
omega, c = x @ z["weights"][0] / np.sqrt(30), z["cov"][0, 0]
assert list(rows["sample"]) == [0, 1, 2, 3, 4]
assert np.allclose(rows["plugin1"], omega ** 2, rtol=1e-12, atol=0)
spread = np.sqrt(4 * omega ** 2 * c + 2 * c * c)  # of z^2 for z = omega + sqrt(c) n
assert np.allclose(rows["deviation1"], spread, rtol=0.05) and np.all(abs(rows["mean1"] - omega ** 2 - c) < 0.05 * spread)
PY
    pass "predictions from $from.npz"
done
# A fit of given data is saved as well: three times as many samples as dimensions tell z^2 exactly, but for its sign.
$PYTHON - <<'PY'
import numpy as np
rng = np.random.default_rng(2)
x, w = rng.normal(size=(90, 1, 30)), rng.normal(size=30)
np.save("dx.npy", x)
np.save("dy.npy", (x[:, :, :] @ w) ** 2 / 30)
np.save("w.npy", w)
PY
"$STAIR" amp square --data dx.npy dy.npy --save fit.npz --max-iterations 200 --quiet >/dev/null || fail '--data and --save'
$PYTHON -c '
import numpy as np
a, b = np.load("fit.npz")["weights"][0], np.load("w.npy")
assert abs(a @ b) > 0.999 * np.sqrt((a @ a) * (b @ b)), a @ b' || fail 'a fit is saved'
pass 'a fit is saved'
refuse 'cov of another shape' 'cov of .* need shape \(1, 1\), not \(2, 2\)' "$STAIR" amp square --load cov.npz --predict x.npy
refuse 'cov with one axis' 'cov of .* need shape \(1, 1\), not \(1,?\)' "$STAIR" amp square --load row.npz --predict x.npy
refuse 'weights of more indices' 'weights of .* need shape \(1, D\), not \(2, 30\)' "$STAIR" amp square --load two.npz --predict x.npy
refuse 'a seed that is none' 'its seed' "$STAIR" amp square --load seed.npz --predict x.npy
refuse 'a seed below zero' 'its seed' "$STAIR" amp square --load minus.npz --predict x.npy
expect 'but one that is given serves' 0 '^sample' "$STAIR" amp square --load seed.npz --predict x.npy --seed 3 --csv
refuse 'another model' 'is the posterior of another model, square:tokens=1,noise=0,prenoise=1' "$STAIR" amp square --load model.npz --predict x.npy
refuse 'a model cut short' 'another model' "$STAIR" amp square --load short.npz --predict x.npy
refuse 'an array that lacks' 'cov' "$STAIR" amp square --load lacks.npz --predict x.npy
refuse 'one posterior' '--save keeps one posterior' "$STAIR" amp square --dim 30 --alpha 3 --seeds 2 --save s.npz
finish
