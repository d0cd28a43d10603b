"""What is known of a pull request besides its conversation: reviews and their threads, failed checks, the lines
commented on.

All of it is other people's text: cleaned, cut to budgets, what is left out said in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.contracts.comments import Comment
from bot.contracts.errors import AgentError
from bot.contracts.pulls import Annotation, FailedCheck, FailedStep, ReviewText, ReviewThread
from bot.contracts.request import Trigger
from bot.contracts.threads import OWN_MARKER, PullReader
from bot.intake.event import REVIEW, REVIEW_COMMENT
from bot.intake.prepared import Prepared, said
from bot.intake.snapshot import When, when

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
_INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")


@dataclass(frozen=True, slots=True)
class PullContext:
    anchor: ReviewThread | None = None
    unresolved: tuple[ReviewThread, ...] = ()
    failures: tuple[FailedCheck, ...] = ()
    reviews: tuple[Comment, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Counts:
    reviews: int = 0
    later_reviews: int = 0
    strangers: int = 0
    after: int = 0
    edited: int = 0
    threads: int = 0
    checks: int = 0
    annotations: int = 0


def read_pull_context(
    reader: PullReader,
    repository: str,
    number: int,
    trigger: Trigger,
    anchor: ReviewThread | None,
    *,
    head_sha: str,
    with_failures: bool,
) -> PullContext:
    """`anchor` is what the payload says of where a review comment stands. What GitHub does not give is said, not
    raised: a request can do without it."""
    counts, prepared = _Counts(), Prepared()
    missing: list[str] = []
    threads: Sequence[ReviewThread] = ()
    failed: Sequence[FailedCheck] = ()
    try:
        threads = reader.review_threads(repository, number)
    except AgentError as error:
        missing.append(f"the review threads, which could not be read ({_clause(error)})")
    shown_anchor = _anchored(anchor, threads, trigger, counts, prepared) if anchor else None
    open_threads = [thread for thread in threads if not thread.resolved and not _holds(thread, anchor)]
    unresolved = _within_budget(open_threads, trigger, counts, prepared)
    if with_failures:
        try:
            failed = reader.failed_checks(repository, head_sha)
        except AgentError as error:
            missing.append(f"the failed checks, which could not be read ({_clause(error)})")
        try:
            failed = [*failed, *reader.failed_statuses(repository, head_sha)]
        except AgentError as error:
            missing.append(f"the commit statuses, which could not be read ({_clause(error)})")
    failures = _failures(failed, counts, prepared)
    reviews: tuple[Comment, ...] = ()
    try:
        reviews = _reviews(reader.newest_reviews(repository, number), trigger, counts, prepared)
    except AgentError as error:
        missing.append(f"the texts of reviews, which could not be read ({_clause(error)})")
    left_out = (*missing, *_in_words(counts), *prepared.words())
    return PullContext(shown_anchor, unresolved, failures, reviews, left_out)


def _reviews(
    newest: Iterable[ReviewText], trigger: Trigger, counts: _Counts, prepared: Prepared
) -> tuple[Comment, ...]:
    """The texts of reviews, oldest first; where they are too long together, the newest. Our own are no news.

    GitHub does not say when one was edited, so only those count whose author may be expected to do no harm by it.
    """
    kept: list[Comment] = []
    size = 0
    for review in newest:
        if not review.body.strip() or OWN_MARKER in review.body:
            continue
        stood = when(trigger, REVIEW, review.id, review.submitted_at, review.submitted_at)
        if stood is When.AFTER:
            counts.later_reviews += 1
        elif stood is not When.BEFORE:
            continue
        elif review.association not in _INSIDERS:
            counts.strangers += 1
        elif counts.reviews or size + len(review.body[:MAX_COMMENT]) > REVIEWS_BUDGET:
            counts.reviews += 1
        else:
            state = review.state.lower().replace("_", " ")
            body = f"(A review: {state}.) {prepared.text(review.body, MAX_COMMENT)}"
            size += len(body)
            at = review.submitted_at
            kept.append(Comment(review.id, review.author, body, at, at, of_review=True))
    return tuple(reversed(kept))


def _anchored(
    anchor: ReviewThread,
    threads: Sequence[ReviewThread],
    trigger: Trigger,
    counts: _Counts,
    prepared: Prepared,
) -> ReviewThread:
    """The payload's lines, which are those of the head that is worked on, with what the thread says."""
    known = next((thread for thread in threads if _holds(thread, anchor)), None)
    said_there = _standing(known, trigger, counts, prepared) if known else ()
    return replace(
        _shown(anchor, prepared),
        comments=said_there,
        resolved=known.resolved if known else False,
    )


