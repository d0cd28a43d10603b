"""A bundle's review to GitHub: one review a run, each finding on lines of the diff that GitHub takes.

Nothing of the bundle is believed: base and head are fetched here, the diff is made here, every anchor is looked at
again. Doing it twice changes nothing, and what an earlier review said is not said again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bot.checkout import layout
from bot.checkout.compare import diff_between
from bot.checkout.errors import CheckoutError, MovedHeadError
from bot.checkout.git import Git
from bot.checkout.pull import PullHead, fetch_ends
from bot.contracts.errors import PublishError
from bot.contracts.outcome import Outcome, Status
from bot.contracts.pulls import PullRequest, Side
from bot.contracts.review import Finding, Review, Severity
from bot.contracts.wording import count_of
from bot.findings.anchors import anchor
from bot.findings.fingerprints import Sifted, fingerprint, sifted
from bot.findings.hunks import Diff
from bot.findings.parse import parse_diff
from bot.findings.suggestions import settled
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import ReviewData, ReviewDraft
from bot.policy.load import load_policy
from bot.policy.schema import ReviewPolicy
from bot.publish.base_file import read_base_file
from bot.publish.body.footer import Links, figures
from bot.publish.bundle.read import Bundle
from bot.publish.check_run import CheckReport, report
from bot.publish.pull import check_now
from bot.publish.remote import Remote
from bot.publish.review_past import (
    CHECK,
    REVIEW,
    REVIEWED,
    Past,
    read_past,
    review_mark,
    trace_of,
)
from bot.publish.review_text import (
    Report,
    annotation,
    body_text,
    comment_text,
    counts,
    nothing_text,
)
from bot.publish.text.shown import shown_plain
from bot.publish.thread.comments import edit_comments, post, with_mark
from bot.publish.thread.markers import ENDED, PROGRESS, is_ours, marked, read_mark
from bot.publish.thread.place import Place
from bot.publish.thread.progress import OVER, ProgressState

_SUMMARY_LIMIT = 1_500
_GRAVE = frozenset({Severity.CRITICAL, Severity.MAJOR})


def publish_review(
    bundle: Bundle,
    host: Host,
    *,
    place: Place | None,
    links: Links,
    remote: Remote,
    folder: Path,
    say: Callable[[str], None],
) -> tuple[str, ...]:
    """Post the bundle's review, or tell whoever asked that there is nothing to say; `folder` does not exist yet.

    Returns soft failures, a sentence each. Raises `PublishError`, and what reading GitHub and the policy raises.
    """
    asked = _Asked.of(bundle, place, links, remote)
    past = read_past(host, asked.repository, asked.pull.number)
    posted = past.made_for(asked.key, asked.review.head_sha)
    if posted is not None:
        say(f"this review is posted already: {posted.url}")
        return asked.finish(host, posted.findings)
    now = host.pull(asked.repository, asked.pull.number)
    # Policy and merge base are of the base branch, and which that is is not the bundle's to say.
    check_now(asked.outcome.request, now)
    seen = _look(asked, now.head_sha, folder)
    report = _report(asked, seen, past)
    if not report.findings:
        say("the review has nothing to say")
        return asked.tell_nothing(host, report)
    event = "REQUEST_CHANGES" if _requests_changes(report, seen.policy) else "COMMENT"
    made, report = _post(asked, host, seen, report, past, event)
    say(f"review posted: {made.url}")
    return (*_report_check(asked, host, report), *asked.finish(host, len(report.findings)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the bundle says, its parts found to belong together."""

    outcome: Outcome
    review: Review
    pull: PullRequest
    place: Place | None
    links: Links
    remote: Remote

    @classmethod
    def of(cls, bundle: Bundle, place: Place | None, links: Links, remote: Remote) -> _Asked:
        review, pull = bundle.review, bundle.outcome.request.pull
        if review is None:
            raise PublishError("The bundle says that there is a review, and holds none: nothing was posted.")
        if pull is None:
            raise PublishError("The bundle's review is of no pull request: there is nowhere to post it.")
        if review.head_sha != pull.head_sha:
            raise PublishError(
                f"The bundle's review is of {review.head_sha[:12]}, and the head of #{pull.number} was "
                f"{pull.head_sha[:12]}: nothing was posted."
            )
        return cls(bundle.outcome, review, pull, place, links, remote)

    @property
    def repository(self) -> str:
        return self.outcome.request.repository

    @property
    def key(self) -> str:
        return self.place.key if self.place else "none"

    @property
    def finished(self) -> bool:
        return self.outcome.status is not Status.PARTIAL

    @property
    def notes(self) -> tuple[str, ...]:
        if self.finished:
            return ()
        return (f"This review is not finished. {self.outcome.reason}",)

    @property
    def web(self) -> str:
        return self.remote.url.removesuffix("/").removesuffix(".git")

    def finish(self, host: Host, findings: int) -> tuple[str, ...]:
        """The last word of the comments that speak of this run, where there are some."""
        if self.place is None:
            return ()
        found = count_of(findings, "finding")
        state = ProgressState(f"Reviewed: {found}", (figures(self.outcome),), self.links.run)
        # An end comment of an earlier try that failed is true no longer.
        after_all = f"**Reviewed after all:** {found}."
        try:
            edit_comments(host, self.place, {PROGRESS: state.text(), ENDED: after_all}, OVER)
        except GitHubError as error:
            return (f"The progress comment could not be finished: {error}",)
        return ()

    def tell_nothing(self, host: Host, report: Report) -> tuple[str, ...]:
        """Once: in the progress comment, else in one of its own. Where nobody asked, a check run has to do."""
        if self.place is None:
            return self._leave_trace(host)
        fields = {**OVER, **({REVIEWED: self.review.head_sha} if self.finished else {})}
        text = nothing_text(report)
        try:
            told = edit_comments(host, self.place, {PROGRESS: text, ENDED: text}, fields)
            trigger = self.outcome.request.trigger
            if not told and trigger is not None and trigger.comment_id:
                post(host, self.place, with_mark(self.place, ENDED, text, fields))
            elif not told:
                return self._leave_trace(host)
        except GitHubError as error:
            raise PublishError(
                f"The thread could not be told that there is nothing to say: {error}"
            ) from error
        return ()

    def _leave_trace(self, host: Host) -> tuple[str, ...]:
        """So that the next review begins where this one ended. Not every token may, and none need."""
        number, head = self.pull.number, self.review.head_sha
        if not self.finished:
            return ()
        said = "The next review looks only at what is new since this commit."
        one = CheckReport(CHECK, head, "Nothing to say", said, key=trace_of(number, head))
        return report(host, self.repository, one)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The pull request's diff at `head_sha`, and what the base branch's policy says of reviews."""

    head_sha: str
    diff: Diff
    policy: ReviewPolicy
    git: Git
    notes: tuple[str, ...] = ()


def _look(asked: _Asked, head_now: str, folder: Path) -> _Seen:
    """At the head that was reviewed; where it is gone from the server, at the one that is there now."""
    try:
        return _at(asked, asked.review.head_sha, folder)
    except MovedHeadError:
        return _at(asked, head_now, _beside(folder))


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-now")


def _at(asked: _Asked, head_sha: str, folder: Path) -> _Seen:
    request, remote = asked.outcome.request, asked.remote
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(head_sha))
    except OSError as error:
        raise PublishError(f"No git directory could be made at {folder}: {error.strerror}.") from error
    git = Git(folder)
    head = PullHead(asked.pull.number, head_sha)
    ends = fetch_ends(git, remote.url, remote.token, head, request.base_ref, ["--depth=1", "--no-tags"])
    file = request.policy_file
    policy = load_policy(read_base_file(git, ends.policy_sha, file), file).review
    diff = parse_diff(diff_between(git, ends.merge_base or ends.policy_sha, head_sha))
    reviewed = asked.review.head_sha
    notes = (
        (f"The review was made at {reviewed[:12]}; the head has moved since.",)
        if head_sha != reviewed
        else ()
    )
    return _Seen(head_sha, diff, policy, git, notes)


def _report(asked: _Asked, seen: _Seen, past: Past) -> Report:
    """What is new, placed on the diff that GitHub shows; beyond the policy's limit the mildest are left out."""
    anchored: list[Finding] = []
    unanchored: list[Finding] = []
    # By what never changes of one that stands nowhere: equal ones have equal reasons.
    reasons: dict[Finding, str] = {}
    for finding in asked.review.findings:
        found = anchor(finding, seen.diff)
        if isinstance(found, str):
            bare = replace(finding, suggestion=None, fingerprint=fingerprint(finding))
            unanchored.append(bare)
            reasons[bare] = found
        else:
            # Without a text nothing says which lines the suggestion was made for.
            proven = bool(finding.text) or not found.text.strip()
            anchored.append(settled(found if proven else replace(found, suggestion=None)))
    rank = list(Severity).index
    sieved = sifted((*anchored, *unanchored), past.said)
    fresh = sorted(sieved.new, key=lambda finding: rank(finding.severity))
    kept, dropped = fresh[: seen.policy.max_findings], fresh[seen.policy.max_findings :]
    return Report(
        asked.review,
        seen.head_sha,
        tuple(finding for finding in kept if finding not in reasons),
        tuple((finding, reasons[finding]) for finding in kept if finding in reasons),
        (*asked.review.left_out, *_not_told(sieved, len(dropped), len(kept))),
        figures(asked.outcome),
        asked.links,
        asked.web,
        (*asked.notes, *seen.notes),
    )


