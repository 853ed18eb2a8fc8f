"""Type stubs of the package, stair/__init__.pyi, from what `import stair` finds: run after options changed.

    make_stubs.py            writes them
    make_stubs.py --check    exit code 1 where they are not up to date"""
import argparse
import dataclasses
import enum
import functools
import inspect
import pathlib
import sys
from collections.abc import Sequence

import stair
from stair._results import Record, Result

TARGET = pathlib.Path(__file__).resolve().parent.parent / "stair" / "__init__.pyi"
HEAD = '''# Written by python/tools/make_stubs.py from the tables of options of the library: do not edit.
import enum
import os
from collections.abc import Sequence
from typing import Any, Callable, Generic, TypeVar, overload

from numpy.typing import ArrayLike, NDArray

__version__: str
_Row = TypeVar("_Row", covariant=True)
_Self = TypeVar("_Self")
'''
# What Python's functions say about themselves in their signatures only partly.
GIVEN = {
    "spec": "str | Callable[[np.ndarray], ArrayLike]",
    "X": "ArrayLike", "y": "ArrayLike", "z": "ArrayLike", "cotangent": "ArrayLike", "file": "str | os.PathLike[str]",
    "vocab": "str | os.PathLike[str]", "questions": "str | os.PathLike[str] | Sequence[str]",
    "overwrite": "bool", "logits": "bool", "full": "bool", "threads": "int", "device": "str | None", "progress": "bool | None",
    "deep": "bool", "return_std": "bool", "noise": "float | None", "prenoise": "float", "indices": "int | None",
    "tokens": "int", "name": "str", "outputs": "int | None", "model": "str | Model", "message": "str",
    "status": "Status | None", "vectorized": "bool | None", "ax": "Any", "pointer": "Any", "owner": "Any",
    "rows": "Sequence[Any]", "command": "str", "options": "dict[str, Any]", "weights": "np.ndarray",
    "cov": "np.ndarray", "seed": "int",
}
RETURNS = {"to_dict": "dict[str, Any]", "fit": "GAMP", "set_params": "GAMP", "get_params": "dict[str, Any]",
           "score": "float", "save": "None", "__len__": "int", "rows": "list[dict[str, Any]]",
           "fields": "list[str]", "shown": "list[str]", "load": "Posterior", "labels": "np.ndarray",
           "gradient": "np.ndarray", "carried": "np.ndarray", "predict_proba": "np.ndarray", "models": "Models",
           "tokenize": "Any", "__init__": "None"}


def kind(annotation):
    if annotation is inspect.Parameter.empty:
        return None
    if isinstance(annotation, str):
        return annotation
    if annotation.__module__ == "numpy":
        return "np." + annotation.__name__
    return {"list": "list[Any]", "dict": "dict[str, Any]"}.get(annotation.__name__, annotation.__name__)


def parameters(signature):
    """As source, one text for each."""
    parts, star = [], False
    for p in signature.parameters.values():
        if p.kind == p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star |= p.kind == p.VAR_POSITIONAL
        marks = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        annotation = kind(p.annotation) or (GIVEN.get(p.name) if not marks else "Any")
        text = marks + p.name + (f": {annotation}" if annotation else "")
        if p.default is not p.empty:
            text += f" = {p.default!r}" if annotation else f"={p.default!r}"
        parts.append(text)
    return parts


def function(name, call, indent="", drop=0):
    signature = inspect.signature(call)
    parts = parameters(signature)[drop:]
    result = kind(signature.return_annotation) or RETURNS.get(name, "Any")
    line = f"{indent}def {name}({', '.join(parts)}) -> {result}: ..."
    if len(line) > 110:
        inner = "".join(f"{indent}    {part},\n" for part in parts)
        line = f"{indent}def {name}(\n{inner}{indent}) -> {result}: ..."
    return line + "\n"


def members(cls):
    out = ""
    for name, member in vars(cls).items():
        if name.startswith("_") and name not in ("__init__", "__len__", "__call__"):
            continue
        if isinstance(member, (property, functools.cached_property)):
            known = {"ranks": "tuple[int, ...]", "noise": "float", "prenoise": "float", "spec": "str", "name": "str",
                     "label_is_log": "bool", "ok": "bool", "vectorized": "bool", "method": "np.ndarray"}
            out += f"    @property\n    def {name}(self) -> {known.get(name, 'int')}: ...\n"
        elif isinstance(member, classmethod):
            text = function(name, member.__func__, "    ")
            out += "    @classmethod\n" + text.replace("-> Posterior", f"-> {cls.__name__}")
        elif isinstance(member, staticmethod):
            out += "    @staticmethod\n" + function(name, member.__func__, "    ")
        elif inspect.isfunction(member) and (name != "__init__" or not issubclass(cls, Record)):
            if member.__module__ == "stair._model" and name in stair.__all__:  # Model.threshold and the others
                text = function(name, getattr(stair, name), "    ")
                out += text.replace("model: str | Model", "self", 1)
            else:
                out += function(name, member, "    ")
    return out


def of_class(cls):
    bases = [b.__name__ for b in cls.__bases__ if b is not object and b.__name__ != "Sequence"]
    if cls is Result:
        bases = ["Sequence[_Row]", "Generic[_Row]"]
    elif issubclass(cls, Result):
        bases = [f"Result[{cls.row_type.__name__}]"]
    if issubclass(cls, enum.Enum):
        return f"class {cls.__name__}(enum.IntEnum):\n" + "".join(f"    {m.name} = {m.value}\n" for m in cls)
    head = f"class {cls.__name__}({', '.join(bases)}):\n" if bases else f"class {cls.__name__}:\n"
    body = ""
    if dataclasses.is_dataclass(cls):
        body += "".join(f"    {f.name}: {kind(f.type)}\n" for f in dataclasses.fields(cls))
    if cls is stair.Error:
        body += "    message: str\n    status: Status\n"
    if cls is Result:
        body += "    command: str\n    model: str | None\n    options: dict[str, Any]\n    converged: bool\n"
        body += "    message: str\n    @overload\n    def __getitem__(self, index: int) -> _Row: ...\n"
        body += "    @overload\n    def __getitem__(self: _Self, index: slice) -> _Self: ...\n"
    elif issubclass(cls, Result):
        body += "".join(column(f) for f in dataclasses.fields(cls.row_type)
                        if not hasattr(Sequence, f.name))
    return head + (body + members(cls) or "    ...\n")


def column(field):
    """A field of all rows: an array where they are numbers, a list of texts or records, or what their shapes allow."""
    one = kind(field.type)
    if one in ("float", "int", "bool"):
        return f"    {field.name}: np.ndarray\n"
    several = one.startswith(("np.", "list", "dict"))
    return f"    {field.name}: Any  # of {one}\n" if several else f"    {field.name}: list[{one}]\n"


def stubs():
    text = HEAD
    for name in stair.__all__:
        item = getattr(stair, name)
        text += "\n" + (of_class(item) if inspect.isclass(item) else function(name, item))
    return text.replace("np.ndarray", "NDArray[Any]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    text = stubs()
    if not parser.parse_args().check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET} is not what the library says: run python/tools/make_stubs.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
