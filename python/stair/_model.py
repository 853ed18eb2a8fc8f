"""Models: a MODEL string, or a link written in Python."""
import html
import inspect
import warnings

import numpy as np

from . import _arrays
from ._call import Call, _caught, text
from ._errors import BadInput
from ._options import suggesting
from ._results import Record, Result, record
from ._stair import ffi, lib
from ._values import flag, plain_text, real, shown, whole


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


@suggesting()
def models():
    """The models there are: name, formula, summary, an example, and keys with (default, meaning)."""
    rows = []
    while lib.stair_model_name(len(rows)) != ffi.NULL:
        i = len(rows)
        facts = (lib.stair_model_name, lib.stair_model_formula, lib.stair_model_summary, lib.stair_model_example)
        rows.append(ModelInfo(*(text(fact(i)) for fact in facts), _keys(i)))
    return Models(rows, "models", None, {})


class _Link:
    """A function of Python behind stair_link.

    One point z has the shape (P,), or (P, M).  Where the function allows, it is called with blocks of them, points
    along the last axis: z (P, n) or (P, M, n), of which the same expression makes y (n,) or (K, n)."""

    def __init__(self, function, tokens, indices, outputs):
        self.function = function
        self.shape = (indices,) if tokens == 1 else (indices, tokens)
        self.cells, self.outputs, self.blocks = indices * tokens, outputs, False

    def evaluate(self, z):
        """y (K,) of one point."""
        if self.blocks:
            return self.block(z[..., None])[:, 0]
        y = np.asarray(self.function(z), dtype=np.float64).reshape(-1)
        if self.outputs is not None and len(y) != self.outputs:
            raise BadInput(f"the link gave {len(y)} outputs, and {self.outputs} before")
        return y

    def block(self, z):
        """y (K, n) of n points."""
        y = np.asarray(self.function(z), dtype=np.float64)
        n = z.shape[-1]
        if y.shape != (self.outputs, n) and not (self.outputs == 1 and y.shape == (n,)):
            raise BadInput(f"the link gave {y.shape} for {n} points, not {(self.outputs, n)}")
        return y.reshape(self.outputs, n)

    def try_blocks(self, probe):
        """Whether blocks give what single points do, each point by itself, and the same bytes in blocks of one."""
        scale = np.array([1.0, -0.7, 0.3, 1.9, -1.3, 0.05, -2.1])
        points = probe[..., None] * scale + 0.2 * np.arange(len(scale))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                many = self.block(points)
                few = np.concatenate([self.block(points[..., i : i + 1]) for i in (1, 3)], axis=1)
                alone = np.stack([self.evaluate(points[..., i].copy()) for i in (0, 1, 3)], axis=1)
        except Exception:  # `if z > 0` and the like: not of arrays
            return False
        near = np.allclose(many[:, [0, 1, 3]], alone, rtol=1e-12, atol=1e-300, equal_nan=True)
        return near and many[:, [1, 3]].tobytes() == few.tobytes()


def _nan(y, count):
    ffi.buffer(y, 8 * count)[:] = b"\xff" * (8 * count)


@ffi.def_extern(onerror=_caught)
def pystair_link(user, z, y):
    """Called in the thread of the call, which has no other where the link is Python: Model._enter()."""
    link = ffi.from_handle(user)
    try:
        point = np.frombuffer(ffi.buffer(z, 8 * link.cells)).reshape(link.shape).copy()
        ffi.buffer(y, 8 * link.outputs)[:] = link.evaluate(point).tobytes()
    except BaseException as error:  # raised again when the library has returned
        _nan(y, link.outputs)
        _caught(type(error), error, None)


@ffi.def_extern(onerror=_caught)
def pystair_block(user, n, stride, z, y):
    """The same for a block; what the function gets is a copy, and its own."""
    link = ffi.from_handle(user)
    try:
        points = np.frombuffer(ffi.buffer(z, 8 * link.cells * stride)).reshape(*link.shape, stride)[..., :n].copy()
        out = np.frombuffer(ffi.buffer(y, 8 * link.outputs * stride)).reshape(link.outputs, stride)
        out[:, :n] = link.block(points)
    except BaseException as error:  # raised again when the library has returned
        _nan(y, link.outputs * stride)
        _caught(type(error), error, None)


def _destroy(model):
    lib.stair_model_destroy(ffi.new("stair_model **", model))


