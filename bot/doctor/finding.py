"""One finding of `doctor`, and its state."""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """`UNKNOWN`: this token, or this machine, may not look. `WARNING`: it works, and not as it should."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    UNKNOWN = "unknown"


class Finding(NamedTuple):
    """`name` is the subject of the check, `message` the result, `fix` the remedy, or empty."""

    state: State
    name: str
    message: str
    fix: str = ""
