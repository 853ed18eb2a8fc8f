"""Large D: thresholds, state evolution, entropies, errors of prediction."""
import math

import numpy as np

from . import _arrays
from ._call import text, warn
from ._errors import BadInput, Status
from ._model import model_of
from ._options import command
from ._results import Record, Result, record
from ._stair import ffi, lib
from ._values import one_of, whole

MOST_STEPS = 64  # of one staircase: more than indices there are
MODEL = "a MODEL string, or a Model"
ALPHA = "samples per dimension, N = alpha D: a number, or a list"


@record
class Errors(Record):
    """Errors of prediction on fresh data, and the errors of these numbers: of the Bayes predictor, of the plug-in one
    (label of the mean), of Gibbs (twice Bayes), and of the weights, 1 - |Q|^2/P."""

    bayes: float
    plugin: float
    gibbs: float
    weights: float
    bayes_error: float
    plugin_error: float
    gibbs_error: float
    weights_error: float


def errors_of(c):
    return Errors(*(getattr(c, name) for name in Errors.fields()))


# ---- threshold -----------------------------------------------------------------------------------------


@record
class Step(Record):
    """One step of the staircase: at alpha +- error, `learns` (layers, or indices; from 1) begin to be learned
    ("weak"), everything is known ("perfect"), or the overlap jumps though nothing is unstable ("spinodal").
    overlap: the diagonal of Q there; direction: that of the leading
    eigenvector; jump: the overlap jumps."""

    kind: str
    alpha: float
    error: float
    learns: list
    jump: bool
    eigenvalue: float
    eigenvalue_error: float
    overlap: np.ndarray
    overlap_error: np.ndarray
    direction: np.ndarray


class Staircase(Result):
    row_type = Step


def _step(c, p):
    weak = c.kind == lib.STAIR_STEP_WEAK
    return Step(
        kind=text(lib.stair_step_kind_name(c.kind)),
        alpha=c.alpha,
        error=c.error,
        learns=[c.learns[i] for i in range(c.learn_count)],
        jump=bool(c.jump),
        eigenvalue=c.eigenvalue if weak else math.nan,
        eigenvalue_error=c.eigenvalue_error if weak else math.nan,
        overlap=_arrays.copied(c.overlap, p),
        overlap_error=_arrays.copied(c.overlap_error, p),
        direction=_arrays.copied(c.direction, p),
    )


@command("asymptotics", without=["side"], own={"model": MODEL, "steps": "stop after so many weak steps, 0 for all"})
def threshold(call, options, model: "str | Model", *, steps: int = 0) -> Staircase:
    """The staircase of a model: every step, what it learns, and perfect recovery.

    >>> stair.threshold("attention:layers=2", steps=1)[0].alpha
    """
    model, steps = model_of(model), whole(steps, "steps")
    if not 0 <= steps <= 1000:
        raise BadInput(f"steps must be between 0 and 1000, not {steps}")
    rows, count = ffi.new("stair_step[]", MOST_STEPS), ffi.new("int *")
    call.stage(0, 0, 0)
    status = call(
        lib.stair_threshold, model._enter(call), options["asymptotics"], steps, MOST_STEPS, rows, count,
        allow=[Status.NOT_CONVERGED],
    )
    message = call.message if status else ""
    if message:
        warn(message)
    found = [_step(rows[i], model.indices) for i in range(count[0])]
    return Staircase(found, "threshold", model.spec, {"steps": steps, **options.values}, message)


# ---- evolve --------------------------------------------------------------------------------------------


@record
class Point(Record):
    """A fixed point of state evolution: overlap Q (P, P) with its error, and errors of prediction there."""

    alpha: float
    start: str
    Q: np.ndarray
    Q_error: np.ndarray
    iterations: int
    residual: float
    stop: str
    errors: Errors


class Evolution(Result):
    row_type = Point


STARTS = {"uninformed": 1, "informed": 2, "both": 3}


