"""A change to a fork's head as one review of suggestions: its author applies them, and nothing of it runs here.

All of the change or none of it: what does not fit on lines that the pull request's diff shows goes another way.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.checkout.compare import diff_between
from bot.checkout.git import GitError
from bot.checkout.pull import Ends
from bot.contracts.pulls import PullRequest, Side
from bot.contracts.wording import count_of
from bot.findings.as_suggestions import Changed, Suggestion, as_suggestions
from bot.findings.parse import parse_diff
from bot.findings.suggestions import block
from bot.github.bodies import BODY_LIMIT
from bot.github.errors import GitHubError
from bot.github.values import ReviewData, ReviewDraft
from bot.policy.protected import protected_files
from bot.policy.schema import Policy
from bot.publish.body.render import render_body
from bot.publish.change.commit import Prepared
from bot.publish.change.work import Work
from bot.publish.published import Published
from bot.publish.text.suggestion import held_back
from bot.publish.thread.markers import SUGGESTED, mark, marked, read_mark
from bot.publish.thread.place import place_of

_MARK_ROOM = 1_000


def find_suggested(work: Work, prepared: Prepared, now: PullRequest) -> Published | None:
    """What an earlier publishing of this request made of it, whatever has become of the head since."""
    found = _made(work, prepared)
    return _published(found, now) if found is not None else None


def suggest(work: Work, prepared: Prepared, ends: Ends, now: PullRequest, policy: Policy) -> Published | str:
    """Post the change as suggestions; or a clause that says why it cannot be. Raises `GitHubError`."""
    head, base = work.outcome.base_sha, ends.merge_base or ends.policy_sha
    shown = parse_diff(diff_between(work.git, base, head))
    found = as_suggestions(_changes(work, prepared), shown)
    if isinstance(found, str):
        return found
    for one in found:
        if why := held_back(one.path, one.text, one.suggestion, protected_files(policy)):
            return f"{one.path}: {why}"
    drafts = [_draft(one) for one in found]
    if any(len(draft.body) > BODY_LIMIT - _MARK_ROOM for draft in drafts):
        return "a suggestion would be longer than a comment may be"
    body = _body(work, prepared, len(found))
    try:
        made = work.host.create_review(
            work.repository, now.number, commit_sha=head, body=body, event="COMMENT", comments=drafts
        )
    except GitHubError as error:
        if error.status == 422:
            return f"GitHub did not take it: {error}"
        # The answer was lost, and perhaps only the answer.
        posted = _made(work, prepared) if error.failure.transient else None
        if posted is None:
            raise
        made = posted
    return _published(made, now)


def _changes(work: Work, prepared: Prepared) -> Iterator[Changed]:
    """Every file that the commit changes, with both its states."""
    head, sha = work.outcome.base_sha, prepared.sha
    for file in parse_diff(diff_between(work.git, head, sha)).files:
        yield Changed(file, _blob(work, head, file.old_path), _blob(work, sha, file.path))


def _blob(work: Work, commit: str, path: str) -> bytes:
    """Empty where there is no such file."""
    try:
        return work.git.run("cat-file", "blob", f"{commit}:{path}")
    except GitError:
        return b""


def _draft(one: Suggestion) -> ReviewDraft:
    start = one.first if one.first < one.last else 0
    return ReviewDraft(one.path, block(one.suggestion), one.last, Side.RIGHT, start, Side.RIGHT)


def _body(work: Work, prepared: Prepared, number: int) -> str:
    """Under GitHub's limit with its mark: `render_body` keeps that room."""
    many = number > 1
    how = (
        f"**{count_of(number, 'suggestion')}, which belong together.** On the tab of the changed files each can be "
        "added to one batch, and the batch committed at once."
        if many
        else "**One suggestion**, to be committed below."
    )
    text = render_body(
        work.outcome, prepared.verdict.files, work.outcome.withheld, links=work.links, closing=False
    )
    return marked(f"{how}\n\n{text}", mark(SUGGESTED, **_fields(work, prepared)))


def _fields(work: Work, prepared: Prepared) -> dict[str, str]:
    """A comment asks for one result; what is asked without one, a label, can come again and to something else."""
    place = place_of(work.request)
    trigger = work.request.trigger
    asked = place is not None and trigger is not None and trigger.comment_id
    key = place.key if place is not None and asked else f"commit-{prepared.sha[:12]}"
    return {"request": key, "head": work.outcome.base_sha}


def _made(work: Work, prepared: Prepared) -> ReviewData | None:
    assert work.request.pull is not None
    wanted = _fields(work, prepared)
    for review in work.host.reviews(work.repository, work.request.pull.number):
        fields = read_mark(review.body, SUGGESTED)
        if fields is not None and dict(fields) == wanted and work.is_ours(review.author, SUGGESTED):
            return review
    return None


def _published(review: ReviewData, now: PullRequest) -> Published:
    return Published(review.url, now.number, suggested=True)
