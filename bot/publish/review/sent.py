"""The one review that is created: on its lines, else on those of the head that is there now, else all in its body."""

from __future__ import annotations

from dataclasses import replace

from bot.checkout.errors import CheckoutError
from bot.contracts.review import Finding
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import ReviewData, ReviewDraft
from bot.policy.protected import ProtectedFiles
from bot.publish.review.asked import Asked
from bot.publish.review.past import REVIEW, Past, review_mark
from bot.publish.review.placed import Seen, beside, look_at, placed
from bot.publish.review.text import Report, body_text, comment_text
from bot.publish.thread.markers import is_ours, marked, read_mark


def send(
    asked: Asked, host: Host, seen: Seen, report: Report, past: Past, event: str
) -> tuple[ReviewData, Report]:
    """With its comments; where GitHub does not take them, on the head that is there now; else all in the body.

    Returns what was made, and of what.
    """
    try:
        return _create(asked, host, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    if refused.says("own pull request"):
        event = "COMMENT"
    report = _placed_anew(asked, host, seen, past) or report
    try:
        return _create(asked, host, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    why = "GitHub did not take it on its lines"
    in_body = (*((finding, why) for finding in report.anchored), *report.unanchored)
    report = replace(report, anchored=(), unanchored=in_body, notes=(*report.notes, str(refused)))
    return _create(asked, host, report, "COMMENT"), report


def _placed_anew(asked: Asked, host: Host, seen: Seen, past: Past) -> Report | None:
    """On the head that is there now; `None` where it is the same, or cannot be had."""
    now = host.pull(asked.repository, asked.pull.number)
    if now.head_sha == seen.head_sha:
        return None
    try:
        return placed(asked, look_at(asked, now.head_sha, beside(seen.git.git_dir)), past)
    except CheckoutError:
        return None


def _create(asked: Asked, host: Host, report: Report, event: str) -> ReviewData:
    in_body = [finding.fingerprint for finding, _ in report.unanchored]
    written = review_mark(
        asked.key, asked.review.head_sha, len(report.findings), in_body, finished=asked.finished
    )
    try:
        return host.create_review(
            asked.repository,
            asked.pull.number,
            commit_sha=report.head_sha,
            body=marked(body_text(report), written),
            event=event,
            comments=[_draft(finding, report.protected) for finding in report.anchored],
        )
    except GitHubError as error:
        # The answer was lost, and perhaps only the answer.
        posted = _made(asked, host) if error.failure.transient else None
        if posted is None:
            raise
        return posted


def _made(asked: Asked, host: Host) -> ReviewData | None:
    me = host.me()
    for review in host.reviews(asked.repository, asked.pull.number):
        fields = read_mark(review.body, REVIEW) or {}
        same = (fields.get("request"), fields.get("head")) == (asked.key, asked.review.head_sha)
        if same and is_ours(review.author, me, REVIEW):
            return review
    return None


def _draft(finding: Finding, protected: ProtectedFiles) -> ReviewDraft:
    return ReviewDraft(
        finding.path,
        comment_text(finding, protected),
        finding.line,
        finding.side,
        finding.start_line,
        finding.side,
    )
