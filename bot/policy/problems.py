"""The problems of a policy file or a task file."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.contracts.errors import UsageError
from bot.parsing.yaml_document import Document, Location, Problem

VARIANT = "a rule with "
"""Begins a step of pydantic's locations that is no key but says which of several models was read."""


class PolicyError(UsageError):
    """The policy file is invalid. `problems` and the message have all errors, by position."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems))
        super().__init__(
            "\n".join(f"{source}:{one.line}:{one.column}: {one.message}" for one in self.problems)
        )


class Reading(NamedTuple):
    """A document that is being validated: the context of validators."""

    document: Document
    source: str

    def problem(self, where: Location, message: str) -> Problem:
        return Problem(*self.document.place(where)[:2], message)
