"""Load the policy: the default, or the text of the file that a workflow names. The models are imported with the first
policy: an event that is not for the bot needs none.

The text must be the base commit's: a pull request must not change the rules that apply to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.contracts.errors import UsageError
from bot.contracts.request import POLICY_FILE

if TYPE_CHECKING:
    from bot.parsing.parser import Parser
    from bot.policy.settings import Policy

__all__ = ["POLICY_FILE", "load_policy"]


def load_policy(text: str | None, source: str = POLICY_FILE, parser: Parser | None = None) -> Policy:
    """Return the policy in `text`, or the default for `None`, if there is no such file. Without `parser` the text is
    parsed by a child process of its own.

    Raises `PolicyError` with each problem as `file:line:column: message`, and `UsageError` if a file other than
    the usual one is missing: a misspelled name must not loosen the rules.
    """
    if text is None and source != POLICY_FILE:
        raise UsageError(f"The policy file {source} does not exist on the base branch.")
    if text is None:
        from bot.policy.settings import Policy  # its models import pydantic, which takes 0.1 s

        return Policy(source="")
    from bot.policy.read_policy import read_policy

    return read_policy(text, source, parser)


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
