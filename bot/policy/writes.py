"""What a run may write on threads besides its diff: the caps by tier and verb, and whether one write may be made.

The strictest wins: the tier's cap (or the policy's in its place, within `HIGHEST`), and the task's or the verb's own.
Asked twice with the same words: when the model proposes a write, and when it is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from bot.contracts.request import Tier, Verb
from bot.contracts.triage import ThreadState
from bot.contracts.writes import (
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    RemoveLabel,
    Write,
    WriteCaps,
    counted_as,
    trouble_in,
)
from bot.policy.schema import WritesPolicy

HIGHEST = WriteCaps(comment=50, reply=50, label=100, close=25, close_pulls=10, edit=10)
"""What no policy and no task can go beyond. Their sum is over what one bundle holds: that is a limit of its own."""

TIERS: Mapping[Tier, WriteCaps] = {
    Tier.MAINTAINER: WriteCaps(comment=20, reply=10, label=40, close=10, close_pulls=5, edit=5),
    Tier.SCHEDULE: WriteCaps(comment=20, reply=10, label=40, close=10, close_pulls=5, edit=5),
}
"""A run by anybody else writes nothing of its own accord, whatever the policy says."""

VERBS: Mapping[Verb, WriteCaps] = {
    Verb.FIX: WriteCaps(reply=10, label=5),
    Verb.REVIEW: WriteCaps(reply=10, label=5),
    Verb.EXPLAIN: WriteCaps(label=5),
    Verb.PLAN: WriteCaps(label=5),
}
"""Without a task, where the policy names the verb, and only in the thread that was asked in."""

_TRIGGER = re.compile(r"(?:slash-)?agent(?:$|[^a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one run may write. `threads` are the numbers that it may address, each with whether it is a pull request;
    `replies` the review comments that it may answer. `triggers` are labels that start this bot, in lower case."""

    caps: WriteCaps
    threads: Mapping[int, bool]
    labels: tuple[str, ...] = ()
    replies: frozenset[int] = frozenset()
    triggers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Standing:
    """What must hold of a thread at the moment of a write; the defaults ask nothing. See `bot.tasks.task`."""

    state: Literal["open", "closed"] | None = None
    kind: Literal["issues", "pulls", "all"] = "all"
    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    idle_days: int = 0
    own_labels: tuple[str, ...] = ()
    close_after_days: int = 0


def caps_of(policy: WritesPolicy, tier: Tier) -> WriteCaps:
    """What the policy leaves to a tier."""
    own = TIERS.get(tier)
    return WriteCaps() if own is None else replace(own, **policy.caps).within(HIGHEST)


def is_ours(label: str) -> bool:
    """Whether a label's name is of the kind that starts this bot: no run may set one."""
    return _TRIGGER.match(label.strip()) is not None


def refusal(write: Write, allowance: Allowance, before: Sequence[Write]) -> str:
    """Why `write` may not be made after those `before`, a sentence with what to do instead; empty where it may."""
    if why := trouble_in(write):
        return f"{why}."
    if write.number not in allowance.threads:
        known = ", ".join(f"#{number}" for number in sorted(allowance.threads)[:50])
        return f"#{write.number} is not among the threads of this run: {known or 'there are none'}."
    if write in before:
        return "This was proposed already, and it stands."
    if isinstance(write, AddLabel | RemoveLabel):
        name = write.label.casefold()
        if is_ours(write.label) or name in allowance.triggers:
            return f"The label `{write.label}` starts this bot: it is for people to set."
        if name not in _names(allowance.labels):
            allowed = ", ".join(f"`{label}`" for label in allowance.labels) or "none"
            return (
                f"The label `{write.label}` is not one of those that may be set or taken off here: {allowed}."
            )
    if isinstance(write, AddReply) and write.comment_id not in allowance.replies:
        return f"{write.comment_id} is no review comment that this run was shown."
    return _over(write, allowance, before)


def _over(write: Write, allowance: Allowance, before: Sequence[Write]) -> str:
    name = _counted(write, allowance)
    most = getattr(allowance.caps, name)
    if sum(_counted(one, allowance) == name for one in before) < most:
        return ""
    what = f"`{name}`"
    if not most:
        return f"This run may make no write of the kind {what}: neither leave a comment that says you would."
    return f"This run may make {most} writes of the kind {what}, and has proposed them: leave it at that."


def _counted(write: Write, allowance: Allowance) -> str:
    return counted_as(write, is_pull_request=allowance.threads.get(write.number, False))


def misplaced(write: Write, seen: ThreadState, rules: Standing, *, at: str, since: str = "") -> str:
    """Why `write` does not fit the thread as it stands, a clause; empty where it does.

    `at` is now, `since` when the run looked: what happened after that was not thought of.
    """
    if seen.locked:
        return "it is locked"
    if rules.state is not None and seen.state != rules.state:
        return f"it is {seen.state} now"
    if why := _unlike(seen, rules):
        return why
    if isinstance(write, RemoveLabel):
        # Takes back what this bot said, so it is right whatever has happened.
        return ""
    if since and seen.quiet_since > since:
        return "something has happened on it since the run looked"
    if not is_idle(seen, rules, at):
        return (
            f"something happened on it within {rules.idle_days} days, so a label may be taken off and no more"
        )
    if isinstance(write, AddComment) and seen.told_at and not seen.answered:
        return "there is a comment of this task's already, and nothing has happened since"
    if isinstance(write, AddLabel) and not _may_label(seen, at):
        return "this task commented on it before, and a label that is not there was taken off by somebody"
    if isinstance(write, CloseThread):
        return _not_to_close(seen, rules, at)
    return ""


def is_idle(seen: ThreadState, rules: Standing, at: str) -> bool:
    return not rules.idle_days or days_between(seen.quiet_since, at) >= rules.idle_days


def may_close(seen: ThreadState, rules: Standing, at: str) -> bool:
    return not _not_to_close(seen, rules, at)


def days_between(earlier: str, later: str) -> float:
    """Times are RFC 3339."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)) / timedelta(days=1)


def _may_label(seen: ThreadState, at: str) -> bool:
    """Taking a label off may leave no other trace of a person. One that belongs to a comment comes with it."""
    return not seen.told_at or seen.answered or days_between(seen.told_at, at) <= 1


def _not_to_close(seen: ThreadState, rules: Standing, at: str) -> str:
    after = rules.close_after_days
    if not after:
        return ""
    if not seen.told_at:
        return f"a thread is closed {after} days after this task commented on it, and it has not yet"
    if seen.answered:
        return "something has happened on it since this task commented"
    if rules.own_labels and not _names(seen.labels) & _names(rules.own_labels):
        return "it does not carry a label of this task's, so somebody may have taken it off"
    if days_between(seen.told_at, at) < after:
        return f"a thread is closed {after} days after this task commented on it, and that was on {seen.told_at[:10]}"
    return ""


def _names(labels: Iterable[str]) -> set[str]:
    """GitHub tells labels apart without regard to case."""
    return {label.casefold() for label in labels}


def _unlike(seen: ThreadState, rules: Standing) -> str:
    """How it differs from what the task's file says of threads."""
    if rules.kind != "all" and seen.is_pull_request != (rules.kind == "pulls"):
        return f"it is {'a pull request' if seen.is_pull_request else 'an issue'}, and the task is about {rules.kind}"
    there = _names(seen.labels)
    if lacking := next((label for label in rules.labels if label.casefold() not in there), ""):
        return f"it lacks the label `{lacking}`"
    if barred := next((label for label in rules.without if label.casefold() in there), ""):
        return f"it has the label `{barred}`"
    return ""
