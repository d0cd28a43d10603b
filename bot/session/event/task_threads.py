"""Read the threads for a maintenance task in the supervisor, cleaned and cut to a budget."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile

from bot.contracts.request import ThreadState, Triage, TriageThread
from bot.events.event_request import is_own
from bot.events.thread_text import ThreadTexts
from bot.github.client import GitHub
from bot.github.values import IssueData, TextKind
from bot.maintenance.task import Task, TaskWrites, ThreadFilter
from bot.maintenance.thread_fit import days_between, folded, is_idle, reason_not_to_close
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


def gather(task: Task, github: GitHub, at: str) -> Triage:
    """The threads that `task` asks for, those first that it has labelled before. `at` is now. Raises `GitHubError`."""
    selection, writes = task.threads, task.writes
    assert selection is not None
    assert writes is not None
    texts, me = ThreadTexts(github), github.me
    threads: list[TriageThread] = []
    over_budget = size = 0
    for read, issue in enumerate(_candidates(selection, writes, github, at)):
        if len(threads) + over_budget == selection.limit:
            texts.missing.append(f"further threads beyond the {selection.limit} of one run")
            break
        if read == MOST_READ:
            texts.missing.append(f"threads beyond the first {MOST_READ}, which were not read")
            break
        if opened_by_us(issue, me):
            continue
        comments = list(github.comments(issue.number))
        state = thread_state(issue, comments, me, task.name)
        if not _needs_writes(state, selection, writes, at):
            texts.leave_out("thread", "on which there is nothing to do yet")
            continue
        if size <= BUDGET:
            texts.number = issue.number
            # Our own comments are represented by the thread's state.
            others = [comment for comment in comments if not is_own(comment.body)][-NEWEST:]
            thread = TriageThread(
                state=state._replace(labels=tuple(texts.line(label, 60) for label in state.labels)),
                title=texts.line(issue.title, MAX_TITLE),
                body=texts.shown(TextKind.THREAD, 0, issue.body, MAX_BODY),
                author=issue.author.login,
                created_at=issue.created_at,
                comments=tuple(texts.comment(one, MAX_COMMENT) for one in others),
            )
            parts = (thread.title, thread.body, *(one.body for one in thread.comments))
            size += sum(map(len, parts)) + 200
        if size > BUDGET:
            over_budget += 1
            texts.leave_out("thread", f"over the {BUDGET:,} characters that there is room for")
        else:
            threads.append(thread)
    return Triage(at, tuple(threads), texts.notes())


def _candidates(selection: ThreadFilter, writes: TaskWrites, github: GitHub, at: str) -> Iterator[IssueData]:
    """Each once: those that carry a label of the task's, then those that have been quiet for the longest time."""
    numbers: set[int] = set()
    without = folded(selection.without)
    labels = selection.labels

    def listed(labels: Sequence[str], *, quietest: bool = False) -> Iterator[IssueData]:
        return islice(github.issues(selection.state, labels, quietest=quietest), MOST_LISTED)

    issues: Iterable[IssueData] = listed(labels)
    if idle := selection.idle_days:
        quietest = listed(labels, quietest=True)
        quiet = takewhile(lambda issue: days_between(issue.updated_at, at) >= idle, quietest)
        issues = chain(chain.from_iterable(listed((*labels, label)) for label in writes.labels), quiet)
    for issue in issues:
        if issue.number in numbers or issue.locked:
            continue
        numbers.add(issue.number)
        kind_matches = selection.kind == "all" or issue.is_pull_request == (selection.kind == "pulls")
        if kind_matches and not without & folded(issue.labels):
            yield issue


def _needs_writes(state: ThreadState, threads: ThreadFilter, writes: TaskWrites, at: str) -> bool:
    """Whether there may be something to do: where something has happened, a label of the task's may have to go; where
    the task has spoken and nobody has answered, the time to close may have come."""
    if not is_idle(state, threads, at):
        return bool(folded(writes.labels) & folded(state.labels))
    if not state.told_at or state.answered:
        return True
    return bool(writes.close or writes.close_pulls) and not reason_not_to_close(state, writes, at)
