"""Threads: create them, and create and remove their comments."""

from __future__ import annotations

from slash_forge.state import Comment, Issue, Repository, State, User


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
