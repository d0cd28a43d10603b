"""Read the threads for a maintenance task in the supervisor, cleaned and cut to a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.contracts.pulls import Comment
from bot.contracts.request import ThreadState, Triage, TriageThread
from bot.contracts.threads import CommentData, IssueData, TextKind
from bot.events.event_request import is_own as is_own_text
from bot.events.thread_html import ThreadHtml
from bot.events.thread_text import TextCleaner, count_notes
from bot.github.client import GitHub
from bot.maintenance.apply import standing_of
from bot.maintenance.task import Task
from bot.policy.writes import ThreadConditions, days_between, is_idle, may_close
from bot.publish.thread.history import opened_by_us, thread_state

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


@dataclass(slots=True)
class _Counts:
    waiting: int = 0
    over_limit: bool = False
    over_budget: int = 0
    unread: bool = False


def gather(task: Task, repository: str, host: GitHub, at: str) -> Triage:
    """The threads that `task` asks for, those first that it has labelled before. `at` is now. Raises `GitHubError`."""
    selection, rules = task.threads, standing_of(task)
    if selection is None:
        return Triage(at, ())
    counts, cleaner, me = _Counts(), TextCleaner(), host.me()
    selected: list[tuple[IssueData, ThreadState, list[CommentData]]] = []
    for read, issue in enumerate(_candidates(task, repository, host, rules, at)):
        if len(selected) == selection.limit:
            counts.over_limit = True
            break
        if read == MOST_READ:
            counts.unread = True
            break
        if opened_by_us(issue, me):
            continue
        comments = list(host.comments(repository, issue.number))
        state = thread_state(issue, comments, me, task.name)
        if _needs_writes(state, task, at):
            selected.append((issue, state, comments))
        else:
            counts.waiting += 1
    threads = _threads_in_budget(
        selected, counts, cleaner, lambda number: ThreadHtml(host, repository, number)
    )
    return Triage(at, threads, (*_omission_notes(counts, selection.limit), *cleaner.notes()))


def _candidates(
    task: Task, repository: str, host: GitHub, rules: ThreadConditions, at: str
) -> Iterator[IssueData]:
    """Each once: those that carry a label of the task's, then those that have been quiet for the longest time."""
    selection = task.threads
    assert selection is not None
    numbers: set[int] = set()
    for issue in _matching_issues(task, repository, host, rules, at):
        if issue.number in numbers or issue.locked:
            continue
        numbers.add(issue.number)
        names = {label.casefold() for label in issue.labels}
        kind_matches = selection.kind == "all" or issue.is_pull_request == (selection.kind == "pulls")
        if kind_matches and not names & {label.casefold() for label in selection.without}:
            yield issue


def _matching_issues(
    task: Task, repository: str, host: GitHub, rules: ThreadConditions, at: str
) -> Iterator[IssueData]:
    selection = task.threads
    assert selection is not None
    if not selection.idle_days:
        yield from _first(host.issues(repository, selection.state, selection.labels))
        return
    for label in rules.own_labels:
        yield from _first(host.issues(repository, selection.state, (*selection.labels, label)))
    for issue in _first(host.quietest_issues(repository, selection.state, selection.labels)):
        if days_between(issue.updated_at, at) < selection.idle_days:
            return
        yield issue


def _first(issues: Iterable[IssueData]) -> Iterator[IssueData]:
    for number, issue in enumerate(issues):
        if number == MOST_LISTED:
            return
        yield issue


def _needs_writes(state: ThreadState, task: Task, at: str) -> bool:
    """Whether there may be something to do: where something has happened, a label of the task's may have to go; where
    the task has spoken and nobody has answered, the time to close may have come."""
    rules = standing_of(task)
    if not is_idle(state, rules, at):
        own = {label.casefold() for label in rules.own_labels}
        return bool(own & {label.casefold() for label in state.labels})
    if not state.told_at or state.answered:
        return True
    closes = task.writes is not None and bool(task.writes.caps.close or task.writes.caps.close_pulls)
    return closes and may_close(state, rules, at)


def _threads_in_budget(
    selected: Sequence[tuple[IssueData, ThreadState, list[CommentData]]],
    counts: _Counts,
    cleaner: TextCleaner,
    html_of: Callable[[int], ThreadHtml],
) -> tuple[TriageThread, ...]:
    threads: list[TriageThread] = []
    size = 0
    for issue, state, comments in selected:
        thread = _thread(issue, state, comments, cleaner, html_of(issue.number))
        size += (
            len(thread.title) + len(thread.body) + sum(len(comment.body) for comment in thread.comments) + 200
        )
        if size > BUDGET:
            counts.over_budget = len(selected) - len(threads)
            break
        threads.append(thread)
    return tuple(threads)


def _thread(
    issue: IssueData,
    state: ThreadState,
    comments: Sequence[CommentData],
    cleaner: TextCleaner,
    html: ThreadHtml,
) -> TriageThread:
    """Build the thread for the model. Our own comments are represented by its state."""
    others = [comment for comment in comments if not is_own_text(comment.body)][-NEWEST:]
    return TriageThread(
        state=replace(state, labels=tuple(cleaner.line(label, 60) for label in state.labels)),
        title=cleaner.line(issue.title, MAX_TITLE),
        body=cleaner.shortened(html.shown(TextKind.THREAD, 0, issue.body), MAX_BODY),
        author=issue.author.login,
        created_at=issue.created_at,
        comments=tuple(
            Comment(
                comment.id,
                comment.author.login,
                cleaner.shortened(html.shown(TextKind.COMMENT, comment.id, comment.body), MAX_COMMENT),
                comment.created_at,
                comment.updated_at,
            )
            for comment in others
        ),
    )


def _omission_notes(counts: _Counts, limit: int) -> tuple[str, ...]:
    """Return notes on what is omitted, for the model and the log."""
    return (
        *count_notes(
            (counts.waiting, "thread", "on which there is nothing to do yet"),
            (counts.over_budget, "thread", f"over the {BUDGET:,} characters that there is room for"),
        ),
        *((f"further threads beyond the {limit} of one run",) if counts.over_limit else ()),
        *((f"threads beyond the first {MOST_READ}, which were not read",) if counts.unread else ()),
    )
