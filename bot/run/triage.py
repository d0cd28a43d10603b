"""What a maintenance task is shown of the tracker: read by the supervisor, cleaned, cut to a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from bot.contracts.comments import Comment
from bot.contracts.threads import CommentData, IssueData
from bot.contracts.triage import ThreadState, Triage, TriageThread
from bot.github.values import Account
from bot.intake.asked import is_own as is_own_text
from bot.intake.prepared import Prepared, said
from bot.policy.writes import Standing, days_between, is_idle, may_close
from bot.publish.thread.state import is_own, thread_state
from bot.tasks.allowed import standing_of
from bot.tasks.task import Task

# In characters; about a quarter as many tokens.
BUDGET = 60_000
MAX_BODY = 2_500
MAX_COMMENT = 1_000
MAX_TITLE = 300
NEWEST = 4
"""Comments that are shown of one thread."""
MOST_READ = 200
"""Threads whose comments are read, a request or more each."""
MOST_LISTED = 2_000


class TriageHost(Protocol):
    """See `bot.github.client.GitHub` for each method."""

    def me(self) -> Account | None: ...
    def issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = (), creator: str = ""
    ) -> Iterator[IssueData]: ...
    def quietest_issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = ()
    ) -> Iterator[IssueData]: ...
    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]: ...


@dataclass(slots=True)
class _Counts:
    waiting: int = 0
    over_limit: bool = False
    over_budget: int = 0
    unread: bool = False


def gather(task: Task, repository: str, host: TriageHost, at: str) -> Triage:
    """The threads that `task` asks for, those first that it has labelled before. `at` is now. Raises `GitHubError`."""
    wanted, rules = task.threads, standing_of(task)
    if wanted is None:
        return Triage(at, ())
    counts, prepared, me = _Counts(), Prepared(), host.me()
    found: list[tuple[IssueData, ThreadState, list[CommentData]]] = []
    for read, issue in enumerate(_candidates(task, repository, host, rules, at)):
        if len(found) == wanted.limit:
            counts.over_limit = True
            break
        if read == MOST_READ:
            counts.unread = True
            break
        if is_own(issue, me):
            continue
        comments = list(host.comments(repository, issue.number))
        seen = thread_state(issue, comments, me, task.name)
        if _may_be_written_on(seen, task, at):
            found.append((issue, seen, comments))
        else:
            counts.waiting += 1
    shown = _within_budget(found, counts, prepared)
    return Triage(at, shown, (*_in_words(counts, wanted.limit), *prepared.words()))


def _candidates(
    task: Task, repository: str, host: TriageHost, rules: Standing, at: str
) -> Iterator[IssueData]:
    """Each once: those that carry a label of the task's, then those that have been quiet for the longest time."""
    wanted = task.threads
    assert wanted is not None
    known: set[int] = set()
    for issue in _listed(task, repository, host, rules, at):
        if issue.number in known or issue.locked:
            continue
        known.add(issue.number)
        names = {label.casefold() for label in issue.labels}
        alike = wanted.kind == "all" or issue.is_pull_request == (wanted.kind == "pulls")
        if alike and not names & {label.casefold() for label in wanted.without}:
            yield issue


def _listed(task: Task, repository: str, host: TriageHost, rules: Standing, at: str) -> Iterator[IssueData]:
    wanted = task.threads
    assert wanted is not None
    if not wanted.idle_days:
        yield from _first(host.issues(repository, wanted.state, wanted.labels))
        return
    for label in rules.own_labels:
        yield from _first(host.issues(repository, wanted.state, (*wanted.labels, label)))
    for issue in _first(host.quietest_issues(repository, wanted.state, wanted.labels)):
        if days_between(issue.updated_at, at) < wanted.idle_days:
            return
        yield issue


def _first(issues: Iterable[IssueData]) -> Iterator[IssueData]:
    for number, issue in enumerate(issues):
        if number == MOST_LISTED:
            return
        yield issue


def _may_be_written_on(seen: ThreadState, task: Task, at: str) -> bool:
    """Whether there may be something to do: where something has happened, a label of the task's may have to go; where
    the task has spoken and nobody has answered, the time to close may have come."""
    rules = standing_of(task)
    if not is_idle(seen, rules, at):
        own = {label.casefold() for label in rules.own_labels}
        return bool(own & {label.casefold() for label in seen.labels})
    if not seen.told_at or seen.answered:
        return True
    closes = task.writes is not None and bool(task.writes.caps.close or task.writes.caps.close_pulls)
    return closes and may_close(seen, rules, at)


def _within_budget(
    found: Sequence[tuple[IssueData, ThreadState, list[CommentData]]], counts: _Counts, prepared: Prepared
) -> tuple[TriageThread, ...]:
    shown: list[TriageThread] = []
    size = 0
    for issue, seen, comments in found:
        one = _thread(issue, seen, comments, prepared)
        size += len(one.title) + len(one.body) + sum(len(comment.body) for comment in one.comments) + 200
        if size > BUDGET:
            counts.over_budget = len(found) - len(shown)
            break
        shown.append(one)
    return tuple(shown)


def _thread(
    issue: IssueData, seen: ThreadState, comments: Sequence[CommentData], prepared: Prepared
) -> TriageThread:
    """Our own comments are said in words by the state."""
    others = [comment for comment in comments if not is_own_text(comment.body)][-NEWEST:]
    return TriageThread(
        state=replace(seen, labels=tuple(prepared.line(label, 60) for label in seen.labels)),
        title=prepared.line(issue.title, MAX_TITLE),
        body=prepared.text(issue.body, MAX_BODY),
        author=issue.author,
        created_at=issue.created_at,
        comments=tuple(
            Comment(one.id, one.author, prepared.text(one.body, MAX_COMMENT), one.created_at, one.updated_at)
            for one in others
        ),
    )


def _in_words(counts: _Counts, limit: int) -> tuple[str, ...]:
    """What the model, and people in the log, should know is missing."""
    return (
        *said(
            (counts.waiting, "thread", "on which there is nothing to do yet"),
            (counts.over_budget, "thread", f"over the {BUDGET:,} characters that there is room for"),
        ),
        *((f"further threads beyond the {limit} of one run",) if counts.over_limit else ()),
        *((f"threads beyond the first {MOST_READ}, which were not read",) if counts.unread else ()),
    )
