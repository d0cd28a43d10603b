"""A problem, and others like it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.contracts.evidence import Problem, Severity

ONE = Problem("ty", "a.py", 3, 5, Severity.ERROR, "invalid", "Expected `int`, found `str`", snippet="f('x')")


def other(**fields: Any) -> Problem:
    return replace(ONE, **fields)
