"""Publish a merge of the base branch in which a round resolved the conflicts.

The automatic merge is computed again here. The bundle may differ from it in the files with conflicts alone, and the
difference goes through the gate: the rest is the base's own and the head's own.
"""

from collections.abc import Callable

from bot.checkout.git import GitError
from bot.checkout.merge import merged
from bot.checkout.objects import blobs_at
from bot.contracts.errors import GateError, PublishError
from bot.contracts.pulls import PullRequest
from bot.publish.change.commit import build_commit, check_ci_wait, read_rules, start_workflows
from bot.publish.change.pushed import report_pushed
from bot.publish.context import PublishContext, check_now, check_open, fetch_ends
from bot.publish.result import PublishResult


def publish_merge(
    context: PublishContext, reviewed: PullRequest, own: Callable[[PullRequest], bool]
) -> PublishResult:
    """Push the merge to the head of the pull request, if that is our `own` or the policy allows it. Raises
    `PublishError`, and `GateError` for other changes."""
    current = context.github.pull(reviewed.number)
    check_now(context.request, current)
    check_open(current)
    head = reviewed.head_sha
    if current.head_sha != head:
        raise PublishError(f"The head of #{current.number} moved during the round, so nothing was pushed.")
    ends = fetch_ends(context, head)
    try:
        automatic = merged(context.git, ends.merge_base, head, ends.policy_sha)
    except GitError as error:
        raise PublishError(f"The base could not be merged into #{current.number}: {error.detail}") from error
    if automatic.sha != context.outcome.base_sha:
        raise PublishError(f"The base of #{current.number} moved during the round, so nothing was pushed.")
    context, rules = read_rules(context, ends.policy_sha)
    if current.from_fork(context.repository) or not (rules.policy.push_to_head or own(current)):
        raise PublishError(
            f"The base is not merged into #{current.number}: that takes `push_to_head: true` in the policy, and a "
            "branch of this repository."
        )
    commit = build_commit(context, rules, (head, ends.policy_sha))
    other = [file.path for file in commit.verdict.files if file.path not in automatic.conflicted]
    if other:
        raise GateError(f"The merge changes {other[0]}, which has no conflict.")
    left = blobs_at(context.git, commit.sha, list(automatic.conflicted))
    if marked := [path for path, content in left.items() if automatic.has_marker(content)]:
        raise GateError(f"A conflict marker is left in {marked[0]}.")
    check_ci_wait(context)
    refs = context.remote.refs()
    if context.github.is_dry:
        context.github.requester.record(
            f"push: put a merge on {current.head_ref}, the head of #{current.number}"
        )
    else:
        never = frozenset({refs.default, current.base_ref})
        context.remote.push_onto(
            commit.sha, current.head_ref, expected=head, never=never, merged=ends.policy_sha
        )
    published = report_pushed(context, current, commit)
    start_workflows(context, commit.policy, current.head_ref, foreign=False)
    return published
