"""Read the context of a pull request: reviews, review threads, failed checks, the lines of a comment.

All of it is other people's text: cleaned and cut to budgets, with notes on what is omitted.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from bot.contracts.errors import AgentError
from bot.contracts.pulls import Comment, FailedCheck, FailedStep, ReviewText, ReviewThread
from bot.contracts.request import Request
from bot.events.event_request import REVIEW, REVIEW_COMMENT
from bot.events.thread_text import TextCleaner, ThreadTexts
from bot.github.values import OWN_MARKER, TextKind

# In characters; about a quarter as many tokens.
THREADS_BUDGET = 40_000
FAILURES_BUDGET = 60_000
REVIEWS_BUDGET = 20_000
MAX_COMMENT = 6_000
MAX_HUNK = 4_000
MAX_LOG = 12_000
MAX_SUMMARY = 4_000
MAX_LINE = 500
MAX_ANNOTATIONS = 50
_Item = TypeVar("_Item")
_NO_ROOM = "over the {} characters that there is room for"
_STRANGERS = "by people from outside the repository, which they may have edited since"
_INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")


def with_pull_context(request: Request, texts: ThreadTexts, failures_of: str) -> Request:
    """Return `request` with the context of its thread, a pull request; reviews are among its comments. `texts` has read
    the conversation; the failed checks are those of the commit `failures_of`, none if it is empty. Of the payload's
    location of a review comment, `request.anchor`, the thread is read. What GitHub does not return is noted, not
    raised: a request can do without it. Raises `EditedTextError`."""
    thread, anchor = request.thread, request.anchor
    assert thread is not None
    reader, number = texts.reader, texts.number
    threads = _read(texts, "review threads", lambda: reader.review_threads(number))
    if anchor is not None:
        # The payload's lines, which are those of the head, with the comments of the thread.
        known = next((thread for thread in threads if _contains_anchor(thread, anchor)), anchor)
        comments = _comments(texts, known)
        request = request._replace(
            anchor=_clean_thread(anchor, texts)._replace(comments=comments, resolved=known.resolved)
        )
    open_threads = [one for one in threads if not one.resolved and not _contains_anchor(one, anchor)]
    unresolved = _newest_threads(texts, open_threads)
    failed_checks: list[FailedCheck] = []
    if failures_of:
        failed_checks += _read(texts, "failed checks", lambda: reader.failed_checks(failures_of))
        failed_checks += _read(texts, "commit statuses", lambda: reader.failed_statuses(failures_of))
    failures = _failures(texts, failed_checks)
    reviews = _read(texts, "texts of reviews", lambda: _reviews(texts, reader.newest_reviews(number)))
    all_comments = sorted((*thread.comments, *reviews), key=lambda one: one.created_at)
    thread = thread._replace(comments=tuple(all_comments), left_out=texts.notes())
    return request._replace(thread=thread, unresolved=unresolved, failures=failures)


def _read(texts: ThreadTexts, what: str, read: Callable[[], Sequence[_Item]]) -> Sequence[_Item]:
    try:
        return read()
    except AgentError as error:
        why = " ".join(str(error).rstrip(".").split())[:200]
        texts.missing.append(f"the {what}, which could not be read ({why})")
        return ()


def _reviews(texts: ThreadTexts, newest: Iterable[ReviewText]) -> tuple[Comment, ...]:
    """Return the texts of reviews by others, oldest first; the newest, if they are too long together.

    GitHub does not report edits of them, so only those of the repository's own people count.
    """
    selected: list[Comment] = []
    size = 0
    for review in newest:
        at = review.submitted_at
        if not review.body.strip() or OWN_MARKER in review.body:
            continue
        if not texts.precedes("review", REVIEW, review.id, at, at):
            continue
        if review.association not in _INSIDERS:
            texts.leave_out("review", _STRANGERS)
        elif (size := size + len(review.state) + len(review.body[:MAX_COMMENT])) > REVIEWS_BUDGET:
            texts.leave_out("review", _NO_ROOM.format(REVIEWS_BUDGET))
        else:
            state = review.state.lower().replace("_", " ")
            text = texts.shown(TextKind.REVIEW, review.id, review.body, MAX_COMMENT)
            body = f"(A review: {state}.) {text}"
            selected.append(Comment(review.id, review.author, body, at, at, of_review=True))
    return tuple(reversed(selected))


def _newest_threads(texts: ThreadTexts, threads: Sequence[ReviewThread]) -> tuple[ReviewThread, ...]:
    """Return the threads in their order; if they are too long together, those with the newest comments."""
    remaining = [
        thread._replace(comments=comments) for thread in threads if (comments := _comments(texts, thread))
    ]
    selected: set[int] = set()
    size = 0
    for thread in sorted(remaining, key=lambda thread: thread.comments[-1].created_at, reverse=True):
        size += len(thread.hunk[:MAX_HUNK]) + sum(len(comment.body) for comment in thread.comments)
        if size > THREADS_BUDGET:
            texts.leave_out("review thread", _NO_ROOM.format(THREADS_BUDGET))
        else:
            selected.add(thread.id)
    return tuple(_clean_thread(thread, texts) for thread in remaining if thread.id in selected)


def _comments(texts: ThreadTexts, thread: ReviewThread) -> tuple[Comment, ...]:
    """Return the comments of a thread at the trigger, our own included, since others answer them."""
    comments = []
    for comment in thread.comments:
        at = comment.created_at, comment.updated_at
        if texts.precedes("review comment", REVIEW_COMMENT, comment.id, *at):
            by_bot = comment.author.endswith("[bot]")
            kind, limit = TextKind.REVIEW_COMMENT, MAX_COMMENT
            body = texts.shown(kind, comment.id, comment.body, limit, by_bot=by_bot)
            comments.append(comment._replace(body=body))
    return tuple(comments)


def _failures(cleaner: TextCleaner, checks: Sequence[FailedCheck]) -> tuple[FailedCheck, ...]:
    """Return the failed checks that fit, cleaned; the first in any case."""
    cleaned: list[FailedCheck] = []
    size = 0
    for check in (_failure(cleaner, one) for one in checks):
        size += len(check.summary) + sum(len(step.log) for step in check.steps)
        size += sum(len(annotation.message) for annotation in check.annotations)
        if size > FAILURES_BUDGET and cleaned:
            omitted = len(checks) - len(cleaned)
            cleaner.leave_out("failed check", _NO_ROOM.format(FAILURES_BUDGET), omitted)
            break
        cleaned.append(check)
    return tuple(cleaned)


def _failure(cleaner: TextCleaner, check: FailedCheck) -> FailedCheck:
    omitted = max(0, len(check.annotations) - MAX_ANNOTATIONS)
    cleaner.leave_out("annotation", f"over {MAX_ANNOTATIONS} a check", omitted)
    annotations = (
        one._replace(path=_clean_path(one.path, cleaner), message=cleaner.text(one.message, MAX_LINE))
        for one in check.annotations[:MAX_ANNOTATIONS]
    )
    steps = []
    for step in check.steps:
        log = cleaner.text(step.log, len(step.log))
        if (cut := len(log) - MAX_LOG) > 0:  # the reason of a failure is at the end of a log
            log = f"[{cut} characters left out]\n{log[-MAX_LOG:]}"
        steps.append(FailedStep(cleaner.line(step.name, MAX_LINE), log))
    return check._replace(
        name=cleaner.line(check.name, MAX_LINE),
        url=cleaner.line(check.url, MAX_LINE),
        summary=cleaner.text(check.summary, MAX_SUMMARY),
        annotations=tuple(annotations),
        steps=tuple(steps),
    )


def _contains_anchor(thread: ReviewThread, anchor: ReviewThread | None) -> bool:
    return anchor is not None and anchor.id in (thread.id, *(comment.id for comment in thread.comments))


def _clean_thread(thread: ReviewThread, cleaner: TextCleaner) -> ReviewThread:
    return thread._replace(path=_clean_path(thread.path, cleaner), hunk=cleaner.text(thread.hunk, MAX_HUNK))


def _clean_path(path: str, cleaner: TextCleaner) -> str:
    """Return a path unchanged, since lines are found by it, unless it contains invisible characters."""
    return path if path.isprintable() else cleaner.line(path, MAX_LINE)
