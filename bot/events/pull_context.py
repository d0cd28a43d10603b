"""Read the context of a pull request: reviews, review threads, failed checks, the lines of a comment.

All of it is other people's text: cleaned and cut to budgets, with notes on what is omitted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bot.contracts.errors import AgentError
from bot.contracts.pulls import Comment, FailedCheck, FailedStep, ReviewText, ReviewThread
from bot.contracts.request import Request, Trigger
from bot.contracts.threads import OWN_MARKER, TextKind
from bot.events.event_request import REVIEW, REVIEW_COMMENT
from bot.events.thread_text import CommentTime, TextCleaner, ThreadHtml, comment_time

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


def with_pull_context(
    request: Request,
    html: ThreadHtml,
    trigger: Trigger,
    anchor: ReviewThread | None,
    *,
    head_sha: str,
    with_failures: bool,
    note: str = "",
) -> Request:
    """Return `request` with the context of its thread, a pull request; reviews are among its comments. `anchor` is the
    payload's location of a review comment, `note` says what else is left out. What GitHub does not return is noted, not
    raised: a request can do without it. Raises `EditedTextError`."""
    thread, context = request.thread, _ContextReader(trigger, html)
    assert thread is not None
    reader, repository, number = html.reader, html.repository, html.number
    threads = context.tried("review threads", lambda: reader.review_threads(repository, number))
    anchor_thread = context.anchor_thread(anchor, threads) if anchor else None
    unresolved = context.newest_threads(
        [one for one in threads if not one.resolved and not _contains_anchor(one, anchor)]
    )
    failed_checks: list[FailedCheck] = []
    if with_failures:
        failed_checks += context.tried("failed checks", lambda: reader.failed_checks(repository, head_sha))
        failed_checks += context.tried(
            "commit statuses", lambda: reader.failed_statuses(repository, head_sha)
        )
    failures = context.failures(failed_checks)
    reviews = context.tried(
        "texts of reviews", lambda: context.reviews(reader.newest_reviews(repository, number))
    )
    comments = sorted((*thread.comments, *reviews), key=lambda one: one.created_at)
    left_out = (*thread.left_out, *([note] if note else []), *context.missing, *context.cleaner.notes())
    thread = thread._replace(comments=tuple(comments), left_out=left_out)
    return request._replace(thread=thread, anchor=anchor_thread, unresolved=unresolved, failures=failures)


@dataclass(slots=True)
class _ContextReader:
    """Takes over what people see of a pull request at the trigger, and notes what is left out. `missing` is what GitHub
    did not return."""

    trigger: Trigger
    html: ThreadHtml
    cleaner: TextCleaner = field(default_factory=TextCleaner)
    missing: list[str] = field(default_factory=list)

    def tried(self, what: str, read: Callable[[], Sequence[_Item]]) -> Sequence[_Item]:
        try:
            return read()
        except AgentError as error:
            why = " ".join(str(error).rstrip(".").split())[:200]
            self.missing.append(f"the {what}, which could not be read ({why})")
            return ()

    def reviews(self, newest: Iterable[ReviewText]) -> tuple[Comment, ...]:
        """Return the texts of reviews by others, oldest first; the newest, if they are too long together.

        GitHub does not report edits of them, so only those of the repository's own people count.
        """
        selected: list[Comment] = []
        size = 0
        for review in newest:
            if not review.body.strip() or OWN_MARKER in review.body:
                continue
            time = comment_time(self.trigger, REVIEW, review.id, review.submitted_at, review.submitted_at)
            if time is not CommentTime.BEFORE:
                self.cleaner.leave_out_by_time("review", time)
            elif review.association not in _INSIDERS:
                self.cleaner.leave_out("review", _STRANGERS)
            elif (size := size + len(review.state) + len(review.body[:MAX_COMMENT])) > REVIEWS_BUDGET:
                self.cleaner.leave_out("review", _NO_ROOM.format(REVIEWS_BUDGET))
            else:
                state = review.state.lower().replace("_", " ")
                shown = self.html.shown(TextKind.REVIEW, review.id, review.body)
                body = f"(A review: {state}.) {self.cleaner.shortened(shown, MAX_COMMENT)}"
                at = review.submitted_at
                selected.append(Comment(review.id, review.author, body, at, at, of_review=True))
        return tuple(reversed(selected))

    def anchor_thread(self, anchor: ReviewThread, threads: Sequence[ReviewThread]) -> ReviewThread:
        """Return the payload's lines, which are those of the head, with the comments of the thread."""
        known = next((thread for thread in threads if _contains_anchor(thread, anchor)), None)
        comments = self._comments(known) if known else ()
        resolved = known.resolved if known else False
        return _clean_thread(anchor, self.cleaner)._replace(comments=comments, resolved=resolved)

    def newest_threads(self, threads: Sequence[ReviewThread]) -> tuple[ReviewThread, ...]:
        """Return the threads in their order; if they are too long together, those with the newest comments."""
        remaining = [
            thread._replace(comments=comments) for thread in threads if (comments := self._comments(thread))
        ]
        selected: list[ReviewThread] = []
        size = 0
        for thread in sorted(remaining, key=lambda thread: thread.comments[-1].created_at, reverse=True):
            size += len(thread.hunk[:MAX_HUNK]) + sum(len(comment.body) for comment in thread.comments)
            if size > THREADS_BUDGET:
                self.cleaner.leave_out("review thread", _NO_ROOM.format(THREADS_BUDGET))
            else:
                selected.append(thread)
        selected_ids = {id(thread) for thread in selected}
        return tuple(
            _clean_thread(thread, self.cleaner) for thread in remaining if id(thread) in selected_ids
        )

    def _comments(self, thread: ReviewThread) -> tuple[Comment, ...]:
        """Return the comments of a thread at the trigger, our own included, since others answer them."""
        comments = []
        for comment in thread.comments:
            at = comment.created_at, comment.updated_at
            time = comment_time(self.trigger, REVIEW_COMMENT, comment.id, *at)
            if time is CommentTime.BEFORE:
                by_bot = comment.author.endswith("[bot]")
                shown = self.html.shown(TextKind.REVIEW_COMMENT, comment.id, comment.body, by_bot=by_bot)
                comments.append(comment._replace(body=self.cleaner.shortened(shown, MAX_COMMENT)))
            else:
                self.cleaner.leave_out_by_time("review comment", time)
        return tuple(comments)

    def failures(self, checks: Sequence[FailedCheck]) -> tuple[FailedCheck, ...]:
        """Return the failed checks that fit, cleaned; the first in any case."""
        cleaned: list[FailedCheck] = []
        size = 0
        for check in map(self._failure, checks):
            size += len(check.summary) + sum(len(step.log) for step in check.steps)
            size += sum(len(annotation.message) for annotation in check.annotations)
            if size > FAILURES_BUDGET and cleaned:
                omitted = len(checks) - len(cleaned)
                self.cleaner.leave_out("failed check", _NO_ROOM.format(FAILURES_BUDGET), omitted)
                break
            cleaned.append(check)
        return tuple(cleaned)

    def _failure(self, check: FailedCheck) -> FailedCheck:
        cleaner = self.cleaner
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
