"""Publish a change to a pull request: on its head, as suggestions, or as a pull request of the bot's own.

The commit is pushed to the head only if that is the bot's own or the policy allows it, and only if it has not moved. A
pull request of our own targets the head's branch or, for a fork, the base; for a fork, one review of suggestions is
tried first, which its author applies. It must fit completely on lines of the pull request's diff.
"""

from collections.abc import Iterator
from typing import NamedTuple

from github.PullRequestReview import PullRequestReview

from bot.checkout.branches import branch_name
from bot.checkout.objects import blobs_at, diff_between
from bot.checkout.pull import PullBase
from bot.contracts.errors import GateError, PublishError
from bot.contracts.formatting import count_of
from bot.contracts.pulls import PullRequest, Side
from bot.gate.path_rules import protection
from bot.github.accounts import account
from bot.github.errors import GitHubError
from bot.github.reviews import draft_comment
from bot.policy.decide import protected_files
from bot.policy.settings import Policy
from bot.publish.body.render import render_body
from bot.publish.change.commit import CheckedCommit, build_commit, read_rules, signed
from bot.publish.change.merge import publish_merge
from bot.publish.change.pull_request import Proposal, branch_patterns, propose, with_target
from bot.publish.change.pushed import is_own_head, push_onto_head, report_pushed
from bot.publish.context import PublishContext, check_now, check_open, check_request, fetch_ends
from bot.publish.markdown import block, suggestion_refusal
from bot.publish.remote import BranchMovedError, ProtectedBranchError
from bot.publish.result import PublishResult
from bot.publish.thread.comments import created
from bot.publish.thread.markers import SUGGESTED, mark, marked, own_fields
from bot.publish.title import title
from bot.review.diff import parse_diff
from bot.review.suggestions import ChangedFile, to_suggestions
from bot.verbs.registry import merges_base


def publish_on_pull(context: PublishContext) -> PublishResult:
    reviewed_pull = check_request(context.request, context.outcome.base_sha)
    if merges_base(context.request):
        return publish_merge(context, reviewed_pull)
    try:
        return _on_head(context, reviewed_pull)
    except BranchMovedError:
        # The branch was pushed to between our check and our push; the second check sees that.
        return _on_head(context, reviewed_pull)


def _on_head(context: PublishContext, reviewed_pull: PullRequest) -> PublishResult:
    current = context.github.pull(reviewed_pull.number)
    check_now(context.request, current)
    base_sha = context.outcome.base_sha
    moved = current.head_sha != base_sha
    if moved and context.request.round:
        raise PublishError(f"The head of #{current.number} moved during the round, so nothing was pushed.")
    if moved and not context.github.contains(current.head_sha, base_sha):
        raise PublishError(
            f"The commit {base_sha[:12]} is not part of #{current.number} (any more): its head was rewritten while the "
            "run was under way. Nothing was pushed; ask again."
        )
    ends = fetch_ends(context, base_sha)
    number, name = current.number, branch_name(current.number, title(context.outcome), on_pull_request=True)
    refs = context.remote.refs(*branch_patterns(number, name))
    context, rules = read_rules(context, ends.policy_sha)
    plain, fork = build_commit(context, rules), current.from_fork(context.repository)
    if plain.verdict.weaker and context.request.keeps_tests:
        raise GateError(f"{plain.verdict.weaker[0]}, and a round may not weaken tests that nobody reviewed.")
    # Of an earlier publishing of this request, even if the head has changed since.
    if fork and (review := _find_posted(context, plain)) is not None:
        return PublishResult(review.html_url, number, suggested=True)
    later: list[str] = []
    if moved and plain.policy.pull_request.signed:
        # Of a head that has moved: a commit that GitHub signed for us may be among them.
        later = [one.sha for one in reversed(context.github.pull_commits(number))]
    commit = signed(context, plain, [*refs.heads.values(), *later])
    if moved and context.github.contains(current.head_sha, commit.sha):
        return report_pushed(context, current, commit)
    head = PullHeadState(current, fork, is_own_head(context, current), moved)
    if may_go_onto(head, commit.policy, refs.default):
        check_open(current)
        try:
            return push_onto_head(context, current, commit, refs.default, (base_sha,))
        except ProtectedBranchError as error:
            if head.ours:
                raise
            context = context.with_notes(f"The commit could not be pushed to {current.head_ref}: {error}")
    base, note = own_target(head)
    never = frozenset({refs.default, current.base_ref, base})
    proposal = with_target(context, Proposal(commit, name, base, refs, never, fork))
    if fork and not proposal.done and commit.policy.forks != "pull_request":
        check_open(current)
        useless = "" if current.head_repository else "the fork is deleted, so they cannot be applied"
        useless = "its head has moved on since the run began" if moved else useless
        suggestions = useless or post_suggestions(context, plain, ends, current)
        if isinstance(suggestions, PublishResult):
            return suggestions
        context = context.with_notes(
            f"The change is not posted as suggestions on {head.mention}: {suggestions}."
        )
    if not proposal.done:
        check_open(current)
        if fork:
            _check_foreign(context, head, commit.policy, ends)
    return propose(context.with_notes(note), proposal)


