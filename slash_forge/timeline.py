"""What happened to a thread besides words: labelled, assigned, closed and the like, each with its time.

Labelling and assigning do not change `updated_at`: this list alone knows when they happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from slash_forge.state import Issue, Label, State, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """`kind` is GitHub's `event`; `subject` is the label or the person it was about."""

    id: int
    kind: str
    actor: User | None
    at: str
    subject: Label | User | None = None
    details: Mapping[str, str] = field(default_factory=dict)


def note(
    state: State,
    issue: Issue,
    kind: str,
    actor: User | None,
    *,
    subject: Label | User | None = None,
    details: Mapping[str, str] | None = None,
) -> None:
    issue.timeline.append(TimelineEvent(state.next_id(), kind, actor, state.now(), subject, details or {}))


def set_labels(state: State, issue: Issue, labels: Iterable[Label], actor: User | None) -> None:
    before, issue.labels = issue.labels, list(labels)
    for label in _missing(before, issue.labels):
        note(state, issue, "unlabeled", actor, subject=label)
    for label in _missing(issue.labels, before):
        note(state, issue, "labeled", actor, subject=label)


def set_assignees(state: State, issue: Issue, users: Iterable[User], actor: User | None) -> None:
    before, issue.assignees = issue.assignees, list(users)
    for user in _missing(before, issue.assignees):
        note(state, issue, "unassigned", actor, subject=user)
    for user in _missing(issue.assignees, before):
        note(state, issue, "assigned", actor, subject=user)


def _missing(items: list[T], others: list[T]) -> list[T]:
    return [item for item in items if item not in others]
