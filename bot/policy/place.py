"""Where in a repository the policy is: the usual file, or one that the workflow names. Standard library only."""

from __future__ import annotations

import re

from bot.contracts.errors import UsageError
from bot.contracts.request import POLICY_FILE

# Nothing below .github that an agent changes is ever published, so no policy there can be its own work.
_PLACE = re.compile(r"\.github/(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\.ya?ml")
_WORKFLOWS = ".github/workflows/"


def policy_file(named: str) -> str:
    """The path that the action's input `policy` names; the usual one where it is empty. Raises `UsageError` for any
    that is not a YAML file below `.github/`."""
    path = named.strip().removeprefix("./") or POLICY_FILE
    if not _PLACE.fullmatch(path) or path.startswith(_WORKFLOWS):
        raise UsageError(
            f"The policy {path[:100]!r} is not a YAML file below .github/, such as .github/agent-strict.yml: the "
            "input `policy` names one of the base branch there, from which nothing that the agent changes is published."
        )
    return path