class PullHeadState(NamedTuple):
    """Its head is in a `fork`; the bot made it (`ours`); it `moved` after the commit that the run worked on."""

    current: PullRequest
    fork: bool
    ours: bool
    moved: bool

    @property
    def mention(self) -> str:
        return f"#{self.current.number}"


def may_go_onto(head: PullHeadState, policy: Policy, default_branch: str) -> bool:
    """Whether the commit may be pushed to the head. A pull request of our own is made otherwise."""
    if head.fork or head.moved or not (head.ours or policy.push_to_head):
        return False
    return head.current.head_ref not in (default_branch, head.current.base_ref)


def own_target(head: PullHeadState) -> tuple[str, str]:
    """Return the base of a pull request of our own, and the note for its readers."""
    current, base = head.current, head.current.head_ref
    note = f"Merging this adds its commit to {head.mention}."
    if head.fork:
        base, whose = current.base_ref, current.head_repository or f"the deleted fork of {current.author}"
        note = (
            f"This holds the commits of {head.mention} by {current.author} from {whose}, "
            "and one of the bot's on top."
        )
    if head.moved:
        note += (
            f" The head of {head.mention} has moved on since the run began: this was made without its latest "
            "commits."
        )
    return base, note


def _check_foreign(context: PublishContext, head: PullHeadState, policy: Policy, ends: PullBase) -> None:
    """Raise `PublishError` if a fork's commits may not be pushed to a branch of this repository.

    There they could run with this repository's secrets: in workflows that start at once, or in a workflow that they
    change and that a later push starts.
    """
    sha, protected = context.outcome.base_sha, protected_files(policy)
    begin = ends.merge_base or ends.policy_sha
    for path in context.git.listed("diff-tree", "-r", "-z", "--name-only", "--no-renames", begin, sha):
        if reason := protection(path, protected):
            raise PublishError(
                f"The commits of {head.mention} change {path} ({reason}), so they are not put on a branch of this "
                "repository."
            )
    if context.starts_runs and context.request.trusted_sha != sha:
        raise PublishError(
            f"A branch with the commits of {head.mention} would start this repository's workflows on a fork's code. "
            f"If you have read that code, name its commit: `/agent fix --sha {head.current.head_sha} ...`."
        )


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
        draft_comment(one.path, block(one.suggestion), one.last, Side.RIGHT, one.first) for one in suggestions
    ]
    body = _suggested_text(context, commit, len(suggestions))

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
    git, head, sha = context.git, context.outcome.base_sha, commit.sha
    for file in parse_diff(diff_between(git, head, sha)).files:
        before, after = blobs_at(git, head, [file.old_path]), blobs_at(git, sha, [file.path])
        yield ChangedFile(file, before.get(file.old_path, b""), after.get(file.path, b""))


def _suggested_text(context: PublishContext, commit: CheckedCommit, number: int) -> str:
    """Return the review's text with its mark, within GitHub's limit: `render_body` leaves space for both."""
    how = "**One suggestion**, to be committed below."
    if number > 1:
        how = (
            f"**{count_of(number, 'suggestion')}, which belong together.** On the tab of the changed files each can be "
            "added to one batch, and the batch committed at once."
        )
    text = render_body(context.outcome, commit.verdict.files, links=context.links, closing=False)
    return marked(f"{how}\n\n{text}", mark(SUGGESTED, **_suggested_fields(context, commit)))


def _suggested_fields(context: PublishContext, commit: CheckedCommit) -> dict[str, str]:
    """Return the fields of the mark. A request without a comment, by a label, can be repeated for another commit."""
    trigger = context.request.trigger
    has_comment = context.thread_ref and trigger and trigger.comment_id
    key = context.key if has_comment else f"commit-{commit.sha[:12]}"
    return {"request": key, "head": context.outcome.base_sha}


def _find_posted(context: PublishContext, commit: CheckedCommit) -> PullRequestReview | None:
    wanted = _suggested_fields(context, commit)
    for review in context.github.reviews(context.pull_number):
        fields = own_fields(review.body or "", account(review.user), SUGGESTED, *context.accounts)
        if fields is not None and dict(fields) == wanted:
            return review
    return None
