"""Errors of the gate, and paths quoted for their messages."""

from bot.contracts.errors import READ_ONLY, ExitCode, GateError, shortage_remedy
from bot.contracts.plain_text import printable_name


class HostileTree(GateError):
    """A work tree or patch that may not become a commit. `path` is the offending path, or ""."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class OutOfCapacity(GateError):
    """The machine ran out of disk, memory or descriptors before the gate could judge the work tree."""

    exit_code = ExitCode.UNAVAILABLE


def capacity_error(error: Exception) -> OutOfCapacity | None:
    """Return the `OutOfCapacity` for an `OSError` or git error about missing disk, memory or descriptors, else
    `None`."""
    text = str(error)
    if not shortage_remedy(text) and READ_ONLY not in text:
        return None
    reason = getattr(error, "strerror", None) or text
    return OutOfCapacity(f"there was no room to judge the work tree: {reason}. It is kept")


def quoted_path(path: str) -> str:
    """Return `printable(path)` in quotation marks."""
    return f"'{printable(path)}'"


def printable(path: str) -> str:
    """Return `path` on one line, with invisible characters and bytes that are no UTF-8 escaped, and cut if it is
    long."""
    text = printable_name(path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
    return text if len(text) <= 200 else text[:200] + "..."
