"""Publish a change to a fork's head as one review of suggestions, which its author applies; nothing of it runs here.

A change that does not fit completely on lines of the pull request's diff is published another way.
"""

from collections.abc import Iterator

from github.PullRequestReview import PullRequestReview

from bot.checkout.git import GitError
from bot.checkout.objects import diff_between
from bot.checkout.pull import PullBase
from bot.contracts.formatting import count_of
from bot.contracts.pulls import PullRequest, Side
from bot.github.accounts import account
from bot.github.errors import GitHubError
from bot.github.reviews import ReviewDraft
from bot.github.text_limits import BODY_LIMIT
from bot.policy.decide import protected_files
from bot.publish.body.render import render_body
from bot.publish.change.commit import CheckedCommit
from bot.publish.context import PublishContext
from bot.publish.markdown import suggestion_refusal
from bot.publish.result import PublishResult
from bot.publish.thread.comments import created
from bot.publish.thread.markers import SUGGESTED, mark, marked, own_fields
from bot.review.diff import parse_diff
from bot.review.suggestions import ChangedFile, block, to_suggestions

_MARK_ROOM = 1_000


def found_before(context: PublishContext, commit: CheckedCommit, now: PullRequest) -> PublishResult | None:
    """Return the result of an earlier publishing of this request, even if the head has changed since."""
    review = _find_posted(context, commit)
    return PublishResult(review.html_url, now.number, suggested=True) if review is not None else None


def post_suggestions(
    context: PublishContext, commit: CheckedCommit, ends: PullBase, now: PullRequest
) -> PublishResult | str:
    """Post the change as suggestions, or return a clause why that is not possible. Raises `GitHubError`."""
    head, base = context.outcome.base_sha, ends.merge_base or ends.policy_sha
    diff = parse_diff(diff_between(context.git, base, head))
    suggestions = to_suggestions(_changes(context, commit), diff)
    if isinstance(suggestions, str):
        return suggestions
    for one in suggestions:
        if why := suggestion_refusal(one.path, one.text, one.suggestion, protected_files(commit.policy)):
            return f"{one.path}: {why}"
    drafts = [
        ReviewDraft(one.path, block(one.suggestion), one.last, Side.RIGHT, one.first) for one in suggestions
    ]
    if any(len(draft.body) > BODY_LIMIT - _MARK_ROOM for draft in drafts):
        return "a suggestion would be longer than a comment may be"
    body = _body(context, commit, len(suggestions))

    def create() -> PullRequestReview:
        return context.github.create_review(now.number, sha=head, body=body, event="COMMENT", drafts=drafts)

    try:
        review = created(create, lambda: _find_posted(context, commit))
        return PublishResult(review.html_url, now.number, suggested=True)
    except GitHubError as error:
        if error.status == 422:
            return f"GitHub did not take it: {error}"
        raise


def _changes(context: PublishContext, commit: CheckedCommit) -> Iterator[ChangedFile]:
    """Yield every file that the commit changes, with its old and new contents."""
    head, sha = context.outcome.base_sha, commit.sha
    for file in parse_diff(diff_between(context.git, head, sha)).files:
        yield ChangedFile(file, _blob(context, head, file.old_path), _blob(context, sha, file.path))


def _blob(context: PublishContext, commit: str, path: str) -> bytes:
    """Empty if there is no such file."""
    try:
        return context.git.run("cat-file", "blob", f"{commit}:{path}")
    except GitError:
        return b""


def _body(context: PublishContext, commit: CheckedCommit, number: int) -> str:
    """Return the review's text with its mark, within GitHub's limit: `render_body` leaves space for both."""
    how = "**One suggestion**, to be committed below."
    if number > 1:
        how = (
            f"**{count_of(number, 'suggestion')}, which belong together.** On the tab of the changed files each can be "
            "added to one batch, and the batch committed at once."
        )
    text = render_body(context.outcome, commit.verdict.files, links=context.links, closing=False)
    return marked(f"{how}\n\n{text}", mark(SUGGESTED, **_fields(context, commit)))


def _fields(context: PublishContext, commit: CheckedCommit) -> dict[str, str]:
    """Return the fields of the mark. A request without a comment, by a label, can be repeated for another commit."""
    thread_ref = context.thread_ref
    trigger = context.request.trigger
    has_comment = thread_ref is not None and trigger is not None and trigger.comment_id
    key = thread_ref.key if thread_ref is not None and has_comment else f"commit-{commit.sha[:12]}"
    return {"request": key, "head": context.outcome.base_sha}


def _find_posted(context: PublishContext, commit: CheckedCommit) -> PullRequestReview | None:
    assert context.request.pull is not None
    wanted = _fields(context, commit)
    for review in context.github.reviews(context.request.pull.number):
        fields = own_fields(review.body or "", account(review.user), SUGGESTED, *context.accounts)
        if fields is not None and dict(fields) == wanted:
            return review
    return None
