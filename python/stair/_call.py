"""One call of the library: its context, progress, Ctrl-C, and what went wrong as an exception.

Every call has a context of its own, so that calls may run in several threads and after a fork.  The GIL is
released while the library works; it asks Python a few times a second whether to go on, and that is where a
pending Ctrl-C is noticed."""
import re
import shutil
import sys
import threading
import time
import warnings

from ._errors import EXCEPTIONS, Error, NoMemory, NotConvergedWarning, Status
from ._stair import ffi, lib
from ._values import flag, plain_text, whole

ASK_EVERY = 0.1  # seconds between two questions whether to go on
SHOW_AFTER = 1.0  # seconds before progress is shown


def text(pointer):
    return ffi.string(pointer).decode(errors="replace") if pointer != ffi.NULL else None


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
        self.what, self.progress = what, None if progress is None else flag(progress, "progress")
        threads = whole(threads, "threads")
        device = None if device is None else plain_text(device, "device")
        box = ffi.new("stair_context **")
        if lib.stair_context_create(box):
            raise NoMemory("out of memory")
        self.context = box[0]
        self.state = ffi.new("pystair_call *", {"every": ASK_EVERY})
        self.address = int(ffi.cast("intptr_t", self.state))
        self.error = None
        self.shown = None
        self.before, self.share, self.total = 0.0, 1.0, 1.0
        try:
            if threads:
                self(lib.stair_context_set_threads, threads)
            if device is not None:
                self(lib.stair_context_set_device, device.encode())
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
            self.shown = _bar(self.what, self.progress, fraction is not None)
        if self.shown:
            self.shown.move(fraction)


def warn(message):
    """The result misses its precision; the warning points at the caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "stair":
        frame, level = frame.f_back, level + 1
    warnings.warn(in_python(message), NotConvergedWarning, stacklevel=level)


# ---- progress ------------------------------------------------------------------------------------------


class _TqdmBar:
    FORMATS = {True: "{desc} {percentage:3.0f}% |{bar}| {elapsed}", False: "{desc} {elapsed}"}

    def __init__(self, what, known):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm recommends ipywidgets, and does without
            from tqdm.auto import tqdm

        width = min(100, shutil.get_terminal_size().columns) if sys.stderr and sys.stderr.isatty() else None
        self.bar = tqdm(total=100, desc=what, leave=False, ncols=width, bar_format=self.FORMATS[known])

    def move(self, fraction):
        if fraction is None:  # how much is left is not known
            self.bar.refresh()
            return
        self.bar.bar_format = self.FORMATS[True]
        self.bar.update(max(0.0, 100 * fraction - self.bar.n))  # never backwards: a call inside a call counts from 0

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


def _bar(what, wanted, known):
    """None is asked for where nobody looks; tqdm where it is installed.  known: how much there is in all."""
    notebook = "ipykernel" in sys.modules
    if not (wanted or notebook or (sys.stderr is not None and sys.stderr.isatty())):
        return False
    try:
        return _TqdmBar(what, known)
    except ImportError:
        return _Line(what)
