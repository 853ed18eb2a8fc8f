"""Information and generative exponents of the indices of a model, and its leaps."""
from ._asymptotics import MODEL
from ._call import text
from ._model import model_of
from ._options import command
from ._results import Record, Result, record
from ._stair import ffi, lib
from ._values import whole


@record
class Exponent(Record):
    """One index (from 1).  information is the least degree of a Hermite polynomial h of Z that has a part of this
    index and a mean with the label, E[y h(Z)], its coefficient; generative is the same for any function of the label,
    its coefficient the mean of E[h|y]^2.  0: none up to `degree`.  A leap counts degrees in indices that are not known
    after the stages before."""

    index: int
    information: int
    information_term: "str | None"
    information_coefficient: float
    information_error: float
    information_leap: int
    information_stage: int
    generative: int
    generative_term: "str | None"
    generative_coefficient: float
    generative_error: float
    generative_leap: int
    generative_stage: int


class Exponents(Result):
    row_type = Exponent


def _of(c):
    return c.exponent, text(c.term) if c.exponent else None, c.coefficient, c.error, c.leap, c.stage


@command("diagnose", without=["points", "precision", "cov_low"],
         own={"model": MODEL, "degree": "degree of Hermite polynomials that are looked at, 1 to 8"})
def exponents(call, options, model: "str | Model", *, degree: int = 4) -> Exponents:
    """Information and generative exponent of each index, and the leaps.

    >>> stair.exponents("square")[0].information
    2
    """
    model, degree = model_of(model), whole(degree, "degree")
    rows = ffi.new("stair_exponent[]", model.indices)
    call(lib.stair_exponents, model._enter(call), degree, options["diagnose"].seed, rows)
    found = [Exponent(i + 1, *_of(c.information), *_of(c.generative)) for i, c in enumerate(rows)]
    return Exponents(found, "exponents", model.spec, {"degree": degree, "seed": options.values["seed"]})
