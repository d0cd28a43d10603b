"""Problems of a policy file or a task file, each with its line and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.contracts.errors import UsageError
from bot.parsing.yaml_nodes import Node

Location = tuple[str | int, ...]
"""Keys and indexes from the root of a document to a value."""
KEY = "[key]"
"""The last step of the location of a key, in place of its value's, as pydantic names it."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """An error. `line` and `column` count from 1."""

    line: int
    column: int
    message: str


class PolicyError(UsageError):
    """The policy file is invalid. `problems` and the message have all errors, by position."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems))
        super().__init__(
            "\n".join(f"{source}:{one.line}:{one.column}: {one.message}" for one in self.problems)
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """A document that is being validated: the context of validators."""

    root: Node
    source: str

    def problem(self, where: Location, message: str) -> Problem:
        node = self.node(where)
        return Problem(node.line, node.column, message)

    def node(self, where: Location) -> Node:
        """Return the node at `where`, or the last one on the way that exists."""
        node = self.root
        for number, step in enumerate(where):
            if node.kind == "sequence" and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            elif pair := next((pair for pair in node.pairs if pair[0].text == str(step)), None):
                is_key = where[number + 1 :] == (KEY,)
                node = pair[0] if is_key else pair[1]
            else:
                break
        return node
