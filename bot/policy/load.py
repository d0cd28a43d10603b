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
    """The policy in `text`; for `None`, where the file is not there, the built-in default.

    Raises `PolicyError` with each problem as `file:line:column: message`, and `UsageError` where a file that
    somebody named in place of the usual one is not there: a slip of the pen must not loosen what is allowed.
    """
    if text is None and source != POLICY_FILE:
        raise UsageError(f"There is no policy {source}: it is not there on the base branch.")
    if text is None:
        return default_policy()
    from bot.policy.keys import read_policy

    return read_policy(text, source)


# Nothing below .github that an agent changes is ever published, so no policy there can be its own work.
_POLICY_PATH = re.compile(r"\.github/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\.ya?ml")
_WORKFLOWS = ".github/workflows/"


def policy_file(named: str) -> str:
    """The path that the action's input `policy` names; the usual one where it is empty. Raises `UsageError` for any
    that is not a YAML file below `.github/`."""
    path = named.strip().removeprefix("./") or POLICY_FILE
    if not _POLICY_PATH.fullmatch(path) or path.startswith(_WORKFLOWS):
        raise UsageError(
            f"The policy {path[:100]!r} is not a YAML file below .github/, such as .github/agent-strict.yml: the "
            "input `policy` names one of the base branch there, from which nothing that the agent changes is published."
        )
    return path


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