def _not_told(sieved: Sifted, dropped: int, kept: int) -> Iterator[str]:
    """A clause for each reason why findings are not there, so that the numbers add up."""
    if dropped:
        yield f"{count_of(dropped, 'finding')} beyond the {kept} worst ones"
    if sieved.told_before:
        yield f"{count_of(sieved.told_before, 'finding')} told by an earlier review already"
    if sieved.repeated:
        yield f"{count_of(sieved.repeated, 'finding')} told twice, on the same lines in the same words"


def _post(
    asked: _Asked, host: Host, seen: _Seen, report: Report, past: Past, event: str
) -> tuple[ReviewData, Report]:
    """With its comments; where GitHub does not take them, on the head that is there now; else all in the body.

    Returns what was made, and of what.
    """
    try:
        return _send(asked, host, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    if refused.says("own pull request"):
        event = "COMMENT"
    report = _placed_anew(asked, host, seen, past) or report
    try:
        return _send(asked, host, report, event), report
    except GitHubError as error:
        if error.status != 422:
            raise
        refused = error
    why = "GitHub did not take it on its lines"
    in_body = (*((finding, why) for finding in report.anchored), *report.unanchored)
    report = replace(report, anchored=(), unanchored=in_body, notes=(*report.notes, str(refused)))
    return _send(asked, host, report, "COMMENT"), report


def _placed_anew(asked: _Asked, host: Host, seen: _Seen, past: Past) -> Report | None:
    """On the head that is there now; `None` where it is the same, or cannot be had."""
    now = host.pull(asked.repository, asked.pull.number)
    if now.head_sha == seen.head_sha:
        return None
    try:
        return _report(asked, _at(asked, now.head_sha, _beside(seen.git.git_dir)), past)
    except CheckoutError:
        return None


def _send(asked: _Asked, host: Host, report: Report, event: str) -> ReviewData:
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
            comments=[_draft(finding) for finding in report.anchored],
        )
    except GitHubError as error:
        # The answer was lost, and perhaps only the answer.
        posted = _made(asked, host) if error.failure.transient else None
        if posted is None:
            raise
        return posted


