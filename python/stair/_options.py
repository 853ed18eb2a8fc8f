"""Keywords of the functions, made from the tables of options in the library (stair_options.h).

Name, kind, default, range and text of an option stand in its table alone: a new option of the library is a
keyword here without a line of Python."""
import functools
import inspect
import os

import numpy as np

from ._call import Call, text
from ._errors import BadInput, BadKeyword
from ._stair import ffi, lib
from ._values import file_name, plain_text, shown

FLAG, EITHER, INT, INT64, SIZE, UINT64, DOUBLE, TEXT, PATH = range(9)
TYPES = {FLAG: "bool", EITHER: "str", DOUBLE: "float", TEXT: "str", PATH: "str | os.PathLike[str] | None"}
# Keywords of every function that computes.
COMMON = {
    "threads": ("int", 0, "threads, 0: all it may use; results do not depend on it"),
    "device": ("str | None", None, "where heavy work runs: cpu, cuda (a card), or auto for the best"),
    "progress": ("bool | None", None, "a progress bar; None: where somebody looks"),
}


class Option:
    """One row of a table: `name` as a keyword, `default`, `range` and `text`."""

    def __init__(self, table, row):
        self.row, self.kind = row, row.kind
        self.title = text(row.name)
        self.name = self.title.replace("-", "_")
        self.text = text(row.text).replace("--", "")
        self.type = TYPES.get(self.kind, "int")
        if self.kind == TEXT and row.optional:
            self.type = "str | None"
        room = ffi.new("char[1024]")
        lib.stair_option_range(row, room, 1024)
        self.range = text(room)
        self.choices = [text(c) for c in iter(functools.partial(self._choice, iter(range(10**6))), ffi.NULL)]
        self.default = self.read(table.defaults)

    def _choice(self, numbers):
        return lib.stair_option_choice(self.row, next(numbers))

    def read(self, struct):
        """The value of the field, as Python has it."""
        at = ffi.cast("char *", struct) + self.row.offset
        if self.kind in (TEXT, PATH):
            return text(ffi.cast("const char **", at)[0])
        names = {FLAG: "bool", EITHER: "bool", INT: "int", INT64: "int64_t", SIZE: "size_t", UINT64: "uint64_t"}
        value = ffi.cast(names.get(self.kind, "double") + " *", at)[0]
        return self.choices[value] if self.kind == EITHER else value

    def write(self, value, function):
        """The value as the text that the library reads, or BadInput."""
        kind = self.kind
        try:
            if kind == FLAG or kind == EITHER and not isinstance(value, str):
                if type(value).__name__ not in ("bool", "bool_"):
                    raise TypeError
                return ("yes" if value else "no") if kind == FLAG else self.choices[bool(value)]
            if kind in (TEXT, EITHER):
                return plain_text(value, self.name)
            if kind == PATH:
                return file_name(value, self.name)
            if isinstance(value, (bool, str, bytes)) or np.ndim(value):
                raise TypeError
            if kind == DOUBLE:
                return repr(float(value))
            if int(value) != value:
                raise TypeError
            return str(int(value))
        except (TypeError, ValueError, OverflowError):
            wanted = {FLAG: "True or False", DOUBLE: "a number", TEXT: "text", EITHER: "text", PATH: "a file name"}
            more = f", {self.range}" if self.range else ""
            raise BadInput(
                f"{function}(): {self.name} must be {wanted.get(kind, 'a whole number')}{more}, not {shown(value)}"
            ) from None

    @property
    def line(self):
        """For docstrings."""
        range_ = f", {self.range}" if self.range else ""
        return f"{self.name} : {self.type}, default {self.default!r}{range_}\n    {self.text}"


class Table:
    """The options of one struct of the library."""

    def __init__(self, name):
        self.table = lib.stair_options_find(name.encode())
        if self.table == ffi.NULL:
            raise KeyError(name)
        self.name, self.type = name, text(self.table.type)
        self.defaults = ffi.new(f"{self.type} *")
        lib.pystair_defaults(self.table, self.defaults)
        self.options = {}
        while self.table.options[len(self.options)].name != ffi.NULL:
            option = Option(self, ffi.addressof(self.table.options[len(self.options)]))
            self.options[option.name] = option
        self.values = {key: option.read(self.defaults) for key, option in self.options.items()}


