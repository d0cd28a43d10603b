"""The result of one check of `doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class State(StrEnum):
    """`UNKNOWN`: this token, or this machine, may not look. `WARNING`: it works, and not as it should."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """`name` is the subject of the check, `message` the result, `fix` the remedy, or empty."""

    state: State
    name: str
    message: str
    fix: str = ""


ok = partial(Finding, State.OK)
warning = partial(Finding, State.WARNING)
missing = partial(Finding, State.MISSING)
unknown = partial(Finding, State.UNKNOWN)


def is_healthy(findings: Iterable[Finding]) -> bool:
    return all(finding.state is not State.MISSING for finding in findings)
