"""Publish the review of a bundle: place its findings on the diff as fetched here, drop those of earlier reviews, and
post the rest. Its texts: `texts.py`."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from bot.checkout.objects import diff_between
from bot.contracts.errors import PublishError
from bot.contracts.formatting import count_of, money
from bot.contracts.pulls import Finding, Review, Severity
from bot.contracts.request import Request
from bot.github.errors import HIDDEN, GitHubError
from bot.github.reviews import draft_comment
from bot.policy.decide import protected_files
from bot.policy.load import load_policy
from bot.policy.settings import Policy
from bot.publish.body.order_and_footer import figures, small_line
from bot.publish.context import PublishContext, check_now, check_request, fetch_ends, make_bare
from bot.publish.markdown import run_link, safe_line
from bot.publish.remote import read_base_file
from bot.publish.review.posted_reviews import (
    REVIEWED,
    PostedReview,
    ReviewHistory,
    body_entry,
    post_empty_review,
    read_history,
    review_mark,
    without_entries,
)
from bot.publish.review.texts import Report, ShownDiff, body_text, comment_text, in_order, nothing_text
from bot.publish.thread.comments import created
from bot.publish.thread.markers import ENDED, FINISHED, OVER, marked
from bot.review.anchors import anchor
from bot.review.diff import parse_diff
from bot.review.diff_text import key_of, path_of, readable_path
from bot.review.known_findings import KnownFinding, State, find_new, fingerprint
from bot.review.suggestions import with_valid_suggestion

_GRAVE = frozenset({Severity.CRITICAL, Severity.MAJOR})


def publish_review(context: PublishContext) -> None:
    """Post the bundle's review, or a comment that there is no new finding, once. Raises `PublishError`."""
    review, github, say = context.bundle.review, context.github, context.say
    if review is None:
        raise PublishError("The bundle says that there is a review, and holds none: nothing was posted.")
    number = check_request(context.request, review.head_sha).number
    history = read_history(github, number)
    previous = history.made_for(context.key, review.head_sha)
    if previous is not None:
        say(f"this review is posted already: {previous.data.html_url}")
        finish_comments(context, previous.findings, previous.data.html_url)
        return
    pull = github.pull(number)
    # Policy and merge base are of the base branch, and which that is is not the bundle's to say.
    check_now(context.request, pull)
    diff = fetch_diff(context, review.head_sha, pull.head_sha)
    report = build_report(context, review, diff, history)
    paths = [file.path for file in diff.diff.files]
    endings = decide(history, review, paths, finished=context.finished)
    if report.findings or report.review.unseen or report.review.refused:
        is_grave = any(finding.severity in _GRAVE for finding in report.findings)
        event = "REQUEST_CHANGES" if diff.policy.request_changes and is_grave else "COMMENT"
        url, report = post_review(context, report, event)
        say(f"review posted: {url}")
        finish_comments(context, len(report.findings), url)
    else:
        say("the review has no new findings")
        report_no_findings(context, report, endings.open, earlier=len(history.findings))
    apply_endings(context, endings, history, review.head_sha)


def post_review(context: PublishContext, report: Report, event: str) -> tuple[str, Report]:
    """Create the review on its lines, else with all findings in its body. Return its address and its report."""
    for kind in (event, "COMMENT"):
        try:
            return _create(context, report, kind), report
        except GitHubError as error:
            if error.status != 422:
                raise
            refused = error
        if not refused.says("own pull request"):
            break
    why = "GitHub did not take it on its lines"
    in_body = (*((finding, why) for finding in report.anchored), *report.unanchored)
    report = report._replace(anchored=(), unanchored=in_body, notes=(*report.notes, str(refused)))
    return _create(context, report, "COMMENT"), report


