"""What a run may write on threads: the limits by tier and verb, and whether one write is allowed.

The strictest wins: the tier's cap (or the policy's in its place, within `HIGHEST`), and the task's or the verb's own.
Checked twice: when the model proposes a write, and when it is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from bot.contracts.request import ThreadState, Tier
from bot.contracts.writes import (
    AddComment,
    AddLabel,
    AddReply,
    CloseThread,
    RemoveLabel,
    Write,
    WriteCaps,
    cap_name,
    write_problem,
)
from bot.verbs import registry

HIGHEST = WriteCaps(comment=50, reply=50, label=100, close=25, close_pulls=10, edit=10)
"""The maximum for any policy and task. Their sum exceeds what one bundle holds, which has its own limit."""

TIERS: Mapping[Tier, WriteCaps] = {
    Tier.MAINTAINER: WriteCaps(comment=20, reply=10, label=40, close=10, close_pulls=5, edit=5),
    Tier.SCHEDULE: WriteCaps(comment=20, reply=10, label=40, close=10, close_pulls=5, edit=5),
}
"""The runs of other tiers write nothing on threads, whatever the policy says."""

VERBS: Mapping[str, WriteCaps] = {verb.name: verb.writes for verb in registry.VERBS.values() if verb.writes}
"""For runs without a task, if the policy names the verb, and only in the thread of the request."""

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
class ThreadConditions:
    """Conditions of a thread for a write; the defaults require nothing. See `bot.maintenance.task`."""

    state: Literal["open", "closed"] | None = None
    kind: Literal["issues", "pulls", "all"] = "all"
    labels: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    idle_days: int = 0
    own_labels: tuple[str, ...] = ()
    close_after_days: int = 0


def caps_of(caps: Mapping[str, int], tier: Tier) -> WriteCaps:
    """Return the caps of a tier, with those of the policy, `caps`, in their place."""
    own = TIERS.get(tier)
    return WriteCaps() if own is None else replace(own, **caps).capped_by(HIGHEST)


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
    name = _counter_of(write, allowance)
    most = getattr(allowance.caps, name)
    if sum(_counter_of(one, allowance) == name for one in before) < most:
        return ""
    what = f"`{name}`"
    if not most:
        return f"This run may make no write of the kind {what}: neither leave a comment that says you would."
    return f"This run may make {most} writes of the kind {what}, and has proposed them: leave it at that."


def _counter_of(write: Write, allowance: Allowance) -> str:
    return cap_name(write, is_pull_request=allowance.threads.get(write.number, False))


def mismatch(write: Write, seen: ThreadState, rules: ThreadConditions, *, at: str, since: str = "") -> str:
    """Return why `write` does not fit the current state of the thread, as a clause; empty if it does.

    `at` is now, `since` the time at which the run read the thread.
    """
    if seen.locked:
        return "it is locked"
    if rules.state is not None and seen.state != rules.state:
        return f"it is {seen.state} now"
    if why := _unlike(seen, rules):
        return why
    if isinstance(write, RemoveLabel):
        # Reverts the bot's own action, so it fits any state.
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


def is_idle(seen: ThreadState, rules: ThreadConditions, at: str) -> bool:
    return not rules.idle_days or days_between(seen.quiet_since, at) >= rules.idle_days


def may_close(seen: ThreadState, rules: ThreadConditions, at: str) -> bool:
    return not _not_to_close(seen, rules, at)


def days_between(earlier: str, later: str) -> float:
    """Times are RFC 3339."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)) / timedelta(days=1)


def _may_label(seen: ThreadState, at: str) -> bool:
    """Whether a label may be set: not again if somebody may have removed it, except together with a new comment."""
    return not seen.told_at or seen.answered or days_between(seen.told_at, at) <= 1


def _not_to_close(seen: ThreadState, rules: ThreadConditions, at: str) -> str:
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
    """Return the labels for a comparison: GitHub's are unique ignoring case."""
    return {label.casefold() for label in labels}


def _unlike(seen: ThreadState, rules: ThreadConditions) -> str:
    """Return how the thread differs from the conditions of the task's file; empty if it does not."""
    if rules.kind != "all" and seen.is_pull_request != (rules.kind == "pulls"):
        return f"it is {'a pull request' if seen.is_pull_request else 'an issue'}, and the task is about {rules.kind}"
    there = _names(seen.labels)
    if lacking := next((label for label in rules.labels if label.casefold() not in there), ""):
        return f"it lacks the label `{lacking}`"
    if barred := next((label for label in rules.without if label.casefold() in there), ""):
        return f"it has the label `{barred}`"
    return ""
