"""Message passing (GAMP) on instances: a synthetic teacher, or the user's own data."""
import inspect
import os

import numpy as np

from . import _arrays
from ._asymptotics import MODEL
from ._call import Call, text, warn
from ._errors import BadInput
from ._model import Model, model_of
from ._options import command, suggesting, table, unknown
from ._results import Record, Result, hidden, record
from ._stair import ffi, lib
from ._values import file_name, flag, one_of, whole

THEORIES = {"none": 0, "fixed": 1, "trajectory": 2}
SYNTHETIC = ("dim", "alpha", "seeds", "side", "start_overlap", "regenerate", "wide", "test_samples")
EXACT = 2**53  # seeds above are not kept by the program's reader of NPZ files


@record
class RunErrors(Record):
    """Errors on fresh data of the Bayes predictor and of the plug-in one, and errors of these; NaN without teacher."""

    bayes: float
    plugin: float
    bayes_error: float
    plugin_error: float


@record
class Theory(Record):
    """What state evolution says: overlap M with the teacher, and errors of prediction; NaN without theory."""

    Q: np.ndarray
    Q_error: np.ndarray
    bayes: float
    plugin: float


@record
class History(Record):
    """Iterations 0 .. count-1 of a run, as arrays: Q, M, V (count, P, P), cosine (count, P), the others (count)."""

    Q: np.ndarray
    M: np.ndarray
    V: np.ndarray
    cosine: np.ndarray
    bayes: np.ndarray
    plugin: np.ndarray
    bayes_error: np.ndarray
    plugin_error: np.ndarray
    change: np.ndarray
    damping: np.ndarray
    mismatch: np.ndarray
    channel_error: np.ndarray

    def __len__(self):
        return len(self.change)

    def rows(self):
        names = RunErrors.fields()
        own = ("change", "damping", "mismatch", "channel_error")
        return [
            {"iteration": i, **{k: getattr(self, k)[i].tolist() for k in ("Q", "M", "V", "cosine")},
             "errors": {k: float(getattr(self, k)[i]) for k in names},
             **{k: float(getattr(self, k)[i]) for k in own}}
            for i in range(len(self))
        ]

    def to_dict(self):
        return self.rows()

    def __repr__(self):
        return f"History({len(self)} iterations)"


@record
class Run(Record):
    """One run: overlaps Q = W W^T/D, M = W W*^T/D with the teacher, variance V, cosines, errors, where it ended;
    theory beside it, and its history.  weights (P, D) and cov (P, P) are the posterior of W."""

    alpha: float
    seed: int
    iterations: int
    stop: str
    Q: np.ndarray
    M: np.ndarray
    V: np.ndarray
    cosine: np.ndarray
    errors: RunErrors
    mismatch: float
    theory: Theory
    history: History
    weights: np.ndarray = hidden()
    cov: np.ndarray = hidden()

    def flat(self):
        short = {name: getattr(self, name) for name in self.shown() if name != "history"}
        from ._results import flat

        return [dict(pair for name, value in short.items() for pair in flat(name, value))]


def _run(c, p, d, theory):
    history = [c.history[i] for i in range(c.count)]
    columns = {
        name: np.array([getattr(h, name) for h in history])
        for name in ("bayes", "plugin", "bayes_error", "plugin_error", "change", "damping", "mismatch",
                     "channel_error")
    }
    way = History(_arrays.copied(c.q, c.count, p, p), _arrays.copied(c.m, c.count, p, p),
                  _arrays.copied(c.v, c.count, p, p), _arrays.copied(c.cosine, c.count, p), **columns)
    errors = RunErrors(*(float(columns[name][-1]) for name in RunErrors.fields()))
    return Run(c.alpha, c.seed, c.iterations, text(lib.stair_stop_name(c.stop)), way.Q[-1], way.M[-1], way.V[-1],
               way.cosine[-1], errors, float(columns["mismatch"][-1]), theory, way,
               weights=_arrays.copied(c.weights, p, d), cov=_arrays.copied(c.cov, p, p))


