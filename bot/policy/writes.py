"""What a run may write on threads: the limits of tasks and verbs, and whether one write is allowed.

Checked twice: when the model proposes a write, and when it is published.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.contracts.request import Tier
from bot.contracts.writes import FIELDS, Write, WriteCaps, cap_name, write_problem
from bot.verbs import registry

WRITING_TIERS = frozenset({Tier.MAINTAINER, Tier.SCHEDULE})
"""The runs of other tiers write nothing on threads, whatever the policy says."""

VERBS: Mapping[str, WriteCaps] = {verb.name: verb.writes for verb in registry.VERBS.values() if verb.writes}
"""For runs without a task, if the policy names the verb, and only in the thread of the request."""

_TRIGGER = re.compile(r"(?:slash-)?agent(?:$|[^a-z0-9])", re.IGNORECASE)


class Allowance(NamedTuple):
    """What one run may write. `threads` are the numbers that it may address, each with whether it is a pull request;
    `replies` the review comments that it may answer. `triggers` are labels that start this bot, in lower case."""

    caps: WriteCaps
    threads: Mapping[int, bool]
    labels: tuple[str, ...]
    replies: frozenset[int] = frozenset()
    triggers: frozenset[str] = frozenset()


def is_ours(label: str) -> bool:
    """Whether a label with this name starts the bot; no run may set one."""
    return _TRIGGER.match(label.strip()) is not None


def refusal(write: Write, allowance: Allowance, before: Sequence[Write]) -> str:
    """Return why `write` is not allowed after the writes `before`, and what to do instead; empty if it is allowed."""
    if why := write_problem(write):
        return f"{why}."
    if write.number not in allowance.threads:
        known = ", ".join(f"#{number}" for number in sorted(allowance.threads)[:50])
        return f"#{write.number} is not among the threads of this run: {known or 'there are none'}."
    if write in before:
        return "This was proposed already, and it stands."
    if "label" in FIELDS[write.kind]:
        name = write.label.casefold()
        if is_ours(write.label) or name in allowance.triggers:
            return f"The label `{write.label}` starts this bot: it is for people to set."
        if name not in {label.casefold() for label in allowance.labels}:  # GitHub's are unique ignoring case
            allowed = ", ".join(f"`{label}`" for label in allowance.labels) or "none"
            return (
                f"The label `{write.label}` is not one of those that may be set or taken off here: {allowed}."
            )
    if write.kind == "reply" and write.comment_id not in allowance.replies:
        return f"{write.comment_id} is no review comment that this run was shown."
    name = _counter_of(write, allowance)
    most = getattr(allowance.caps, name)
    if sum(_counter_of(one, allowance) == name for one in before) < most:
        return ""
    if not most:
        return (
            f"This run may make no write of the kind `{name}`: neither leave a comment that says you would."
        )
    return f"This run may make {most} writes of the kind `{name}`, and has proposed them: leave it at that."


def _counter_of(write: Write, allowance: Allowance) -> str:
    return cap_name(write, is_pull_request=allowance.threads.get(write.number, False))
