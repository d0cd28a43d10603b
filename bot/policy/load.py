"""Load the policy: the default, or the text of the file that a workflow names. Standard library only without a file.

The text must be the base commit's: a pull request must not change the rules that apply to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.contracts.errors import UsageError
from bot.contracts.request import POLICY_FILE
from bot.policy.tiers import default_policy
from bot.policy.values import Policy

__all__ = ["POLICY_FILE", "load_policy"]


def load_policy(text: str | None, source: str = POLICY_FILE) -> Policy:
    """Return the policy in `text`, or the default for `None`, if there is no such file.

    Raises `PolicyError` with each problem as `file:line:column: message`, and `UsageError` if a file other than
    the usual one is missing: a misspelt name must not loosen the rules.
    """
    if text is None and source != POLICY_FILE:
        raise UsageError(f"There is no policy {source}: it is not there on the base branch.")
    if text is None:
        return default_policy()
    from bot.policy.keys import read_policy

    return read_policy(text, source)


# No change below .github is ever published, so the agent cannot have written a policy there.
_POLICY_PATH = re.compile(r"\.github/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\.ya?ml")
_WORKFLOWS = ".github/workflows/"


def policy_file(named: str) -> str:
    """Return the path that the action's input `policy` names, the usual one if it is empty. Raises `UsageError` if it
    is not a YAML file below `.github/`."""
    path = named.strip().removeprefix("./") or POLICY_FILE
    if not _POLICY_PATH.fullmatch(path) or path.startswith(_WORKFLOWS):
        raise UsageError(
            f"The policy {path[:100]!r} is not a YAML file below .github/, such as .github/agent-strict.yml: the "
            "input `policy` names one of the base branch there, from which nothing that the agent changes is published."
        )
    return path


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """An error or a warning. `line` and `column` count from 1."""

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