class Amp(Result):
    """Runs of message passing, and the posterior of the first: predict(X), save(file)."""

    row_type = Run
    _object = None

    @suggesting()
    def predict(self, X, *, full=False, threads=0, device=None, progress=None):
        """Posterior mean (n, K) of y at new X (n, M, D); with full=True (mean, standard deviation, plug-in)."""
        run = self[0]
        how = dict(threads=threads, device=device, progress=progress)
        return predict(self._object or Model(self.model), run.weights, run.cov, run.seed, X, full, how)

    @suggesting()
    def save(self, file, *, overwrite=False):
        """Keeps the posterior of the first run as NPZ; `stair amp --load` and stair.load() read it."""
        run = self[0]
        save(file, self.model, run.weights, run.cov, run.seed, overwrite)

    @staticmethod
    @suggesting()
    def load(file):
        """A posterior that save() kept."""
        return load(file)


class Posterior:
    """The posterior of W that save() kept: predict(X) gives the same bytes as after the fit."""

    def __init__(self, model, weights, cov, seed):
        self.model, self.weights, self.cov, self.seed = model, weights, cov, seed

    @suggesting()
    def predict(self, X, *, full=False, threads=0, device=None, progress=None):
        """Posterior mean (n, K) of y at new X (n, M, D); with full=True (mean, standard deviation, plug-in)."""
        how = dict(threads=threads, device=device, progress=progress)
        return predict(model_of(self.model), self.weights, self.cov, self.seed, X, full, how)

    @suggesting()
    def save(self, file, *, overwrite=False):
        save(file, self.model, self.weights, self.cov, self.seed, overwrite)

    def __repr__(self):
        return f"Posterior({self.model!r}, D = {self.weights.shape[1]})"


def save(file, model, weights, cov, seed, overwrite):
    file = file_name(file, "file")
    if not flag(overwrite, "overwrite") and os.path.lexists(file):
        raise BadInput(f"{file} exists; save(..., overwrite=True) replaces it")
    beside = f"{file}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as out:
            np.savez(out, weights=weights, cov=cov, seed=np.array([seed], np.uint64),
                     model=np.frombuffer(model.encode(), np.uint8))
        os.replace(beside, file)
    finally:
        if os.path.lexists(beside):
            os.unlink(beside)


@suggesting()
def load(file):
    """A posterior that Amp.save() or `stair amp --save` kept."""
    file = file_name(file, "file")
    try:
        with np.load(file, allow_pickle=False) as kept:
            parts = {name: kept[name] for name in ("weights", "cov", "seed", "model")}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise BadInput(f"{file}: no posterior of stair amp: {error}") from None
    except Exception as error:  # zipfile has exceptions of its own
        raise BadInput(f"{file}: no posterior of stair amp: {error}") from None
    try:
        model = Model(bytes(parts["model"].astype(np.uint8)).decode())
    except UnicodeDecodeError:
        raise BadInput(f"{file}: its model is no text") from None
    p = model.indices
    weights = _arrays.numbers(parts["weights"], f"{file}: weights", (p, None))
    cov = _arrays.numbers(parts["cov"], f"{file}: cov", (p, p))
    if parts["seed"].shape != (1,):
        raise BadInput(f"{file}: seed needs shape (1)")
    return Posterior(model.spec, weights, cov, int(parts["seed"][0]))


def samples(model, X, dim=None):
    """X as stair_gamp_data: float32 stays float32, what is mapped stays mapped."""
    m = model.tokens
    d = dim if dim is not None else None
    x = _arrays.numbers(X, "X", (None, m, d), *([(None, d)] if m == 1 else []), single=True)
    if x.shape[-1] < 1:
        raise BadInput("X has no columns")
    data = ffi.new("stair_gamp_data *", {
        "x": _arrays.pointer(x, "void"), "single": x.dtype == np.float32, "dim": x.shape[-1], "samples": len(x)})
    return data, x


def predict(model, weights, cov, seed, X, full, how):
    p, k, full = model.indices, model.outputs, flag(full, "full")
    weights, cov = _arrays.numbers(weights, "weights", (p, None)), _arrays.numbers(cov, "cov", (p, p))
    data, x = samples(model, X, weights.shape[1])
    mean, deviation, plugin = (np.empty((len(x), k)) for _ in range(3))
    with Call("predict", **how) as call:
        box = ffi.new("stair_gamp_result **")
        call(lib.stair_gamp_result_from, model._enter(call), weights.shape[1], _arrays.pointer(weights),
             _arrays.pointer(cov), seed, box)
        try:
            call(lib.stair_gamp_predict, model._model, box[0].run, data,
                 *map(_arrays.pointer, (mean, deviation, plugin)))
        finally:
            lib.stair_gamp_result_destroy(box)
    return (mean, deviation, plugin) if full else mean


def _expect(call, model, how, kind, points):
    box = ffi.new("stair_gamp_expectation **")
    call(lib.stair_gamp_expect, model._model, how, kind, points, box)
    return box


