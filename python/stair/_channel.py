"""The channel: posterior moments of Z given its label; and the identities that it has to satisfy."""
import functools

import numpy as np

from . import _arrays
from ._asymptotics import MODEL
from ._call import text, warn
from ._errors import BadInput, Status
from ._model import model_of
from ._options import command
from ._results import Record, Result, cell, flat, frame, record
from ._stair import ffi, lib
from ._values import whole

MOST_IDENTITIES = 64
DRAWN = 8192  # points drawn at a time


@record
class Moments(Record):
    """Posterior moments of n samples: logz (n), g (n, P, M), dg (n, PM, PM; index p*M + m), their error (n), the nodes
    spent (n) and the method (n); and the points themselves, labels as the model carries them."""

    logz: np.ndarray
    g: np.ndarray
    dg: np.ndarray
    error: np.ndarray
    nodes: np.ndarray
    code: np.ndarray
    labels: np.ndarray
    omega: np.ndarray
    cov: np.ndarray
    converged: bool
    message: str

    @classmethod
    def shown(cls):
        return ["method" if name == "code" else name for name in super().shown()]

    def __len__(self):
        return len(self.logz)

    @functools.cached_property
    def method(self):
        """The rule that served each sample, by name; made when it is asked for, from its number `code`."""
        return np.array(_method_names(), dtype=object)[self.code]

    def rows(self):
        return [
            {"sample": i, "logz": float(self.logz[i]), "g": self.g[i].tolist(), "dg": self.dg[i].tolist(),
             "error": float(self.error[i]), "nodes": int(self.nodes[i]), "method": self.method[i]}
            for i in range(len(self))
        ]

    def to_dataframe(self):
        """A row for each sample, g and dg as columns g11, dg11, ..."""

        def row(i):
            out = {"sample": i, "logz": self.logz[i]}
            for name in ("g", "dg"):
                out.update(flat(name, getattr(self, name)[i]))
            return {**out, "error": self.error[i], "nodes": self.nodes[i], "method": self.method[i]}

        return frame([row(i) for i in range(len(self))])

    def plot(self, ax=None, **style):
        """How often which log Z; returns the axes."""
        from . import _plot

        return _plot.draw(self, ax, style)

    def __repr__(self):
        worst = self.error.max() if len(self) else 0.0
        return f"Moments({len(self)} samples, g {self.g.shape}, dg {self.dg.shape}, worst error {worst:.2g})"

    def _repr_html_(self):
        norm = [(i, self.logz[i], np.linalg.norm(self.g[i]), np.linalg.norm(self.dg[i]), self.error[i],
                 self.method[i]) for i in range(min(20, len(self)))]
        body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in norm)
        head = "".join(f"<th>{h}</th>" for h in ("sample", "log Z", "|g|", "|dg|", "error", "method"))
        return f"<table><caption>{self!r}</caption><tr>{head}</tr>{body}</table>"


def _method_names():
    names = []
    while lib.stair_channel_method_name(len(names)) != ffi.NULL:
        names.append(text(lib.stair_channel_method_name(len(names))))
    return names


def _given(model, y, logits, omega, cov):
    """Labels, omega and cov of the caller's."""
    p, m, k = model.indices, model.tokens, model.outputs
    if (y is None) == (logits is None) or omega is None or cov is None:
        raise BadInput("channel() needs all of y (or logits), omega and cov, or none of them for random points")
    if logits is not None and not model.label_is_log:
        raise BadInput(f"{model.spec} carries plain outputs: give y")
    if y is not None:
        labels = model.carried(y)
    else:
        labels = _arrays.numbers(logits, "logits", (None, k), *([(None, m, m)] if k == m * m else []))
    n = len(labels)
    omega = _arrays.numbers(omega, "omega", (n, p, m), *([(n, p)] if m == 1 else []))
    cov = _arrays.numbers(cov, "cov", (p, p), (n, p, p))
    return labels.reshape(n, k), omega.reshape(n, p, m), cov


def _random(call, model, options, points):
    p, m, k = model.indices, model.tokens, model.outputs
    z, labels, omega = np.empty((points, p, m)), np.empty((points, k)), np.empty((points, p, m))
    one = options["points"].one_cov
    cov = np.empty((p, p) if one else (points, p, p))
    for first in range(0, points, DRAWN):  # the library draws without asking whether to go on
        part = slice(first, first + DRAWN)
        call(lib.stair_points_draw, model._enter(call), options["points"], first, len(z[part]),
             *map(_arrays.pointer, (z[part], labels[part], omega[part], cov if one else cov[part])))
    return labels, omega, cov


