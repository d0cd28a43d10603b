"""Threads: create and remove them and their comments, set labels and assignees, and record their timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from slash_forge.state import Comment, Issue, Label, Repository, State, User

T = TypeVar("T")


def create(
    state: State,
    repository: Repository,
    author: User | None,
    *,
    title: str,
    body: str | None,
    at: str | None = None,
) -> Issue:
    """Issues and pull requests share one sequence of numbers. `at` is the creation time; the default is now."""
    now = at or state.now()
    number = next(reversed(repository.threads), 0) + 1
    issue = Issue(state.next_id(), number, title, body, author, now, now)
    repository.threads[number] = issue
    return issue


def add_comment(
    state: State, repository: Repository, issue: Issue, author: User, *, body: str, at: str | None = None
) -> Comment:
    when = at or state.now()
    comment = Comment(state.next_id(), author, body, when, when)
    issue.comments.append(comment)
    repository.comments[comment.id] = issue, comment
    issue.updated_at = max(issue.updated_at, when)
    return comment


def remove_comment(repository: Repository, comment: Comment) -> None:
    issue, _ = repository.comments.pop(comment.id)
    issue.comments.remove(comment)


# -- timeline: labelling and assigning do not change `updated_at`, so only it says when they happened


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """`kind` is GitHub's `event`; `subject` is the label or the person it was about."""

    id: int
    kind: str
    actor: User | None
    at: str
    subject: Label | User | None = None
    details: Mapping[str, str] = field(default_factory=dict)


def record_event(
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
        record_event(state, issue, "unlabeled", actor, subject=label)
    for label in _missing(issue.labels, before):
        record_event(state, issue, "labeled", actor, subject=label)


def set_assignees(state: State, issue: Issue, users: Iterable[User], actor: User | None) -> None:
    before, issue.assignees = issue.assignees, list(users)
    for user in _missing(before, issue.assignees):
        record_event(state, issue, "unassigned", actor, subject=user)
    for user in _missing(issue.assignees, before):
        record_event(state, issue, "assigned", actor, subject=user)


def _missing(items: list[T], others: list[T]) -> list[T]:
    return [item for item in items if item not in others]