def _rows(call, model, how, result, kind, points):
    """Rows of a result, beside theory."""
    box = _expect(call, model, how, kind, points)
    p = model.indices
    try:
        e = box[0]
        theory = Theory(_arrays.copied(lib.stair_gamp_expected_q(e, e.count), p, p),
                        _arrays.copied(lib.stair_gamp_expected_q_error(e, e.count), p, p),
                        e.errors.bayes, e.errors.plugin)
        return [_run(result.run[i], p, result.dim, theory) for i in range(result.runs)]
    finally:
        lib.stair_gamp_expectation_destroy(box)


def _synthetic(call, options, model, alpha, kind, samples_):
    how, rows = options["gamp"], []
    list_ = _arrays.alphas(how.alpha if alpha is None else alpha)
    points = ffi.new("stair_gamp_theory_options *", lib.stair_gamp_theory_defaults())
    points.points = samples_ // points.replicates
    if how.checkpoint != ffi.NULL and len(list_) > 1:
        raise BadInput("checkpoint goes with one alpha")
    for i, a in enumerate(list_):
        how.alpha = a
        call(lib.stair_gamp_check, how)
        box = ffi.new("stair_gamp_result **")
        call.stage(i, 0.9, len(list_))
        call(lib.stair_gamp, model._enter(call), how, box)
        try:
            call.stage(i + 0.9, 0, len(list_))
            rows += _rows(call, model, how, box[0], kind, points)
        finally:
            lib.stair_gamp_result_destroy(box)
    return rows


def _fit(call, options, model, X, y, logits):
    how = options["gamp"]
    data, x = samples(model, X)
    if logits:
        m, k = model.tokens, model.outputs
        labels = _arrays.numbers(y, "y", (None, k), *([(None, m, m)] if k == m * m else [])).reshape(-1, k)
    else:
        labels = model.carried(y)
    if len(labels) != len(x):
        raise BadInput(f"X has {len(x)} samples and y has {len(labels)}")
    data.labels = _arrays.pointer(labels)
    box = ffi.new("stair_gamp_result **")
    call(lib.stair_gamp_fit, model._enter(call), how, data, box)
    try:
        return _rows(call, model, how, box[0], 0, ffi.NULL)
    finally:
        lib.stair_gamp_result_destroy(box)


@command(
    "gamp",
    own={"model": MODEL, "X": "samples (n, M, D), float32 or float64; None: a synthetic teacher",
         "y": "outputs (n, K) or (n, M, M)", "alpha": "synthetic: samples per dimension, a number or a list",
         "logits": "y holds row log-softmax, not plain outputs",
         "theory": "synthetic: state evolution beside, none, fixed or trajectory",
         "samples": "samples behind a trajectory of state evolution"},
)
def amp(call, options, model: "str | Model", X: "ArrayLike | None" = None, y: "ArrayLike | None" = None, *,
        alpha: "float | Sequence[float] | None" = None, logits: bool = False, theory: str = "fixed",
        samples: int = 8192) -> Amp:
    """Message passing (GAMP) on a synthetic teacher beside state evolution, or on your data.

    amp(model, dim=1000, alpha=1.2, seeds=4) draws teachers: a row for each run.  amp(model, X, y) infers the weights
    from your samples; predict(X) of the result gives posterior means, save(file) keeps the posterior.  X of float32
    or float64 in C order is used where it is, mapped files too."""
    model = model_of(model)
    kind = THEORIES[one_of(theory, "theory", tuple(THEORIES))]
    logits, samples = flag(logits, "logits"), whole(samples, "samples")
    if not 128 <= samples <= 1 << 28:
        raise BadInput(f"samples must be between 128 and 2^28, not {samples}")
    if (X is None) != (y is None):
        raise BadInput("amp() needs both X and y, or neither for a synthetic teacher")
    if X is not None:
        for key in SYNTHETIC:
            if key in options.given or (key == "alpha" and alpha is not None):
                raise BadInput(f"{key} is for a synthetic teacher, and X gives the samples")
        rows = _fit(call, options, model, X, y, logits)
    else:
        if logits:
            raise BadInput("logits goes with X and y")
        kind = lib.stair_gamp_theory_kind(options["gamp"], kind)
        rows = _synthetic(call, options, model, alpha, kind, samples)
    message = _verdict(rows, options["gamp"], kind)
    if message:
        warn(message)
    result = Amp(rows, "amp", model.spec, {**options.values, "theory": theory}, message)
    result._object = model
    return result


