"""Models: a MODEL string, or a link written in Python."""
import numpy as np

from . import _arrays
from ._call import BadInput, Call, _innermost, text, whole
from ._results import Record, Result, record
from ._stair import ffi, lib


@record
class ModelInfo(Record):
    """A model of the library."""

    name: str
    formula: str
    summary: str
    example: str
    keys: dict

    def to_dict(self):
        return {name: getattr(self, name) for name in ("name", "formula", "summary", "example")}

    def flat(self):
        return [self.to_dict()]


class Models(Result):
    row_type = ModelInfo


def _keys(number):
    keys, at = {}, lib.stair_model_keys(number, 0)
    while at != ffi.NULL:
        keys[text(at.key)] = (text(at.value), text(at.text))
        at = lib.stair_model_keys(number, len(keys))
    return keys


def models():
    """The models there are: name, formula, summary, an example, and keys with (default, meaning)."""
    rows = []
    while lib.stair_model_name(len(rows)) != ffi.NULL:
        i = len(rows)
        facts = (lib.stair_model_name, lib.stair_model_formula, lib.stair_model_summary, lib.stair_model_example)
        rows.append(ModelInfo(*(text(fact(i)) for fact in facts), _keys(i)))
    return Models(rows, "models", None, {})


class _Link:
    """A function of Python behind stair_link."""

    def __init__(self, function, tokens, indices, outputs):
        self.function, self.error = function, None
        self.shape = (indices,) if tokens == 1 else (indices, tokens)
        self.size, self.outputs = 8 * indices * tokens, outputs

    def evaluate(self, z):
        y = np.asarray(self.function(z), dtype=np.float64).reshape(-1)
        if self.outputs is not None and len(y) != self.outputs:
            raise BadInput(f"the link gave {len(y)} outputs, and {self.outputs} before")
        return y


def _link_failed(kind, error, traceback):
    call = getattr(_innermost, "call", None)
    if call is not None:
        call.stop(error)


@ffi.def_extern(onerror=_link_failed)
def pystair_link(user, z, y):
    link = ffi.from_handle(user)
    try:
        point = np.frombuffer(ffi.buffer(z, link.size)).reshape(link.shape).copy()
        ffi.buffer(y, 8 * link.outputs)[:] = link.evaluate(point).tobytes()
    except BaseException as error:  # raised again when the library has returned
        link.error = error
        ffi.buffer(y, 8 * link.outputs)[:] = b"\xff" * (8 * link.outputs)  # NaN
        call = link.call
        if call is not None:
            call.stop(error)


def _destroy(model):
    lib.stair_model_destroy(ffi.new("stair_model **", model))


