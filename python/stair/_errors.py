"""Exceptions: one for each way in which a call of the library may end."""
import enum


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
