"""From the policy file's text to a `Policy`.

The text must be the base commit's: a pull request cannot change the rules that it is judged by. Nothing of
YAML is imported where there is no file, which most runs start without.
"""

from __future__ import annotations

from bot.policy.defaults import default_policy
from bot.policy.schema import Policy

POLICY_FILE = ".github/agent.yml"


def load_policy(text: str | None, source: str = POLICY_FILE) -> Policy:
    """The policy in `text`; the built-in default for `None`.

    Raises `PolicyError` with each problem as `file:line:column: message`.
    """
    if text is None:
        return default_policy()
    from bot.policy.file import read_policy

    return read_policy(text, source)
