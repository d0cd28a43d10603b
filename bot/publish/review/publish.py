"""Publish the review of a bundle."""

from __future__ import annotations

from dataclasses import replace

from bot.checkout.errors import CheckoutError
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity
from bot.github.errors import GitHubError
from bot.github.values import ReviewData, ReviewDraft
from bot.policy.protected import ProtectedFiles
from bot.policy.values import ReviewPolicy
from bot.publish.check_run import CheckReport, post_check_run
from bot.publish.context import PublishContext
from bot.publish.review.posted_reviews import CHECK, REVIEW, ReviewHistory, read_history, review_mark
from bot.publish.review.report import (
    ReviewContext,
    ReviewedDiff,
    build_report,
    fetch_current_diff,
    fetch_diff,
    finish_comments,
    report_no_findings,
)
from bot.publish.review.text import Report, annotation, body_text, comment_text, counts
from bot.publish.text.filters import safe_plain
from bot.publish.thread.markers import is_ours, marked, read_mark
from bot.publish.validate import check_now

_SUMMARY_LIMIT = 1_500
_GRAVE = frozenset({Severity.CRITICAL, Severity.MAJOR})


def publish_review(publishing: PublishContext) -> tuple[str, ...]:
    """Post the bundle's review, or a comment that there is no new finding. Publishing twice changes nothing.

    Returns soft failures, a sentence each. Raises `PublishError`, and what reading GitHub and the policy raises.
    """
    context, github, say = ReviewContext.of(publishing), publishing.github, publishing.say
    history = read_history(github, context.repository, context.pull.number)
    previous = history.made_for(context.key, context.review.head_sha)
    if previous is not None:
        say(f"this review is posted already: {previous.url}")
        return finish_comments(context, previous.findings, previous.url)
    pull = github.pull(context.repository, context.pull.number)
    # Policy and merge base are of the base branch, and which that is is not the bundle's to say.
    check_now(context.outcome.request, pull)
    diff = fetch_diff(context, pull.head_sha)
    report = build_report(context, diff, history)
    if not report.findings:
        say("the review has no new findings")
        return report_no_findings(context, report, history)
    event = "REQUEST_CHANGES" if _requests_changes(report, diff.policy) else "COMMENT"
    review, report = post_review(context, diff, report, history, event)
    say(f"review posted: {review.url}")
    return (*_report_check(context, report), *finish_comments(context, len(report.findings), review.url))


def _requests_changes(report: Report, policy: ReviewPolicy) -> bool:
    return policy.request_changes and any(finding.severity in _GRAVE for finding in report.findings)


def _report_check(context: ReviewContext, report: Report) -> tuple[str, ...]:
    """Add the findings as annotations of a check run, if the token may create one."""
    annotations = [annotation(finding) for finding in report.anchored if finding.side is Side.RIGHT]
    title = f"{count_of(len(report.findings), 'finding')}: {counts(report.findings)}"
    summary = safe_plain(context.review.summary, _SUMMARY_LIMIT) or "See the review."
    check = CheckReport(CHECK, report.head_sha, title, summary, annotations)
    return post_check_run(context.github, context.repository, check)


def post_review(
    context: ReviewContext,
    diff: ReviewedDiff,
    report: Report,
    history: ReviewHistory,
    event: str,
) -> tuple[ReviewData, Report]:
    """Create the review on its lines, or on those of the current head, or with all findings in its body: the first
    that GitHub accepts. Returns it, and the report that it was made of."""
    try:
        return _create(context, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    if refused.says("own pull request"):
        event = "COMMENT"
    report = _rebuild_report(context, diff, history) or report
    try:
        return _create(context, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    why = "GitHub did not take it on its lines"
    in_body = (*((finding, why) for finding in report.anchored), *report.unanchored)
    report = replace(report, anchored=(), unanchored=in_body, notes=(*report.notes, str(refused)))
    return _create(context, report, "COMMENT"), report


def _rebuild_report(context: ReviewContext, diff: ReviewedDiff, history: ReviewHistory) -> Report | None:
    """The report on the current head; `None` if that is the head of `diff`, or cannot be fetched."""
    head_sha = context.github.pull(context.repository, context.pull.number).head_sha
    if head_sha == diff.head_sha:
        return None
    try:
        return build_report(context, fetch_current_diff(context, head_sha, diff.git.git_dir), history)
    except CheckoutError:
        return None


def _create(context: ReviewContext, report: Report, event: str) -> ReviewData:
    in_body = [finding.fingerprint for finding, _ in report.unanchored]
    written = review_mark(
        context.key, context.review.head_sha, len(report.findings), in_body, finished=context.finished
    )
    try:
        return context.github.create_review(
            context.repository,
            context.pull.number,
            commit_sha=report.head_sha,
            body=marked(body_text(report), written),
            event=event,
            comments=[_draft(finding, report.protected) for finding in report.anchored],
        )
    except GitHubError as error:
        # The answer was lost, and perhaps only the answer.
        review = _find_posted(context) if error.failure.transient else None
        if review is None:
            raise
        return review


def _find_posted(context: ReviewContext) -> ReviewData | None:
    me = context.github.me()
    for review in context.github.reviews(context.repository, context.pull.number):
        fields = read_mark(review.body, REVIEW) or {}
        same = (fields.get("request"), fields.get("head")) == (context.key, context.review.head_sha)
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
