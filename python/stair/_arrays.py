"""NumPy arrays on the way in and out: shapes and numbers are looked at, copies made only where C needs them."""
import numpy as np

from ._errors import BadInput
from ._stair import ffi, lib
from ._values import shown


def pointer(array, kind="double"):
    """The address of an array; the array has to outlive the call."""
    return ffi.cast(f"{kind} *", array.__array_interface__["data"][0])


def shape_text(shape):
    return "(" + ", ".join(str(s) for s in shape) + ")"


def finite(array, name):
    """BadInput names the first entry that is not finite.  Nothing is copied."""
    single = array.dtype == np.float32
    at = lib.pystair_not_finite(pointer(array, "void"), single, array.size)
    if at < array.size:
        where = np.unravel_index(at, array.shape)
        inside = "[" + ", ".join(str(int(i)) for i in where) + "]" if where else ""
        raise BadInput(f"{name}{inside} is {array[where]}: numbers have to be finite")
    return array


def array_of(value, name):
    """Any array of real numbers; lists of different lengths, texts and the like are none."""
    try:
        array = np.asanyarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in "fiub":
        raise BadInput(f"{name} must be an array of numbers, not {_about(value)}")
    return array


def numbers(value, name, *shapes, single=False):
    """An array of one of the shapes, a None in which may be any length: float64 (with `single` float32, too), in C
    order; the same memory where it is one already."""
    array = array_of(value, name)
    wanted = array.dtype if single and array.dtype == np.float32 else np.float64
    array = np.require(array, wanted, ["C_CONTIGUOUS", "ALIGNED"])
    for shape in shapes:
        if len(shape) == array.ndim and all(s is None or s == a for s, a in zip(shape, array.shape)):
            return finite(array, name)
    allowed = " or ".join(shape_text("n" if s is None else s for s in shape) for shape in shapes)
    raise BadInput(f"{name} needs shape {allowed}, not {shape_text(array.shape)}")


def _about(value):
    kind = getattr(value, "dtype", None)
    return f"an array of {kind}" if kind is not None else shown(value)


def symmetric(value, name, p):
    """(P, P); a number stands for itself where P is 1, a list for a diagonal."""
    array = array_of(value, name)
    if array.ndim == 0:
        array = array.reshape(1, 1) if p == 1 else array
    elif array.ndim == 1 and array.shape == (p,):
        array = np.diag(array)
    return numbers(array, name, (p, p))


def copied(address, *shape):
    """What C owns, as an array of ours."""
    size = int(np.prod(shape, dtype=np.int64))
    if size == 0:
        return np.empty(shape)
    return np.frombuffer(ffi.buffer(address, 8 * size), dtype=np.float64).reshape(shape).copy()


def alphas(value, name="alpha"):
    """A list of alphas from a number or a list, and whether it was a list."""
    array = array_of(value, name)
    if array.ndim == 0:
        array = array.reshape(1)
    array = numbers(array, name, (None,))
    if not len(array):
        raise BadInput(f"{name} is empty")
    if (array < 0).any() or (array > 1e9).any():
        raise BadInput(f"{name} must hold numbers between 0 and 1e+09, not {array[(array < 0) | (array > 1e9)][0]:g}")
    return array
