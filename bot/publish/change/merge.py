"""Publish a merge of the base branch in which a round resolved the conflicts.

The automatic merge is computed again here. The bundle may differ from it in the files with conflicts alone, and the
difference goes through the gate: the rest is the base's own and the head's own.
"""

from bot.checkout.git import GitError
from bot.checkout.merge import Merge, markers, merged
from bot.checkout.pull import PullBase
from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Status
from bot.contracts.pulls import PullRequest
from bot.publish.change.commit import build_commit, read_rules, signed
from bot.publish.change.pushed import is_own_head, push_onto_head
from bot.publish.context import PublishContext, check_now, check_open, fetch_ends
from bot.publish.result import PublishResult, report_failure

_MOST_TIPS = 30
"""Commits of the base branch that may be pushed during a round."""


def publish_merge(context: PublishContext, reviewed: PullRequest) -> PublishResult:
    """Push the merge to the head of the pull request, if that is our own or the policy allows it, or say that there is
    nothing to merge. Raises `PublishError`, and `GateError` for other changes."""
    current = context.github.pull(reviewed.number)
    check_now(context.request, current)
    check_open(current)
    head = reviewed.head_sha
    if current.head_sha != head:
        raise PublishError(f"The head of #{current.number} moved during the round, so nothing was pushed.")
    if context.outcome.status is Status.PARTIAL:
        raise PublishError(f"The merge is not finished, so nothing was pushed: {context.outcome.reason}")
    ends = fetch_ends(context, head)
    tip, automatic = _merge_of_run(context, ends, head)
    if automatic.by_hand:
        raise GateError(automatic.by_hand)
    if tip == ends.merge_base:
        report_failure(context, "The branch has all commits of its base.", heading="Nothing to merge")
        return PublishResult(f"{context.web}/pull/{current.number}", current.number)
    context, rules = read_rules(context, ends.policy_sha)
    if current.from_fork(context.repository) or not (
        rules.policy.push_to_head or is_own_head(context, current)
    ):
        raise PublishError(
            f"The base is not merged into #{current.number}: that takes `push_to_head: true` in the policy, and a "
            "branch of this repository."
        )
    commit = build_commit(context, rules, (head, tip))
    other = [file.path for file in commit.verdict.files if file.path not in automatic.conflicted]
    if other:
        raise GateError(f"The merge changes {other[0]}, which has no conflict.")
    new, *known = (markers(context.git, one, automatic.conflicted) for one in (commit.sha, head, tip))
    if left := new.difference(*known):
        raise GateError(f"A conflict marker is left in {min(left)[0]}.")
    commit = signed(context, commit, ())
    return push_onto_head(context, current, commit, context.remote.refs().default, (head, tip))


def _merge_of_run(context: PublishContext, ends: PullBase, head: str) -> tuple[str, Merge]:
    """Return the tip of the base branch that the run merged, and the merge. Others may have pushed there meanwhile.
    Raises `PublishError` if none of the branch's last commits makes the merge that the bundle is based on."""
    git, number = context.git, context.pull_number
    try:
        context.remote.fetch(ends.policy_sha, depth=_MOST_TIPS)
        listing = git.run("rev-list", "--first-parent", f"-{_MOST_TIPS}", ends.policy_sha)
        for tip in listing.decode().split():
            if (automatic := merged(git, ends.merge_base, head, tip)).sha == context.outcome.base_sha:
                return tip, automatic
    except GitError as error:
        raise PublishError(f"The base could not be merged into #{number}: {error.detail}") from error
    raise PublishError(f"The base of #{number} was rewritten during the round, so nothing was pushed.")
