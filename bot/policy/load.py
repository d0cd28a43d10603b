"""From the policy file's text to a `Policy`.

The text must be the base commit's: a pull request cannot change the rules that it is judged by. Nothing of
YAML is imported where there is no file, which most runs start without.
"""

from __future__ import annotations

from bot.contracts.errors import UsageError
from bot.contracts.request import POLICY_FILE
from bot.policy.defaults import default_policy
from bot.policy.schema import Policy

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
    from bot.policy.file import read_policy

    return read_policy(text, source)
