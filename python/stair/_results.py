"""Results: rows with typed fields, and tables of them.

`to_dict()` of a row has the names of the program's JSON output; `to_dataframe()` those of its CSV."""
import collections.abc
import copy
import dataclasses
import html
import math

import numpy as np

record = dataclasses.dataclass(frozen=True, eq=False, repr=False)


def hidden():
    """A field that stays out of to_dict(): large, or for use rather than reading."""
    return dataclasses.field(metadata={"hidden": True})


def plain(value):
    """Lists and numbers in place of arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


# Of symmetric matrices CSV has the entries i <= j; the diagonals of a step are named after their matrix.
SYMMETRIC = {"Q", "Q_error", "V", "bayes_Q", "bayes_Q_error", "amp_Q", "amp_Q_error", "theory.Q", "theory.Q_error"}
DIAGONAL = {"overlap": "Q", "overlap_error": "Q_error", "direction": "direction"}


def flat(name, value):
    """Columns of one field, named as in CSV: Q11, Q11_error, cosine1, bayes, theory_Q11."""
    if isinstance(value, Record):
        for field in value.shown():
            yield from flat(f"{name}.{field}", getattr(value, field))
        return
    title = DIAGONAL.get(name, name).removeprefix("errors.").replace(".", "_")
    if isinstance(value, np.ndarray) and value.ndim:
        stem, ending = (title[:-6], "_error") if title.endswith("_error") else (title, "")
        between = "_" if max(value.shape) > 9 else ""
        for at in np.ndindex(value.shape):
            if name in SYMMETRIC and at[0] > at[1]:
                continue
            places = (at[0], at[0]) if name in DIAGONAL else at
            yield stem + between.join(str(i + 1) for i in places) + ending, value[at].item()
    elif isinstance(value, (list, tuple)):
        yield title, " ".join(str(v) for v in value)
    else:
        yield title, value


def frame(rows):
    try:
        import pandas
    except ImportError:
        raise ImportError("to_dataframe() needs pandas: apt install python3-pandas") from None
    return pandas.DataFrame(rows)


def cell(value):
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return html.escape(str(value))


class Record:
    """One row of a result."""

    @classmethod
    def fields(cls):
        return [f.name for f in dataclasses.fields(cls)]

    @classmethod
    def shown(cls):
        return [f.name for f in dataclasses.fields(cls) if not f.metadata.get("hidden")]

    def to_dict(self):
        """Fields as plain numbers, texts and lists."""
        return {name: plain(getattr(self, name)) for name in self.shown()}

    def rows(self):
        """The rows that the program prints for it."""
        return [self.to_dict()]

    def flat(self):
        """Rows of a data frame."""
        return [dict(pair for name in self.shown() for pair in flat(name, getattr(self, name)))]

    def to_dataframe(self):
        """A pandas data frame of this row."""
        return frame(self.flat())

    def __repr__(self):
        inner = ", ".join(f"{name}={_short(getattr(self, name))}" for name in self.shown())
        return f"{type(self).__name__}({inner})"

    def _repr_html_(self):
        rows = "".join(f"<tr><th>{k}</th><td>{cell(v)}</td></tr>" for k, v in self.flat()[0].items())
        return f"<table>{rows}</table>"


def _short(value):
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=5, separator=", ", threshold=16).replace("\n", "")
    return repr(value)


class Result(collections.abc.Sequence):
    """Rows of one computation.  result[0] is the first row, result[:2] a result with two of them; result.alpha is an
    array of that field of all rows.

    command, model, options: what was computed.  converged is False where a number misses the precision that was
    asked for; message says which."""

    row_type = Record

    def __init__(self, rows, command, model, options, message=""):
        self._rows = list(rows)
        self.command, self.model, self.options = command, model, options
        self.converged, self.message = not message, message

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return self._rows[index]
        part = copy.copy(self)
        part._rows = self._rows[index]
        return part

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.row_type.fields():
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        values = [getattr(row, name) for row in self._rows]
        shapes = {np.shape(v) for v in values if not isinstance(v, (str, Record))}
        plain_ = len(shapes) == 1 and not any(isinstance(v, (str, Record)) for v in values)
        return np.array(values) if plain_ or not values else values

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(self.row_type.fields()))

    def to_dict(self):
        """The same object as the program's JSON output."""
        from . import __version__

        results = [row for r in self._rows for row in r.rows()]
        return {
            "stair": __version__,
            "command": self.command,
            "model": self.model,
            "options": dict(self.options),
            "results": results,
        }

    def to_dataframe(self):
        """A pandas data frame with the columns of the program's CSV output."""
        return frame([row for r in self._rows for row in r.flat()])

    def __repr__(self):
        lines = "".join(f"\n  {row!r}," for row in self._rows[:20])
        more = f"\n  ... {len(self) - 20} more" if len(self) > 20 else ""
        note = "" if self.converged else f"\n  not converged: {self.message}"
        return f"{type(self).__name__}({self.model!r}, ["f"{lines}{more}{note}])"

    def _repr_html_(self):
        rows = [row for r in self._rows[:200] for row in r.flat()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
        body = "".join("<tr>" + "".join(f"<td>{cell(row.get(n, ''))}</td>" for n in names) + "</tr>" for row in rows)
        note = "" if self.converged else f"<p>Not converged: {html.escape(self.message)}</p>"
        title = f"{html.escape(self.command)} {html.escape(str(self.model or ''))}"
        return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def plot(self, ax=None, **style):
        """Draws the result into `ax`, or into a new figure; returns the axes."""
        from . import _plot

        return _plot.draw(self, ax, style)
