"""What is wrong with a policy file, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.contracts.errors import UsageError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """`line` and `column` count from 1."""

    line: int
    column: int
    message: str


class PolicyError(UsageError):
    """The policy file cannot be used. `problems` has all that were found, by place; so has the message."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems))
        super().__init__(
            "\n".join(f"{source}:{one.line}:{one.column}: {one.message}" for one in self.problems)
        )