def _made(asked: _Asked, host: Host) -> ReviewData | None:
    me = host.me()
    for review in host.reviews(asked.repository, asked.pull.number):
        fields = read_mark(review.body, REVIEW) or {}
        same = (fields.get("request"), fields.get("head")) == (asked.key, asked.review.head_sha)
        if same and is_ours(review.author, me):
            return review
    return None


def _draft(finding: Finding) -> ReviewDraft:
    return ReviewDraft(
        finding.path,
        comment_text(finding),
        finding.line,
        finding.side,
        finding.start_line,
        finding.side,
    )


def _requests_changes(report: Report, policy: ReviewPolicy) -> bool:
    return policy.request_changes and any(finding.severity in _GRAVE for finding in report.findings)


def _report_check(asked: _Asked, host: Host, said: Report) -> tuple[str, ...]:
    """The findings as annotations of a check run, where the token may make one: most may not, and need not."""
    shown = [annotation(finding) for finding in said.anchored if finding.side is Side.RIGHT]
    title = f"{count_of(len(said.findings), 'finding')}: {counts(said.findings)}"
    summary = shown_plain(asked.review.summary, _SUMMARY_LIMIT) or "See the review."
    return report(host, asked.repository, CheckReport(CHECK, said.head_sha, title, summary, shown))