@command("asymptotics", own={"model": MODEL, "alpha": ALPHA, "start": "both, uninformed or informed"})
def evolve(call, options, model: "str | Model", alpha: "float | Sequence[float]", *,
           start: str = "both") -> Evolution:
    """State evolution over alpha: overlaps and errors of prediction, from no knowledge and from full knowledge.

    >>> stair.evolve("attention:layers=2", [0.2, 0.4, 0.6])
    """
    model, list_ = model_of(model), _arrays.alphas(alpha)
    starts = STARTS[one_of(start, "start", ("both", "uninformed", "informed"))]
    box, p = ffi.new("stair_sweep **"), model.indices
    how = options["asymptotics"]
    call(lib.stair_sweep_create, model._enter(call), how, starts, len(list_), _arrays.pointer(list_), box)
    sweep = ffi.gc(box[0], lambda s: lib.stair_sweep_destroy(ffi.new("stair_sweep **", s)))
    rows, bad, rough, worst = [], 0, 0, 0.0
    point = ffi.new("stair_sweep_point *")
    count = lib.stair_sweep_points(sweep)
    for r in range(count):
        q, q_error = np.empty((p, p)), np.empty((p, p))
        point.q, point.q_error = _arrays.pointer(q), _arrays.pointer(q_error)
        call.stage(r, 0, count)
        call.judge(lib.stair_sweep_next(sweep, point))
        bad += point.stop == lib.STAIR_STOP_ITERATIONS
        rough += point.worst > how.precision
        worst = max(worst, point.worst)
        rows.append(
            Point(point.alpha, "informed" if point.informed else "uninformed", q, q_error, point.iterations,
                  point.residual, text(lib.stair_stop_name(point.stop)), errors_of(point.errors))
        )
    message = ""
    if bad:
        message = f"{bad} points did not converge; raise max_iterations"
    elif rough:
        message = (
            f"{rough} of {count} points have overlaps with errors above precision {how.precision:g}, "
            f"the worst {worst:.2g}; " + ("raise samples" if how.points else "set samples, or a larger precision")
        )
    if message:
        warn(message)
    return Evolution(rows, "evolve", model.spec, {"start": start, **options.values}, message)


# ---- entropy -------------------------------------------------------------------------------------------


@record
class Phase(Record):
    """Free entropy S - S(0) at the fixed points from four starts (no knowledge, full knowledge, overlaps 0.3 and 0.7),
    the overlap where it is largest (bayes_Q), that of message passing (amp_Q), and whether they differ (hard)."""

    alpha: float
    bayes_Q: np.ndarray
    bayes_Q_error: np.ndarray
    amp_Q: np.ndarray
    amp_Q_error: np.ndarray
    bayes_entropy: float
    bayes_entropy_error: float
    entropy: np.ndarray
    entropy_error: np.ndarray
    hard: bool
    information_threshold: np.ndarray
    algorithmic_threshold: np.ndarray


class Phases(Result):
    row_type = Phase


