"""A commit that is to be offered, and where it goes: ours that is there is found by branch, mark and author."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.checkout.branches import Signature
from bot.github.values import PullData
from bot.policy.schema import Policy
from bot.publish.change.branch import OwnPull, Target, choose_target
from bot.publish.change.commit import Prepared
from bot.publish.change.task import check_alone, check_room
from bot.publish.change.work import Work
from bot.publish.thread.markers import PULL_REQUEST, read_mark


@dataclass(frozen=True, slots=True)
class Proposal:
    """A commit that is to be offered on a branch called `name`, as a pull request onto the branch `base`.

    `heads` are the server's branches that may be ours, `never` the ones people work on. Keyword, template and
    workflows to start are those of the policy at `policy_sha`. `foreign` says that the branch will hold commits
    from outside the repository. `labels` are put on a new pull request.
    """

    prepared: Prepared
    author: Signature
    name: str
    base: str
    heads: Mapping[str, str]
    never: frozenset[str]
    policy: Policy
    policy_sha: str
    foreign: bool = False
    labels: tuple[str, ...] = ()


def find_target(work: Work, proposal: Proposal) -> Target:
    """Asks GitHub for our own pull requests from the branches that may be ours."""
    heads = {branch: sha for branch, sha in proposal.heads.items() if branch not in proposal.never}
    own = _own_pulls(work, proposal, heads)
    target = choose_target(proposal.name, proposal.prepared.sha, heads, own, never=proposal.never)
    check_alone(work, target)
    check_room(work, target, proposal.policy.maintenance.open_pulls)
    return target


def _own_pulls(work: Work, proposal: Proposal, heads: Mapping[str, str]) -> list[OwnPull]:
    """Our open pull requests for this thread: by branch, mark and author, and never by the name alone."""
    commit, wanted = proposal.prepared.sha, subject_of(work)
    found: list[OwnPull] = []
    for branch in sorted(heads, key=len):
        for pull in work.host.open_pulls(work.repository, branch):
            fields = read_mark(pull.body, PULL_REQUEST)
            if fields is None or pull.base_branch != proposal.base:
                continue
            if {name: fields.get(name, "") for name in wanted} != wanted:
                continue
            if not work.is_ours(pull.author, PULL_REQUEST):
                continue
            recorded = fields.get("head", "")
            known = heads[branch] in (recorded, commit)
            found.append(
                OwnPull(
                    pull,
                    recorded,
                    untouched=known or _only_ours(work, pull, heads[branch], proposal.author),
                    followed=not known and work.host.contains(work.repository, branch, commit),
                )
            )
    return found


def subject_of(work: Work) -> dict[str, str]:
    """What a pull request of ours is for, as its mark says it: a task's is for that, wherever it was asked for."""
    thread, task = work.request.thread, work.request.task
    return {"issue": str(thread.number) if thread and not task else "none", "task": task}


def _only_ours(work: Work, pull: PullData, tip: str, author: Signature) -> bool:
    """Where the mark is older than the branch (a run died between push and edit), its one commit tells. It must be the
    `tip` that git reports: the API may still list what was there before somebody pushed."""
    commits = work.host.pull_commits(work.repository, pull.number)
    if len(commits) != 1 or commits[0].sha != tip:
        return False
    return {commits[0].author_email, commits[0].committer_email} == {author.email}
