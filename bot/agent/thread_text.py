"""Text for the model of review threads, failing checks and the threads of a maintenance task, with a note for
what is left out. All of it is untrusted; the caller fences it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from bot.contracts.formatting import count_of
from bot.contracts.pulls import Annotation, Comment, FailedCheck, FailedStep, ReviewThread, Side
from bot.contracts.request import Triage, TriageThread

# In characters. Together with the thread and the diff this stays within a quarter of a small context window.
MAX_THREADS = 40_000
MAX_FAILURES = 60_000
_MAX_COMMENT = 6_000
_MAX_HUNK = 4_000
_MAX_LOG = 20_000
_MAX_SUMMARY = 2_000
_MAX_ANNOTATIONS = 30
_MAX_MESSAGE = 500

_Item = TypeVar("_Item")


def anchor_text(thread: ReviewThread) -> str:
    """Return one review thread: file, lines, hunk and comments."""
    return "\n\n".join(_thread(thread))


def threads_text(threads: Sequence[ReviewThread]) -> str:
    """Return the threads in order, as many as fit."""
    return _join_fitting(threads, anchor_text, MAX_THREADS, "further thread")


def failures_text(failures: Sequence[FailedCheck]) -> str:
    """Return the failed checks with their annotations and the ends of their logs, as many as fit."""
    return _join_fitting(failures, _failure, MAX_FAILURES, "further failing check")


def _thread(thread: ReviewThread) -> Iterator[str]:
    state = ", resolved" if thread.resolved else ""
    yield f"Thread {thread.id} on {thread.path}, {_lines(thread)}{state}:"
    if thread.hunk:
        yield _head(thread.hunk, _MAX_HUNK)
    yield from (_comment(comment) for comment in thread.comments)


def _lines(thread: ReviewThread) -> str:
    if thread.line == 0:
        return "lines that are gone" if thread.outdated else "the file as a whole"
    side = " of the old file" if thread.side is Side.LEFT else ""
    old = ", outdated" if thread.outdated else ""
    first = thread.start_line or thread.line
    return (
        f"line {thread.line}{side}{old}"
        if first == thread.line
        else f"lines {first} to {thread.line}{side}{old}"
    )


def _comment(comment: Comment) -> str:
    return f"Comment by {comment.author}, {comment.created_at}:\n{_head(comment.body.strip(), _MAX_COMMENT)}"


def _failure(check: FailedCheck) -> str:
    parts = [f"{check.name}: {check.conclusion}"]
    if check.summary.strip():
        parts.append(_head(check.summary.strip(), _MAX_SUMMARY))
    if check.annotations:
        parts.append("\n".join(_annotations(check.annotations)))
    parts += [_step(step) for step in check.steps]
    return "\n\n".join(parts)


def _annotations(annotations: Sequence[Annotation]) -> Iterator[str]:
    for one in annotations[:_MAX_ANNOTATIONS]:
        yield f"- {one.path}:{one.line}: {one.level}: {_head(one.message.strip(), _MAX_MESSAGE)}"
    if (more := len(annotations) - _MAX_ANNOTATIONS) > 0:
        yield f"- and {count_of(more, 'annotation')} more"


def _step(step: FailedStep) -> str:
    log = step.log.rstrip()
    cut = f"… {len(log) - _MAX_LOG:,} characters before this are left out …\n" if len(log) > _MAX_LOG else ""
    return f"The step {step.name!r}, the end of its log:\n{cut}{log[-_MAX_LOG:]}"


def _join_fitting(items: Sequence[_Item], render: Callable[[_Item], str], limit: int, noun: str) -> str:
    """Join the first item and as many others as fit into `limit` characters."""
    texts: list[str] = []
    for item in items:
        text = render(item)
        if texts and sum(map(len, texts)) + len(text) > limit:
            break
        texts.append(text)
    if left := len(items) - len(texts):
        texts.append(f"(Left out: {count_of(left, noun)}.)")
    return "\n\n---\n\n".join(texts)


def _head(text: str, limit: int) -> str:
    return (
        text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} characters are left out …"
    )


def triage_text(triage: Triage) -> str:
    """Return the threads of a maintenance task; their length is already limited."""
    parts = [f"It is {triage.at}."]
    if triage.left_out:
        parts.append(f"(Left out: {'; '.join(triage.left_out)}.)")
    for thread in triage.threads:
        parts += _triage_thread(thread)
    return "\n\n".join(parts)


def _triage_thread(thread: TriageThread) -> Iterator[str]:
    state = thread.state
    kind = "Pull request" if state.is_pull_request else "Issue"
    labels = ", ".join(state.labels) or "none"
    yield (
        f"{kind} #{state.number} by {thread.author}, {thread.created_at[:10]}: {thread.title}\n"
        f"labels: {labels}; last activity: {state.quiet_since[:10]}; {_activity(thread)}"
    )
    if thread.body.strip():
        yield thread.body.strip()
    for one in thread.comments:
        yield f"Comment on #{state.number} by {one.author}, {one.created_at[:10]}:\n{one.body.strip()}"


def _activity(thread: TriageThread) -> str:
    state = thread.state
    if not state.told_at:
        return "this task has not commented on it"
    since = "something has happened since" if state.answered else "nothing has happened since"
    return f"this task commented on {state.told_at[:10]}, and {since}"
