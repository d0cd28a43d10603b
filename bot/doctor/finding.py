"""One thing that was looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """`UNKNOWN`: this token, or this machine, may not look. `WARNING`: it works, and not as it should."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """`name` is what was looked at, `said` what was found, `fix` what to do about it, empty where nothing is."""

    name: str
    state: State
    said: str
    fix: str = ""


def is_healthy(findings: Iterable[Finding]) -> bool:
    return all(finding.state is not State.MISSING for finding in findings)