@command("asymptotics", own={"model": MODEL, "alpha": ALPHA})
def entropy(call, options, model: "str | Model", alpha: "float | Sequence[float]") -> Phases:
    """Free entropy over alpha: the Bayes-optimal overlap, that of message passing, and hard phases.

    information_threshold and algorithmic_threshold are the two alphas of the list between which something can first
    be known, and first be found by message passing."""
    model, list_ = model_of(model), _arrays.alphas(alpha)
    p, n, how = model.indices, len(list_), options["asymptotics"]
    phases, overlaps = ffi.new("stair_phase[]", n), np.zeros((n, 4, p, p))
    rough = 0
    for i in range(n):
        for k, name in enumerate(("bayes_q", "bayes_q_error", "amp_q", "amp_q_error")):
            setattr(phases[i], name, _arrays.pointer(overlaps[i, k]))
        call.stage(i, 0, n)
        call(lib.stair_phase_at, model._enter(call), how, list_[i], phases + i)
        rough += lib.stair_phase_worst(p, phases + i) > how.precision
    information, algorithm = np.empty(2), np.empty(2)
    lib.stair_phase_thresholds(p, n, phases, _arrays.pointer(information), _arrays.pointer(algorithm))
    rows = [
        Phase(c.alpha, *overlaps[i], c.entropy[c.best], c.entropy_error[c.best],
              _arrays.copied(c.entropy, 4), _arrays.copied(c.entropy_error, 4), bool(c.hard), information, algorithm)
        for i, c in ((i, phases[i]) for i in range(n))
    ]
    message = ""
    if rough:
        message = f"{rough} points have errors above precision {how.precision:g}; " + (
            "raise samples" if how.points else "set samples, or a larger precision")
        warn(message)
    return Phases(rows, "entropy", model.spec, options.values, message)


# ---- hard phases ---------------------------------------------------------------------------------------

MOST_PHASES = 16  # of one model: each ends with a step of its staircase


@record
class HardPhase(Record):
    """Between alpha = information, from where on more can be known, and alpha = algorithmic, where message passing
    finds it, infinite if never, by a step of the staircase of this kind."""

    information: float
    information_error: float
    algorithmic: float
    algorithmic_error: float
    kind: str


class HardPhases(Result):
    row_type = HardPhase


@command("asymptotics", own={"model": MODEL})
def hard_phases(call, options, model: "str | Model") -> HardPhases:
    """The hard phases of a model, found from its staircase: between which alphas learning is possible, but not found.

    >>> stair.hard_phases("square")[0].information
    """
    model = model_of(model)
    rows, count = ffi.new("stair_hard_phase[]", MOST_PHASES), ffi.new("int *")
    call.stage(0, 0, 0)
    status = call(lib.stair_hard_phases, model._enter(call), options["asymptotics"], MOST_PHASES, rows, count,
                  allow=[Status.NOT_CONVERGED])
    message = call.message if status else ""
    if message:
        warn(message)
    found = [
        HardPhase(c.information, c.information_error, c.algorithmic, c.algorithmic_error,
                  text(lib.stair_step_kind_name(c.kind)))
        for c in (rows[i] for i in range(count[0]))
    ]
    return HardPhases(found, "entropy", model.spec, options.values, message)


# ---- errors --------------------------------------------------------------------------------------------


def _overlap(value, p):
    """Symmetric, with eigenvalues between 0 and 1; the library takes that for granted."""
    q = _arrays.symmetric(value, "Q", p)
    if not np.allclose(q, q.T, rtol=0, atol=1e-12):
        raise BadInput("Q is not symmetric")
    for eigenvalue in np.linalg.eigvalsh(q):
        if not -1e-9 <= eigenvalue <= 1 + 1e-9:
            raise BadInput(f"Q has an eigenvalue of {eigenvalue:g}: overlaps are between 0 and 1")
    return q


@command("asymptotics", own={"model": MODEL, "Q": "overlap (P, P); a list is a diagonal, a number will do for P = 1",
                             "Q_error": "what Q is uncertain by, (P, P), or None"})
def errors(call, options, model: "str | Model", Q: "ArrayLike", Q_error: "ArrayLike | None" = None) -> Errors:
    """Errors of prediction of estimators that have overlap Q with the teacher."""
    model = model_of(model)
    q = _overlap(Q, model.indices)
    q_error = None if Q_error is None else _arrays.symmetric(Q_error, "Q_error", model.indices)
    if q_error is not None and (q_error < 0).any():
        raise BadInput("Q_error has to be at least 0")
    found = ffi.new("stair_errors *")
    call(lib.stair_errors_at, model._enter(call), options["asymptotics"], _arrays.pointer(q),
         ffi.NULL if q_error is None else _arrays.pointer(q_error), found)
    return errors_of(found)
