"""The error of a gate that has no room to work."""

from bot.contracts.errors import READ_ONLY, ExitCode, GateError, shortage_remedy


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