def _holds(thread: ReviewThread, anchor: ReviewThread | None) -> bool:
    if anchor is None:
        return False
    return thread.id == anchor.id or any(comment.id == anchor.id for comment in thread.comments)


def _within_budget(
    threads: Sequence[ReviewThread], trigger: Trigger, counts: _Counts, prepared: Prepared
) -> tuple[ReviewThread, ...]:
    """The threads in their order; where they are too long together, those that were written to last."""
    stood = [
        replace(thread, comments=comments)
        for thread in threads
        if (comments := _standing(thread, trigger, counts, prepared))
    ]
    kept: list[ReviewThread] = []
    size = 0
    for thread in sorted(stood, key=lambda one: one.comments[-1].created_at, reverse=True):
        size += len(thread.hunk[:MAX_HUNK]) + sum(len(comment.body) for comment in thread.comments)
        if size > THREADS_BUDGET:
            counts.threads += 1
        else:
            kept.append(thread)
    chosen = {id(thread) for thread in kept}
    return tuple(_shown(thread, prepared) for thread in stood if id(thread) in chosen)


def _standing(
    thread: ReviewThread, trigger: Trigger, counts: _Counts, prepared: Prepared
) -> tuple[Comment, ...]:
    """The comments of a thread that stood there at the trigger. Our own are among them: they are what is answered."""
    kept = []
    for comment in thread.comments:
        stood = when(trigger, REVIEW_COMMENT, comment.id, comment.created_at, comment.updated_at)
        if stood is When.BEFORE:
            body = prepared.text(comment.body, MAX_COMMENT, by_bot=comment.author.endswith("[bot]"))
            kept.append(replace(comment, body=body))
        elif stood is When.AFTER:
            counts.after += 1
        elif stood is When.EDITED:
            counts.edited += 1
    return tuple(kept)


def _shown(thread: ReviewThread, prepared: Prepared) -> ReviewThread:
    return replace(thread, path=_shown_path(thread.path, prepared), hunk=prepared.text(thread.hunk, MAX_HUNK))


def _shown_path(path: str, prepared: Prepared) -> str:
    """A path is what the lines are found by, so it stays as it is unless it holds what nobody can see."""
    return path if path.isprintable() else prepared.line(path, MAX_LINE)


def _failures(checks: Sequence[FailedCheck], counts: _Counts, prepared: Prepared) -> tuple[FailedCheck, ...]:
    shown: list[FailedCheck] = []
    size = 0
    for check in checks:
        one = _failure(check, counts, prepared)
        size += len(one.summary) + sum(len(step.log) for step in one.steps)
        size += sum(len(annotation.message) for annotation in one.annotations)
        if size > FAILURES_BUDGET and shown:
            counts.checks = len(checks) - len(shown)
            break
        shown.append(one)
    return tuple(shown)


def _failure(check: FailedCheck, counts: _Counts, prepared: Prepared) -> FailedCheck:
    counts.annotations += max(0, len(check.annotations) - MAX_ANNOTATIONS)
    return FailedCheck(
        name=prepared.line(check.name, MAX_LINE),
        conclusion=check.conclusion,
        url=prepared.line(check.url, MAX_LINE),
        summary=prepared.text(check.summary, MAX_SUMMARY),
        annotations=tuple(
            Annotation(
                path=_shown_path(one.path, prepared),
                line=one.line,
                level=one.level,
                message=prepared.text(one.message, MAX_LINE),
            )
            for one in check.annotations[:MAX_ANNOTATIONS]
        ),
        # A log says at its end why it failed.
        steps=tuple(
            FailedStep(prepared.line(step.name, MAX_LINE), _end_of(prepared.text(step.log, len(step.log))))
            for step in check.steps
        ),
    )


def _end_of(log: str) -> str:
    if len(log) <= MAX_LOG:
        return log
    return f"[{len(log) - MAX_LOG} characters left out]\n{log[-MAX_LOG:]}"


def _clause(error: AgentError) -> str:
    return " ".join(str(error).rstrip(".").split())[:200]


def _in_words(counts: _Counts) -> tuple[str, ...]:
    return said(
        (counts.after, "review comment", "written after the command"),
        (counts.edited, "review comment", "edited after the command"),
        (counts.threads, "review thread", f"over the {THREADS_BUDGET} characters that there is room for"),
        (counts.later_reviews, "review", "written after the command"),
        (
            counts.strangers,
            "review",
            "by people from outside the repository, which they may have edited since",
        ),
        (counts.reviews, "review", f"over the {REVIEWS_BUDGET} characters that there is room for"),
        (counts.checks, "failed check", f"over the {FAILURES_BUDGET} characters that there is room for"),
        (counts.annotations, "annotation", f"over {MAX_ANNOTATIONS} a check"),
    )
