"""Which Actions runs work on a thread: by our own progress comments, and by what GitHub says of the runs they name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bot.github.errors import GitHubError
from bot.github.values import WorkflowRunData
from bot.publish.thread.markers import PROGRESS
from bot.publish.thread.traces import Trace, traces

if TYPE_CHECKING:
    from bot.github.host import Host
    from bot.run.instant import Question

# No run of a hosted runner lasts longer; a progress comment is edited all the while.
_RECENT = timedelta(hours=24)
_MOST = 5


@dataclass(frozen=True, slots=True)
class Working:
    """A run that works on a request of this thread, and our comment that says so."""

    trace: Trace
    run: WorkflowRunData


@dataclass(frozen=True, slots=True)
class Seen:
    """`working` is newest first; `last` the newest comment of ours that is no word of a run still going on."""

    working: tuple[Working, ...]
    last: Trace | None


def look(question: Question, host: Host) -> Seen:
    """What there is to say of a thread. Reads the last day of it, and all only where that says nothing."""
    recent = _traces(question, host, _before(question.now))
    working = tuple(_working(question, host, recent))
    named = {one.trace.url for one in working}
    ended = [trace for trace in recent if trace.url not in named and trace.kind != "answer"]
    if not working and not ended:
        ended = [trace for trace in _traces(question, host, "") if trace.kind != "answer"]
    return Seen(working, ended[-1] if ended else None)


def _traces(question: Question, host: Host, since: str) -> list[Trace]:
    thread = question.thread
    return traces(
        host,
        question.request.repository,
        thread.number,
        thread_url=thread.url,
        is_pull=thread.is_pull_request,
        since=since,
    )


def _working(question: Question, host: Host, found: list[Trace]) -> list[Working]:
    named = [trace for trace in reversed(found) if trace.kind == PROGRESS and not trace.over and trace.run]
    working = []
    for trace in named[:_MOST]:
        if trace.run == question.run:
            continue
        run = _run(question, host, trace)
        if run is not None and run.status != "completed":
            working.append(Working(trace, run))
    return working


def _run(question: Question, host: Host, trace: Trace) -> WorkflowRunData | None:
    """The run that our comment names, where it is one of this repository that was there when the comment was
    written, and of the workflow that answers; `None` for any other, since somebody may have had us write its name."""
    try:
        run = host.workflow_run(question.request.repository, trace.run)
    except GitHubError as error:
        if error.status == 404:
            return None
        raise
    ours = not question.workflow or run.path.partition("@")[0] == question.workflow
    return run if ours and run.created_at <= trace.updated_at else None


def _before(now: str) -> str:
    moment = datetime.fromisoformat(now) if now else datetime.now(UTC)
    return (moment - _RECENT).strftime("%Y-%m-%dT%H:%M:%SZ")
