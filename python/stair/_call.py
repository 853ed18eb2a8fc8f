"""One call of the library: its context, progress, Ctrl-C, and what went wrong as an exception.

Every call has a context of its own, so that calls may run in several threads and after a fork.  The GIL is
released while the library works; it asks Python a few times a second whether to go on, and that is where a
pending Ctrl-C is noticed."""
import enum
import re
import sys
import threading
import time
import warnings

from ._stair import ffi, lib

ASK_EVERY = 0.1  # seconds between two questions whether to go on
SHOW_AFTER = 1.0  # seconds before progress is shown


class Status(enum.IntEnum):
    """How a call of the library ended."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    NOT_CONVERGED = 3
    UNSUPPORTED = 4
    NO_MEMORY = 5
    COSTLY = 6


class Error(Exception):
    """What the library says: `message`, and its `status`."""

    status = Status.FAILED

    def __init__(self, message, status=None):
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = Status(status)


class BadInput(Error, ValueError):
    """The request or the data is wrong."""

    status = Status.BAD_INPUT


class BadKeyword(BadInput, TypeError):
    """A keyword that a function does not have."""


class NotConverged(Error, ArithmeticError):
    """No result within what was allowed."""

    status = Status.NOT_CONVERGED


class Unsupported(Error, NotImplementedError):
    """A legal request that this release cannot answer."""

    status = Status.UNSUPPORTED


class NoMemory(Error, MemoryError):
    status = Status.NO_MEMORY


class Costly(Error):
    """It would take longer than `patience` allows; the message says how long."""

    status = Status.COSTLY


class NotConvergedWarning(UserWarning):
    """There is a result, with its error, but it misses the precision that was asked for."""


EXCEPTIONS = {
    Status.BAD_INPUT: BadInput,
    Status.NOT_CONVERGED: NotConverged,
    Status.UNSUPPORTED: Unsupported,
    Status.NO_MEMORY: NoMemory,
    Status.COSTLY: Costly,
}


def text(pointer):
    return ffi.string(pointer).decode() if pointer != ffi.NULL else None


def in_python(message):
    """Flags of the program as keywords: --max-iterations is max_iterations."""
    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda m: m.group(1).replace("-", "_"), message)


_running = {}  # address of a pystair_call -> the Call
_innermost = threading.local()  # .call: the one this thread is in


def _caught(kind, error, traceback):
    """An exception inside a callback, Ctrl-C among them: kept, and raised when the library has returned."""
    call = getattr(_innermost, "call", None)
    if call is not None:
        call.stop(error)


@ffi.def_extern(error=False, onerror=_caught)
def pystair_tick(user, done, total):
    return _running[int(ffi.cast("intptr_t", user))].tick(done, total)


class Call:
    """with Call(...) as call: call(lib.stair_threshold, model, options, ...)"""

    def __init__(self, what, threads=0, device=None, progress=None):
        self.what, self.progress = what, progress
        box = ffi.new("stair_context **")
        if lib.stair_context_create(box):
            raise NoMemory("out of memory")
        self.context = box[0]
        self.state = ffi.new("pystair_call *", {"every": ASK_EVERY})
        self.address = int(ffi.cast("intptr_t", self.state))
        self.error = self.link = None
        self.shown = None
        self.before, self.share, self.total = 0.0, 1.0, 1.0
        try:
            if threads:
                self(lib.stair_context_set_threads, whole(threads, "threads"))
            if device is not None:
                self(lib.stair_context_set_device, str(device).encode())
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        self.outer = getattr(_innermost, "call", None)
        _innermost.call = self
        _running[self.address] = self
        self.started = time.monotonic()
        lib.pystair_begin(self.context, self.state)
        return self

    def __exit__(self, *_):
        _innermost.call = self.outer
        _running.pop(self.address, None)
        if self.shown:
            self.shown.close()
        self.close()

    def close(self):
        if self.context != ffi.NULL:
            lib.stair_context_destroy(ffi.new("stair_context **", self.context))
            self.context = ffi.NULL

    def __call__(self, function, *arguments, allow=()):
        """Calls with the context first.  A status that is not allowed becomes an exception."""
        return self.judge(function(self.context, *arguments), allow)

    def judge(self, code, allow=()):
        error, self.error = self.error, None
        if error is not None:
            raise error
        if code and code not in allow:
            status = Status(code)
            raise EXCEPTIONS.get(status, Error)(self.message, status)
        return Status(code)

    @property
    def message(self):
        return in_python(text(lib.stair_context_message(self.context)))

    def stop(self, error):
        if self.error is None:
            self.error = error
        self.state.stop = 1

    def stage(self, before, share, total):
        """Part `share` of `total` begins, `before` are done."""
        self.before, self.share, self.total = before, share, total

    def tick(self, done, total):
        if self.progress is not False and time.monotonic() - self.started > SHOW_AFTER:
            part = min(1.0, done / total) if total > 0 else 0.0
            self.show((self.before + part * self.share) / self.total if self.total else None)
        return True

    def show(self, fraction):
        if self.shown is None:
            self.shown = _bar(self.what, self.progress)
        if self.shown:
            self.shown.move(fraction)


def whole(value, name):
    """A whole number that C's int holds."""
    try:
        number = int(value)
        if isinstance(value, (bool, str)) or number != value:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name} must be a whole number, not {value!r}") from None
    if not -(2**31) <= number < 2**31:
        raise BadInput(f"{name} must be below 2^31, not {value!r}")
    return number


def warn(message):
    """The result misses its precision; the warning points at the caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "stair":
        frame, level = frame.f_back, level + 1
    warnings.warn(in_python(message), NotConvergedWarning, stacklevel=level)


# ---- progress ------------------------------------------------------------------------------------------


class _TqdmBar:
    def __init__(self, what):
        from tqdm.auto import tqdm

        self.bar = tqdm(total=100, desc=what, leave=False, bar_format="{desc} {percentage:3.0f}% |{bar}| {elapsed}")

    def move(self, fraction):
        if fraction is not None:  # never backwards: a call inside a call counts from 0 again
            self.bar.update(max(0.0, 100 * fraction - self.bar.n))

    def close(self):
        self.bar.close()


class _Line:
    def __init__(self, what):
        self.what, self.started, self.reached = what, time.monotonic(), 0.0

    def move(self, fraction):
        self.reached = max(self.reached, fraction or 0.0)
        passed = time.monotonic() - self.started + SHOW_AFTER
        done = f"{100 * self.reached:3.0f}%  " if fraction is not None else ""
        sys.stderr.write(f"\r{self.what} {done}{passed:.0f} s ")
        sys.stderr.flush()

    def close(self):
        sys.stderr.write("\r" + " " * (len(self.what) + 20) + "\r")
        sys.stderr.flush()


def _bar(what, wanted):
    """None is asked for where nobody looks; tqdm where it is installed."""
    notebook = "ipykernel" in sys.modules
    if not (wanted or notebook or (sys.stderr is not None and sys.stderr.isatty())):
        return False
    try:
        return _TqdmBar(what)
    except ImportError:
        return _Line(what)