class Model:
    """A model y = g(Z): a MODEL string such as "attention:layers=2,skip=1", or a function of Python.

    A function gets z of shape (indices,), or (indices, tokens) where there are several tokens, and returns the
    outputs.  It needs noise > 0, the variance on each output, and the same z has to give the same y.  Where the
    function also takes many points along a last axis, as lambda z: z[0] ** 2 does, it gets up to 64 at a time:
    `vectorized` says whether; None tries it.  The GIL is held meanwhile, so that a link in Python is slower than one
    of C: z[0] ** 2 four times with blocks, a hundred times without.

    >>> Model("square").threshold(precision=0.01)[0].alpha
    >>> Model(lambda z: z[0] ** 2, noise=0.1)
    """

    @suggesting("Model")
    def __init__(self, spec, *, noise=None, prenoise=0.0, indices=None, tokens=1, name="python", outputs=None,
                 vectorized=None):
        self._link = None
        if callable(spec):
            self._from_link(spec, noise, prenoise, 1 if indices is None else indices, tokens, name, outputs,
                            vectorized)
        elif isinstance(spec, str):
            given = dict(noise=noise, prenoise=prenoise, indices=indices, tokens=tokens, name=name, outputs=outputs,
                         vectorized=vectorized)
            for key, value in given.items():
                default = inspect.signature(Model).parameters[key].default
                if type(value) is not type(default) or value != default:
                    raise BadInput(f"Model(): {key} is for a link in Python; write it into the string: {spec},{key}=...")
            with Call("Model") as call:
                box = ffi.new("stair_model **")
                call(lib.stair_model_create, plain_text(spec, "a model").encode(), box)
            self._keep(box[0])
        else:
            raise BadInput(f"a model is a MODEL string or a function, not {shown(spec)}")

    def _keep(self, pointer):
        self._model = ffi.gc(pointer, _destroy)
        self._info = lib.stair_model_describe(pointer)

    def _from_link(self, function, noise, prenoise, indices, tokens, name, outputs, vectorized):
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
        link.outputs = len(first)
        vectorized = None if vectorized is None else flag(vectorized, "vectorized")
        link.blocks = vectorized is not False and link.try_blocks(probe)
        if vectorized and not link.blocks:
            raise BadInput("Model(): the link gives other numbers for blocks z[..., i] than for single points, or none")
        self._link, self._handle = link, ffi.new_handle(link)
        self._title = ffi.new("char[]", plain_text(name, "name").encode())
        noise, prenoise = real(noise, "noise"), real(prenoise, "prenoise")
        about = ffi.new(
            "stair_link *",
            dict(name=self._title, tokens=tokens, indices=indices, outputs=link.outputs, noise=noise,
                 prenoise=prenoise, function=lib.pystair_link, user=self._handle,
                 block=lib.pystair_block if link.blocks else ffi.NULL),
        )
        with Call("Model", threads=1) as call:
            box = ffi.new("stair_model **")
            call(lib.stair_model_from_link, about, box)
        self._keep(box[0])

    def _enter(self, call):
        """The pointer, for use in this call.  Threads would only wait for the GIL where the link is Python."""
        if self._link is not None:
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
    def vectorized(self):
        """Whether a link in Python gets many points at a time."""
        return self._link is not None and self._link.blocks

    @property
    def label_is_log(self):
        """Whether labels are carried as log y: rows of log-softmax."""
        return bool(self._info.label_is_log)

    def __repr__(self):
        return f"Model({self.spec!r})"

    def _repr_html_(self):
        sizes = f"L = {self.layers}, M = {self.tokens}, P = {self.indices}, K = {self.outputs}"
        return f"<code>{html.escape(self.spec)}</code><br>{sizes}"

    def __reduce__(self):
        if self._link is not None:
            raise TypeError("a model with a link in Python cannot be pickled")
        return (Model, (self.spec,))

    # ---- what it does ----------------------------------------------------------------------------------

    @suggesting()
    def labels(self, z):
        """Labels (n, K) of Z (n, P, M), without noise, as the model carries them: log y where label_is_log."""
        return self._forward(lib.stair_model_forward, z)

    @suggesting("Model")
    def __call__(self, z):
        """Outputs y (n, K) = g(Z) of Z (n, P, M), without noise; one Z (P, M) gives one y (K)."""
        return self._forward(lib.stair_model_outputs, z)

    def _forward(self, function, z):
        z, one = self._batch(z)
        out = np.empty((len(z), self.outputs))
        with Call("labels") as call:
            model = self._enter(call)
            call(function, model, len(z), _arrays.pointer(z), _arrays.pointer(out))
        return out[0] if one else out

    def _batch(self, z):
        shape = (self.indices, self.tokens)
        short = (self.indices,)
        array = _arrays.array_of(z, "z")
        if array.ndim == 0 and shape == (1, 1):
            return _arrays.numbers(array.reshape(1, 1, 1), "z", (None, *shape)), True
        if array.shape == shape or (self.tokens == 1 and array.shape == short):
            return _arrays.numbers(array.reshape(1, *shape), "z", (None, *shape)), True
        if self.tokens == 1 and array.ndim == 2 and array.shape[1:] == short:
            return _arrays.numbers(array.reshape(-1, *shape), "z", (None, *shape)), False
        return _arrays.numbers(array, "z", (None, *shape), shape), False

    @suggesting()
    def gradient(self, z, cotangent):
        """Gradient (P, M) of sum_k cotangent_k y_k at Z (P, M)."""
        z = _arrays.numbers(z, "z", (self.indices, self.tokens), *([(self.indices,)] if self.tokens == 1 else []))
        cotangent = _arrays.numbers(cotangent, "cotangent", (self.outputs,))
        out = np.empty((self.indices, self.tokens))
        with Call("gradient") as call:
            model = self._enter(call)
            call(lib.stair_model_gradient, model, *map(_arrays.pointer, (z, cotangent, out)))
        return out

    @suggesting()
    def carried(self, y):
        """Labels (n, K) of plain outputs y, (n, K) or (n, M, M)."""
        m, k = self.tokens, self.outputs
        shapes = [(None, k)] + ([(None, m, m)] if k == m * m else []) + ([(None,)] if k == 1 else [])
        y = _arrays.numbers(y, "y", *shapes)
        if self._info.label_is_output:  # what uses labels looks at them itself
            return y.reshape(len(y), k)
        out = np.empty((len(y), k))
        with Call("carried") as call:
            model = self._enter(call)
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


for _name in ("threshold", "evolve", "entropy", "hard_phases", "errors", "exponents", "channel", "amp", "amp_need",
              "sgd", "diagnose"):
    setattr(Model, _name, _method(_name))

