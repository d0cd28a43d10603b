"""What a review ends: earlier findings that are over, and our own request for changes. `decide` is pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bot.contracts.review import Review, Severity
from bot.publish.context import PublishContext
from bot.publish.markdown import safe_line
from bot.publish.review.posted_reviews import PostedReview, ReviewHistory, without_entries
from bot.review.diff_text import key_of, path_of, readable_path
from bot.review.fingerprints import KnownFinding, State

GRAVE = frozenset({Severity.CRITICAL.value, Severity.MAJOR.value})


@dataclass(frozen=True, slots=True)
class Endings:
    """`open` are the findings that still hold, `fixed` those that the code has ended. `unblocked` are our reviews whose
    request for changes ends, since none of their grave findings is open."""

    open: tuple[KnownFinding, ...]
    fixed: tuple[KnownFinding, ...]
    unblocked: tuple[PostedReview, ...]


def decide(history: ReviewHistory, review: Review, paths: Collection[str], *, finished: bool) -> Endings:
    """`paths` are the files of the diff. A finding is over if a person settled it, or if its lines have changed and the
    review, which looked at them, did not report it again; one on a whole file, if the review looked at that file."""
    unseen = {path_of(name) for name in review.unseen}
    seen = {path_of(name) for name in review.looked_at} - unseen
    seen_keys, keys = set(map(key_of, seen)), {key_of(readable_path(path)) for path in paths}
    open_ones: list[KnownFinding] = []
    fixed: list[KnownFinding] = []
    for finding in history.findings:
        if finding.state.settled:
            continue
        if finding.comment:
            is_over = finding.state is State.CHANGED and readable_path(finding.path) not in unseen
        else:
            is_over = finding.path_key in seen_keys or finding.path_key not in keys
        is_over = is_over and finished and finding.fingerprint not in review.again
        (fixed if is_over else open_ones).append(finding)
    blocking = {finding.review for finding in open_ones if finding.severity in GRAVE}
    unblocked = tuple(one for one in history.reviews if one.blocks and one.data.id not in blocking)
    return Endings(tuple(open_ones), tuple(fixed), unblocked)


def apply_endings(context: PublishContext, endings: Endings, history: ReviewHistory, head_sha: str) -> None:
    """Resolve our threads on what is fixed, and end our requests for changes. A token that may not resolve a thread
    leaves it, since the code is what counts."""
    assert context.request.pull is not None
    github, repository, number = context.github, context.repository, context.request.pull.number
    with context.tolerating("What is fixed could not be marked as fixed", silent=(400, 403, 404)):
        on_lines = [one for one in endings.fixed if one.comment]
        threads = github.unresolved_threads(repository, number) if on_lines else {}
        for finding in on_lines:
            if thread_id := threads.get(finding.comment):
                # First, so that a token that may not resolve it says nothing.
                github.resolve_thread(repository, number, thread_id)
                github.reply_to_review_comment(
                    repository, number, finding.comment, f"No longer found as of {head_sha}."
                )
        for review in history.reviews:
            ended = [one for one in endings.fixed if not one.comment and one.review == review.data.id]
            if ended:
                titles = ", ".join(safe_line(finding.title, 200) for finding in ended)
                note = f"<sub>No longer found as of {head_sha}: {titles}.</sub>"
                body = without_entries(review, [finding.fingerprint for finding in ended], note)
                github.edit_review(repository, number, review.data.id, body)
    for review in endings.unblocked:
        message = f"No critical or major finding of this review is open as of {head_sha[:12]}."
        what = f"The request for changes of {review.data.html_url} is over, and could not be dismissed"
        with context.tolerating(what):
            github.dismiss_review(repository, number, review.data.id, message)
