"""The C library, for system calls that Python has no function for."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)

_SET_CHILD_SUBREAPER = 36


def checked(result: int, what: str) -> int:
    """Return the result of a call. Raises `OSError` if the call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what} failed: {os.strerror(number)}")
    return result


def become_subreaper() -> None:
    """Adopt what loses its parent among the descendants of this process. Its children do not inherit this."""
    checked(libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl(PR_SET_CHILD_SUBREAPER)")
