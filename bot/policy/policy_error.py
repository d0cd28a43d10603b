"""The problems of a policy file or a task file."""

from collections.abc import Sequence

from bot.contracts.errors import UsageError
from bot.parsing.yaml_document import Problem


class PolicyError(UsageError):
    """The policy file is invalid. `problems` and the message have all errors, by position."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems))
        super().__init__(
            "\n".join(f"{source}:{one.line}:{one.column}: {one.message}" for one in self.problems)
        )