def _create(context: PublishContext, report: Report, event: str) -> str:
    """Return the address of the review."""
    review, number, key = report.review, context.pull_number, context.key
    in_body = [body_entry(finding.fingerprint, finding.path) for finding, _ in in_order(report)]
    finding_count, protected = len(report.findings), report.at.protected
    written = review_mark(
        key, review.head_sha, finding_count, in_body, review.unseen, finished=context.finished
    )

    def create() -> str:
        return context.github.create_review(
            number,
            sha=report.at.head_sha,
            body=marked(body_text(report, room=len(written)), written),
            event=event,
            drafts=[
                draft_comment(one.path, comment_text(one, protected), one.line, one.side, one.start_line)
                for one in report.anchored
            ],
        ).html_url

    def find() -> str | None:
        review_posted = read_history(context.github, number).made_for(key, review.head_sha)
        return review_posted.data.html_url if review_posted else None

    return created(create, find)


def finish_comments(context: PublishContext, findings: int, url: str) -> None:
    """Edit our comments on this request to link to the review at `url`."""
    if context.thread_ref is None:
        return
    line = f"**Reviewed:** [{count_of(findings, 'finding')}]({url}) · {money(context.outcome.cost)}"
    with context.tolerating("The progress comment could not be finished"):
        context.thread_ref.edit(f"{line}{run_link(context.links.run)}", FINISHED)


def report_no_findings(
    context: PublishContext, report: Report, still_open: Sequence[KnownFinding], *, earlier: int
) -> None:
    """Report once that there is no new finding: in the progress comment, in a comment of its own or, if the request
    came from no thread, in a check run. `earlier` is the number of findings of earlier reviews. Raises
    `GitHubError`."""
    if context.thread_ref is None:
        _mark_as_reviewed(context, report)
        return
    fields = {**OVER, **({REVIEWED: report.review.head_sha} if context.finished else {})}
    thread_ref = context.thread_ref._replace(lines=0)
    text = nothing_text(report, still_open, earlier, f"{context.web}/pull/{context.pull_number}")
    trigger = context.request.trigger
    if trigger is not None and trigger.comment_id:
        context.failures.extend(thread_ref.put_result(ENDED, text, "Reviewed", fields))
    elif not thread_ref.edit(text, fields):
        _mark_as_reviewed(context, report)


def _mark_as_reviewed(context: PublishContext, report: Report) -> None:
    """Most tokens may not create a check run, and nothing depends on it."""
    if context.finished:
        with context.tolerating("The check run could not be made", silent=HIDDEN):
            post_empty_review(context.github, context.pull_number, report.review.head_sha)


def fetch_diff(context: PublishContext, head: str, current_head: str) -> ShownDiff:
    """Return the diff at the reviewed `head`, or at `current_head` if that no longer contains it."""
    notes = tuple[str, ...]()
    if head != current_head and not context.github.contains(current_head, head):
        notes = (f"The review was made at {head[:12]}; the head has moved since.",)
        head = current_head
    git, request = make_bare(context.remote.git_dir, head), context.request
    ends = fetch_ends(context, head)
    policy = load_policy(read_base_file(git, ends.policy_sha, request.policy_file), request.policy_file)
    diff = parse_diff(diff_between(git, ends.merge_base or ends.policy_sha, head))
    notes = (*notes, *replies_note(policy, request))
    return ShownDiff(head, diff, policy.review, protected_files(policy), notes)


def replies_note(policy: Policy, request: Request) -> tuple[str, ...]:
    """Return the sentence on replies in the threads of a fork's pull request, whose events get no secrets."""
    if not policy.replies or request.pull is None or not request.pull.from_fork(request.repository):
        return ()
    return (
        "Replies in these threads do not reach the bot, since the head is in a fork: /agent in the conversation works.",
    )


