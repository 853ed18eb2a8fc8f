"""Single values on the way in: what is not of the kind that a function takes is BadInput."""
import os

import numpy as np

from ._errors import BadInput


def shown(value):
    return repr(value)[:80]


def flag(value, name):
    if not isinstance(value, (bool, np.bool_)):
        raise BadInput(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def whole(value, name):
    """A whole number that C's int holds."""
    try:
        if isinstance(value, (bool, str, bytes)) or np.ndim(value) or int(value) != value:
            raise ValueError
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be a whole number, not {shown(value)}") from None
    if not -(2**31) <= number < 2**31:
        raise BadInput(f"{name} must be below 2^31, not {shown(value)}")
    return number


def real(value, name):
    try:
        if isinstance(value, (bool, str, bytes)) or np.ndim(value):
            raise ValueError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be a number, not {shown(value)}") from None


def plain_text(value, name):
    """Text that C can hold: no zero byte, nothing that UTF-8 does not have."""
    try:
        if not isinstance(value, str) or b"\0" in value.encode():
            raise ValueError
    except ValueError:
        raise BadInput(f"{name} must be text, not {shown(value)}") from None
    return value


def file_name(value, name):
    """The name of a file as text; os.fsencode() makes of it what C takes."""
    try:
        path = os.fsdecode(value)
        if not path or b"\0" in os.fsencode(path):
            raise ValueError
    except (TypeError, ValueError):
        raise BadInput(f"{name} must be the name of a file, not {shown(value)}") from None
    return path


def one_of(value, name, choices):
    if not isinstance(value, str) or value not in choices:
        raise BadInput(f"{name} must be {', '.join(list(choices)[:-1])} or {list(choices)[-1]}, not {shown(value)}")
    return value