class Model:
    """A model y = g(Z): a MODEL string such as "attention:layers=2,skip=1", or a function of Python.

    A function gets z of shape (indices,), or (indices, tokens) where there are several tokens, and returns the
    outputs.  It needs noise > 0, the variance on each output, and the same z has to give the same y.  The library
    calls it one z at a time and holds the GIL meanwhile: a link in Python is about a hundred times slower than one
    of C, expr: or plugin: models.

    >>> Model("square").threshold(precision=0.01)[0].alpha
    >>> Model(lambda z: z[0] ** 2, noise=0.1)
    """

    def __init__(self, spec, *, noise=None, prenoise=0.0, indices=None, tokens=1, name="python", outputs=None):
        self._link = None
        if callable(spec):
            self._from_link(spec, noise, prenoise, 1 if indices is None else indices, tokens, name, outputs)
        elif isinstance(spec, str):
            given = dict(noise=noise, indices=indices, outputs=outputs)
            for key in [k for k, v in given.items() if v is not None] + ([] if tokens == 1 else ["tokens"]):
                raise BadInput(f"Model(): {key} is for a link in Python; write it into the string: {spec},{key}=...")
            with Call("Model") as call:
                box = ffi.new("stair_model **")
                call(lib.stair_model_create, spec.encode(), box)
            self._keep(box[0])
        else:
            raise BadInput(f"a model is a MODEL string or a function, not {spec!r}")

    def _keep(self, pointer):
        self._model = ffi.gc(pointer, _destroy)
        self._info = lib.stair_model_describe(pointer)

    def _from_link(self, function, noise, prenoise, indices, tokens, name, outputs):
        if noise is None:
            raise BadInput("Model(): a link in Python needs noise, the variance on each output, above 0")
        indices, tokens = whole(indices, "indices"), whole(tokens, "tokens")
        if not (1 <= indices <= 10**4 and 1 <= tokens <= 10**4):
            raise BadInput("Model(): indices and tokens have to be at least 1")
        link = _Link(function, tokens, indices, None if outputs is None else whole(outputs, "outputs"))
        probe = np.linspace(-1.0, 1.0, indices * tokens + 2)[1:-1].reshape(link.shape) + 0.1
        first = link.evaluate(probe)
        if len(first) < 1 or not np.isfinite(first).all():
            raise BadInput(f"Model(): the link gives {first} at z = {probe.tolist()}")
        link.outputs, link.call = len(first), None
        self._link, self._handle = link, ffi.new_handle(link)
        self._title = ffi.new("char[]", str(name).encode())
        try:
            noise, prenoise = float(noise), float(prenoise)
        except (TypeError, ValueError):
            raise BadInput(f"Model(): noise and prenoise must be numbers, not {noise!r}, {prenoise!r}") from None
        about = ffi.new(
            "stair_link *",
            dict(name=self._title, tokens=tokens, indices=indices, outputs=link.outputs, noise=noise,
                 prenoise=prenoise, function=lib.pystair_link, user=self._handle),
        )
        with self.call("Model") as call:
            box = ffi.new("stair_model **")
            call(lib.stair_model_from_link, about, box)
        self._keep(box[0])

    def call(self, what, **how):
        return Call(what, **how)

    def enter(self, call):
        """The pointer, for use in this call.  Threads would only wait for the GIL where the link is Python."""
        if self._link is not None:
            self._link.call = call
            call(lib.stair_context_set_threads, 1)
        return self._model

    # ---- what it is ------------------------------------------------------------------------------------

    @property
    def spec(self):
        """The MODEL string, every key written out."""
        return text(lib.stair_model_spec(self._model))

    @property
    def name(self):
        return text(self._info.name)

    @property
    def layers(self):
        """L, or 1."""
        return self._info.layers

    @property
    def tokens(self):
        """M."""
        return self._info.tokens

    @property
    def indices(self):
        """P, rows of Z."""
        return self._info.indices

    @property
    def outputs(self):
        """K, numbers in one label."""
        return self._info.label_size

    @property
    def ranks(self):
        """Indices of each layer."""
        return tuple(self._info.ranks[i] for i in range(self._info.layers))

    @property
    def noise(self):
        return self._info.noise

    @property
    def prenoise(self):
        return self._info.prenoise

    @property
    def label_is_log(self):
        """Whether labels are carried as log y: rows of log-softmax."""
        return bool(self._info.label_is_log)

    def __repr__(self):
        return f"Model({self.spec!r})"

    def _repr_html_(self):
        sizes = f"L = {self.layers}, M = {self.tokens}, P = {self.indices}, K = {self.outputs}"
        return f"<code>{self.spec}</code><br>{sizes}"

    def __reduce__(self):
        if self._link is not None:
            raise TypeError("a model with a link in Python cannot be pickled")
        return (Model, (self.spec,))

    # ---- what it does ----------------------------------------------------------------------------------

    def labels(self, z):
        """Labels (n, K) of Z (n, P, M), without noise, as the model carries them: log y where label_is_log."""
        z, one = self._batch(z)
        out = np.empty((len(z), self.outputs))
        with Call("labels") as call:
            model = self.enter(call)
            call(lib.stair_model_forward, model, len(z), _arrays.pointer(z), _arrays.pointer(out))
        return out[0] if one else out

    def __call__(self, z):
        """Outputs y (n, K) = g(Z) of Z (n, P, M), without noise; one Z (P, M) gives one y (K)."""
        out = self.labels(z)
        return np.exp(out) if self.label_is_log else out

    def _batch(self, z):
        shape = (self.indices, self.tokens)
        short = (self.indices,)
        array = np.asanyarray(z)
        if array.ndim == 0 and shape == (1, 1):
            return _arrays.numbers(array.reshape(1, 1, 1), "z", (None, *shape)), True
        if array.shape == shape or (self.tokens == 1 and array.shape == short):
            return _arrays.numbers(array.reshape(1, *shape), "z", (None, *shape)), True
        if self.tokens == 1 and array.ndim == 2 and array.shape[1:] == short:
            return _arrays.numbers(array.reshape(-1, *shape), "z", (None, *shape)), False
        return _arrays.numbers(array, "z", (None, *shape), shape), False

    def gradient(self, z, cotangent):
        """Gradient (P, M) of sum_k cotangent_k y_k at Z (P, M)."""
        z = _arrays.numbers(np.asanyarray(z).reshape(self.indices, -1), "z", (self.indices, self.tokens))
        cotangent = _arrays.numbers(np.asanyarray(cotangent).reshape(-1), "cotangent", (self.outputs,))
        out = np.empty_like(z)
        with Call("gradient") as call:
            model = self.enter(call)
            call(lib.stair_model_gradient, model, *map(_arrays.pointer, (z, cotangent, out)))
        return out

    def carried(self, y):
        """Labels (n, K) of plain outputs y, (n, K) or (n, M, M)."""
        m, k = self.tokens, self.outputs
        shapes = [(None, k)] + ([(None, m, m)] if k == m * m else []) + ([(None,)] if k == 1 else [])
        y = _arrays.numbers(y, "y", *shapes)
        out = np.empty((len(y), k))
        with Call("carried") as call:
            model = self.enter(call)
            call(lib.stair_model_labels_from_outputs, model, len(y), _arrays.pointer(y), _arrays.pointer(out))
        return out


def model_of(value):
    return value if isinstance(value, Model) else Model(value)


def _method(name):
    def method(self, *arguments, **keywords):
        import stair

        return getattr(stair, name)(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = f"stair.{name}(model, ...): see there."
    return method


for _name in ("threshold", "evolve", "entropy", "errors", "channel", "amp", "sgd", "diagnose"):
    setattr(Model, _name, _method(_name))