@command(
    "channel", "points", without=["noise"],
    own={"model": MODEL, "y": "labels as plain outputs, (n, K) or (n, M, M)",
         "omega": "prior means (n, P, M)", "cov": "prior covariances (P, P) or (n, P, P)",
         "logits": "in place of y: labels as row log-softmax, (n, M, M)",
         "points": "random points where none are given"},
)
def channel(call, options, model: "str | Model", y: "ArrayLike | None" = None, omega: "ArrayLike | None" = None,
            cov: "ArrayLike | None" = None, *, logits: "ArrayLike | None" = None, points: int = 16) -> Moments:
    """Posterior moments of Z given its label, log Z, g and dg, each with its error: at given points or random ones.

    Arrays of float64 in C order are used where they are, without a copy."""
    model = model_of(model)
    how = options["channel"]
    call(lib.stair_channel_check, how)
    points = whole(points, "points")
    if points < 1:
        raise BadInput(f"points must be at least 1, not {points}")
    if y is None and logits is None and omega is None and cov is None:
        call(lib.stair_points_check, options["points"])
        labels, omega, cov = _random(call, model, options, points)
    else:
        labels, omega, cov = _given(model, y, logits, omega, cov)
    n, p, m = omega.shape
    out = {"logz": np.empty(n), "g": np.empty((n, p, m)), "dg": np.empty((n, p * m, p * m)), "error": np.empty(n),
           "nodes": np.empty(n, np.int64), "code": np.empty(n, np.intc)}
    kinds = {"nodes": "int64_t", "code": "int"}
    result = ffi.new("stair_channel_result *", {"method" if key == "code" else key:
                                                _arrays.pointer(a, kinds.get(key, "double")) for key, a in out.items()})
    call(lib.stair_channel_evaluate, model._enter(call), how, 0, n, _arrays.pointer(labels), _arrays.pointer(omega),
         1 if cov.ndim == 2 else n, _arrays.pointer(cov), result, allow=[Status.NOT_CONVERGED])
    message = ""
    if n and not out["error"].max() <= how.precision:  # NaN, too
        bad = ~(out["error"] <= how.precision)
        worst = int(np.argmax(np.where(np.isnan(out["error"]), np.inf, out["error"])))
        message = (f"{int(bad.sum())} of {n} samples miss precision {how.precision:g}, worst sample {worst} with error "
                   f"{out['error'][worst]:.2g}; raise max_nodes or relax precision")
        warn(message)
    return Moments(**out, labels=labels, omega=omega, cov=cov, converged=not message, message=message)


# ---- diagnose ------------------------------------------------------------------------------------------


@record
class Identity(Record):
    """One identity: its worst violation over random points, and what the errors reported allow."""

    identity: str
    violation: float
    tolerance: float
    points: int
    resolved: int
    verdict: str
    passed: bool


class Diagnosis(Result):
    """passed: whether every identity holds."""

    row_type = Identity

    @property
    def ok(self):
        return all(row.passed for row in self)


@command("diagnose", own={"model": MODEL})
def diagnose(call, options, model: "str | Model") -> Diagnosis:
    """The identities that the posterior moments of a model must satisfy, checked at random points."""
    model = model_of(model)
    rows, count = ffi.new("stair_identity[]", MOST_IDENTITIES), ffi.new("int *")
    call(lib.stair_diagnose_check, options["diagnose"])
    call(lib.stair_diagnose, model._enter(call), options["diagnose"], MOST_IDENTITIES, rows, count)
    found = [
        Identity(text(c.name), c.violation, c.tolerance, c.points, c.resolved,
                 text(lib.stair_verdict_name(c.verdict)), c.verdict == lib.STAIR_HOLDS)
        for c in (rows[i] for i in range(count[0]))
    ]
    unclear = sum(row.verdict == text(lib.stair_verdict_name(lib.STAIR_NOT_RESOLVED)) for row in found)
    message = f"{unclear} of the identities of {model.spec} are not resolved" if unclear else ""
    return Diagnosis(found, "diagnose", model.spec, options.values, message)