@functools.lru_cache(maxsize=None)
def table(name):
    return Table(name)


class Options:
    """Structs filled from keywords: options["gamp"] is a stair_gamp_options *."""

    def __init__(self, call, function, names, given):
        self.structs, self.kept, self.values, self.given = {}, [], {}, set(given)
        for name in names:
            known = table(name)
            struct = ffi.new(f"{known.type} *", known.defaults[0])
            self.structs[name] = struct
            self.values.update(known.values)
            for key in given:
                if key in known.options:
                    option = known.options[key]
                    self.set(call, function, option, struct, given[key])
                    self.values[key] = option.read(struct)

    def set(self, call, function, option, struct, value):
        if value is None and option.default is None:
            return
        written = ffi.new("char[]", os.fsencode(option.write(value, function)))
        self.kept.append(written)  # texts are not copied by the library
        call(lib.stair_option_set, option.row, struct, written)

    def __getitem__(self, name):
        return self.structs[name]


def unknown(function, name, known):
    import difflib

    near = difflib.get_close_matches(name, known, 1, 0.6) or [k for k in known if name in k or k in name][:1]
    rest = f"there are {', '.join(sorted(known))}" if known else "it takes none"
    hint = f"; did you mean {near[0]}?" if near else f"; {rest}"
    return BadKeyword(f"{function}() has no keyword {name}{hint}")


def suggesting(title=None):
    """Decorates a function without options of the library: a keyword that it does not have gets a suggestion."""

    def wrap(function):
        name, signature = title or function.__name__, inspect.signature(function)
        known = [p.name for p in signature.parameters.values() if p.name not in ("self", "cls")]

        @functools.wraps(function)
        def run(*arguments, **given):
            for key in given:
                if key not in known:
                    raise unknown(name, key, known)
            try:
                signature.bind(*arguments, **given)
            except TypeError as error:
                raise BadKeyword(f"{name}(): {error}") from None
            return function(*arguments, **given)

        return run

    return wrap


def command(*names, without=(), own=None):
    """Decorates `function(call, options, ...)`: its keywords are its own and those of the tables.

    own: the texts of the function's own parameters."""

    def wrap(function):
        title = function.__name__
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())[2:]
        mine = {p.name for p in parameters}
        known = {}
        for name in names:
            for key, option in table(name).options.items():
                if key not in mine and key not in without:
                    known.setdefault(key, option)
        everything = mine | set(known) | set(COMMON)

        @functools.wraps(function)
        def run(*arguments, **given):
            common = {key: given.pop(key) for key in COMMON if key in given}
            own_given, of_tables = {}, {}
            for key, value in given.items():
                if key not in everything:
                    raise unknown(title, key, everything)
                (own_given if key in mine else of_tables)[key] = value
            try:
                bound = signature_own.bind(*arguments, **own_given)
            except TypeError as error:
                raise BadKeyword(f"{title}(): {error}") from None
            with Call(title, **common) as call:
                return function(call, Options(call, title, names, of_tables), *bound.args, **bound.kwargs)

        signature_own = inspect.Signature(parameters)
        keyword = inspect.Parameter.KEYWORD_ONLY
        extra = [inspect.Parameter(k, keyword, default=o.default, annotation=o.type) for k, o in known.items()]
        extra += [inspect.Parameter(k, keyword, default=c[1], annotation=c[0]) for k, c in COMMON.items()]
        run.__signature__ = inspect.Signature(parameters + extra, return_annotation=signature.return_annotation)
        del run.__wrapped__
        run.__doc__ = _doc(function.__doc__, parameters, own or {}, known)
        return run

    return wrap


def _doc(text_, parameters, own, known):
    lines = [inspect.cleandoc(text_), "", "Parameters", "----------"]
    for p in parameters:
        if p.name in own:
            default = "" if p.default is p.empty else f", default {p.default!r}"
            named = getattr(p.annotation, "__name__", p.annotation)
            kind = "" if p.annotation is p.empty else f" : {named}{default}"
            lines.append(f"{p.name}{kind}\n    {own[p.name]}")
    lines += [option.line for option in known.values()]
    lines += [f"{key} : {kind}, default {value!r}\n    {about}" for key, (kind, value, about) in COMMON.items()]
    return "\n".join(lines) + "\n"


__all__ = ["Option", "Options", "Table", "command", "suggesting", "table", "unknown"]