@record
class Need(Record):
    """What runs take: bytes of X where it is stored, of memory and of a card, what is free of both, and seconds
    before each run, of an iteration, and of all runs where each takes max_iterations."""

    alpha: float
    samples: int
    x_bytes: float
    bytes: float
    free: float
    card_bytes: float
    card_free: float
    draw_seconds: float
    iteration_seconds: float
    seconds: float


class Needs(Result):
    """A row for each alpha."""

    row_type = Need


@command("gamp", own={"model": MODEL, "alpha": "samples per dimension, a number or a list"})
def amp_need(call, options, model: "str | Model", *, alpha: "float | Sequence[float] | None" = None) -> Needs:
    """What amp() with these keywords takes: bytes, and seconds by a small run; nothing else is computed."""
    model, how, rows = model_of(model), options["gamp"], []
    need = ffi.new("stair_gamp_need *")
    for a in _arrays.alphas(how.alpha if alpha is None else alpha):
        how.alpha = a
        call(lib.stair_gamp_needs, model._enter(call), how, ffi.NULL, need)
        rows.append(Need(a, need.samples, need.x_bytes, need.bytes, need.room, need.device_bytes, need.device_room,
                         need.draw, need.iteration, need.seconds))
    return Needs(rows, "amp", model.spec, options.values, None)


def _verdict(rows, how, kind):
    bad = sum(row.stop == "diverged" for row in rows)
    cut = sum(row.stop == "iterations" for row in rows)
    if bad:
        return f"{bad} of {len(rows)} runs diverged; damping may help"
    if cut and kind != THEORIES["trajectory"]:
        return f"{cut} of {len(rows)} runs had not converged after {how.max_iterations} iterations; " \
               "raise max_iterations"
    return ""


FITTING = {key: option for key, option in table("gamp").options.items() if key not in SYNTHETIC}


class GAMP:
    """Message passing as an estimator in the style of scikit-learn.

    >>> estimator = stair.GAMP("attention:layers=2").fit(X, y)
    >>> estimator.predict(X_new)

    weights_ (P, D) and cov_ (P, P) are the posterior of W, result_ the run."""

    def __init__(self, model, **options):
        for key in options:
            if key not in FITTING:
                raise unknown("GAMP", key, FITTING)
        self.model, self.options = model, options

    __init__.__signature__ = inspect.Signature([
        *list(inspect.signature(__init__).parameters.values())[:2],
        *(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=o.default, annotation=o.type)
          for key, o in FITTING.items())])

    def get_params(self, deep=True):
        return {"model": self.model, **self.options}

    def set_params(self, **params):
        model = params.pop("model", self.model)
        self.__init__(model, **{**self.options, **params})
        return self

    @suggesting()
    def fit(self, X, y, *, logits=False, threads=0, device=None, progress=None):
        """Infers the weights from X (n, M, D) and y (n, K); with logits=True y holds row log-softmax."""
        self.result_ = amp(self.model, X, y, logits=logits, threads=threads, device=device, progress=progress,
                           **self.options)
        self.weights_, self.cov_ = self.result_[0].weights, self.result_[0].cov
        self.n_iter_ = self.result_[0].iterations
        return self

    def _fitted(self):
        if not hasattr(self, "result_"):
            raise BadInput("this GAMP is not fitted yet: call fit(X, y)")
        return self.result_

    @suggesting()
    def predict(self, X, return_std=False):
        """Posterior mean (n, K), with return_std=True also the posterior standard deviation."""
        return_std = flag(return_std, "return_std")
        mean, deviation, _ = self._fitted().predict(X, full=True)
        return (mean, deviation) if return_std else mean

    @suggesting()
    def score(self, X, y):
        """Coefficient of determination of the prediction, averaged over outputs."""
        mean = self.predict(X)
        n, k = mean.shape
        y = _arrays.numbers(y, "y", (n, k), *([(n,)] if k == 1 else [])).reshape(n, k)
        spread = ((y - y.mean(axis=0)) ** 2).sum(axis=0)
        return float(np.mean(1 - ((y - mean) ** 2).sum(axis=0) / np.where(spread > 0, spread, 1)))

    @suggesting()
    def save(self, file, *, overwrite=False):
        self._fitted().save(file, overwrite=overwrite)

    load = Amp.load

    def __repr__(self):
        inner = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"GAMP({self.model!r}{inner})"
