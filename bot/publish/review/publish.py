"""A bundle's review to GitHub: asked for, placed on the diff, sent. Doing it twice changes nothing."""

from __future__ import annotations

from bot.contracts.pulls import Side
from bot.contracts.review import Severity
from bot.contracts.wording import count_of
from bot.github.host import Host
from bot.policy.schema import ReviewPolicy
from bot.publish.check_run import CheckReport, report
from bot.publish.pull import check_now
from bot.publish.review.asked import Asked
from bot.publish.review.past import CHECK, read_past
from bot.publish.review.placed import look, placed
from bot.publish.review.sent import send
from bot.publish.review.text import Report, annotation, counts
from bot.publish.telling import Telling
from bot.publish.text.shown import shown_plain

_SUMMARY_LIMIT = 1_500
_GRAVE = frozenset({Severity.CRITICAL, Severity.MAJOR})


def publish_review(telling: Telling) -> tuple[str, ...]:
    """Post the bundle's review, or tell whoever asked that there is nothing to say.

    Returns soft failures, a sentence each. Raises `PublishError`, and what reading GitHub and the policy raises.
    """
    host, say = telling.host, telling.say
    asked = Asked.of(telling.bundle, telling.place, telling.links, telling.remote)
    past = read_past(host, asked.repository, asked.pull.number)
    posted = past.made_for(asked.key, asked.review.head_sha)
    if posted is not None:
        say(f"this review is posted already: {posted.url}")
        return asked.finish(host, posted.findings, posted.url)
    now = host.pull(asked.repository, asked.pull.number)
    # Policy and merge base are of the base branch, and which that is is not the bundle's to say.
    check_now(asked.outcome.request, now)
    seen = look(asked, now.head_sha, telling.folder)
    report = placed(asked, seen, past)
    if not report.findings:
        say("the review has no new findings")
        return asked.tell_nothing(host, report, past)
    event = "REQUEST_CHANGES" if _requests_changes(report, seen.policy) else "COMMENT"
    made, report = send(asked, host, seen, report, past, event)
    say(f"review posted: {made.url}")
    return (*_report_check(asked, host, report), *asked.finish(host, len(report.findings), made.url))


def _requests_changes(report: Report, policy: ReviewPolicy) -> bool:
    return policy.request_changes and any(finding.severity in _GRAVE for finding in report.findings)


def _report_check(asked: Asked, host: Host, said: Report) -> tuple[str, ...]:
    """The findings as annotations of a check run, where the token may make one: most may not, and need not."""
    shown = [annotation(finding) for finding in said.anchored if finding.side is Side.RIGHT]
    title = f"{count_of(len(said.findings), 'finding')}: {counts(said.findings)}"
    summary = shown_plain(asked.review.summary, _SUMMARY_LIMIT) or "See the review."
    return report(host, asked.repository, CheckReport(CHECK, said.head_sha, title, summary, shown))