def build_report(context: PublishContext, review: Review, diff: ShownDiff, history: ReviewHistory) -> Report:
    """Return the new findings, anchored on the diff that GitHub shows. The least severe over the limit are left out."""
    anchored: list[Finding] = []
    # Of those without lines. Equal findings have equal reasons.
    reasons: dict[Finding, str] = {}
    for finding in review.findings:
        located = anchor(finding, diff.diff)
        if isinstance(located, str):
            reasons[finding._replace(suggestion=None, fingerprint=fingerprint(finding))] = located
        else:
            # Without a text it is unknown which lines the suggestion replaces.
            proven = bool(finding.text) or not located.text.strip()
            anchored.append(with_valid_suggestion(located if proven else located._replace(suggestion=None)))
    rank = list(Severity).index
    new, known = find_new((*anchored, *reasons), history.findings)
    fresh = sorted(new, key=lambda finding: rank(finding.severity))
    mildest = Severity(diff.policy.min_severity)
    grave = [finding for finding in fresh if rank(finding.severity) <= rank(mildest)]
    posted_findings = grave[: diff.policy.max_findings]
    # What an unfinished review looked at is looked at again.
    unfinished = tuple[str, ...]()
    if not context.finished:
        review = review._replace(unseen=(), looked_at=())
        unfinished = (f"This review is not finished. {context.outcome.reason}",)
    omitted = {
        f"milder than the policy posts ({mildest} and graver)": len(fresh) - len(grave),
        f"beyond the {len(posted_findings)} worst ones": len(grave) - len(posted_findings),
        "already made by an earlier review": known,
    }
    seen = f"commit {review.head_sha[:12]}"
    seen += f", only what changed since {review.since_sha[:12]}" if review.since_sha else ""
    return Report(
        review,
        diff,
        tuple(finding for finding in posted_findings if finding not in reasons),
        tuple((finding, reasons[finding]) for finding in posted_findings if finding in reasons),
        (
            *review.left_out,
            *(f"a report that was refused: {one}" for one in review.refused),
            *(f"{count_of(number, 'finding')} {why}" for why, number in omitted.items() if number),
        ),
        small_line(f"{seen} · {figures(context.outcome)}", context.links),
        context.web,
        (*unfinished, *diff.notes),
    )


# What a review ends: earlier findings that are over, and our own request for changes.


class Endings(NamedTuple):
    """`open` findings still hold, the code has ended `fixed` ones. `unblocked` reviews have no grave one open."""

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
    blocking = {finding.review for finding in open_ones if finding.severity in _GRAVE}
    unblocked = tuple(one for one in history.reviews if one.blocks and one.data.id not in blocking)
    return Endings(tuple(open_ones), tuple(fixed), unblocked)


def apply_endings(context: PublishContext, endings: Endings, history: ReviewHistory, head_sha: str) -> None:
    """Resolve our threads on what is fixed, if the token may, and end our requests for changes."""
    github, number = context.github, context.pull_number
    with context.tolerating("What is fixed could not be marked as fixed", silent=(400, 403, 404)):
        on_lines = [one for one in endings.fixed if one.comment]
        threads = github.unresolved_threads(number) if on_lines else {}
        for finding in on_lines:
            if thread_id := threads.get(finding.comment):
                # First, so that a token that may not resolve it says nothing.
                github.resolve_thread(number, thread_id)
                github.reply_to_review_comment(number, finding.comment, f"No longer found as of {head_sha}.")
        for review in history.reviews:
            ended = [one for one in endings.fixed if not one.comment and one.review == review.data.id]
            if ended:
                titles = ", ".join(safe_line(finding.title, 200) for finding in ended)
                note = f"<sub>No longer found as of {head_sha}: {titles}.</sub>"
                body = without_entries(review, [finding.fingerprint for finding in ended], note)
                github.edit_review(number, review.data.id, body)
    for review in endings.unblocked:
        message = f"No critical or major finding of this review is open as of {head_sha[:12]}."
        what = f"The request for changes of {review.data.html_url} is over, and could not be dismissed"
        with context.tolerating(what):
            github.dismiss_review(number, review.data.id, message)
