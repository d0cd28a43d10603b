"""A change from an issue or a task: on a branch of the bot's own, onto the base branch."""

from __future__ import annotations

from dataclasses import replace

from bot.checkout.branches import branch_name
from bot.contracts.errors import PublishError
from bot.publish.base_file import read_base_file
from bot.publish.body.title import title
from bot.publish.change.branch import branch_patterns
from bot.publish.change.opening import propose
from bot.publish.change.proposal import Proposal, find_target
from bot.publish.change.ready import make_ready, sign_ready
from bot.publish.change.runs import waiting
from bot.publish.change.task import branch_of
from bot.publish.change.work import Work
from bot.publish.published import Published
from bot.publish.remote import Refs
from bot.publish.rules import Read


def publish_on_branch(work: Work) -> Published:
    thread, base = work.request.thread, work.request.base_ref
    number = thread.number if thread and not work.request.task else None
    name = branch_of(work.request.task) if work.request.task else branch_name(number, title(work.outcome))
    refs = work.remote.refs(base, *branch_patterns(number, name))
    _check_base(work, refs)
    work.remote.fetch(work.outcome.base_sha)
    work = replace(work, finder=work.rules(_reader(work, refs)))
    ready = make_ready(work, work.outcome.base_sha)
    work = waiting(work, ready.policy)
    ready = sign_ready(work, ready, refs.heads.values())
    people = frozenset({refs.default, base})
    proposal = Proposal(
        ready.prepared, ready.author, name, base, refs.heads, people, ready.policy, ready.policy_sha,
        labels=ready.labels,
    )  # fmt: skip
    return propose(work, proposal, find_target(work, proposal))


def _reader(work: Work, refs: Refs) -> Read | None:
    """Files of the base branch as it is now, where its tip is the base commit, which is here."""
    sha = work.outcome.base_sha
    at_tip = refs.heads.get(work.request.base_ref) == sha
    return (lambda path: read_base_file(work.git, sha, path)) if at_tip else None


def _check_base(work: Work, refs: Refs) -> None:
    """The base commit brings policy and template, so it must be one that people put on the branch."""
    base, sha = work.request.base_ref, work.outcome.base_sha
    head = refs.heads.get(base)
    if head is None:
        raise PublishError(f"The base branch {base} is not there any more.")
    if head != sha and not work.host.contains(work.repository, base, sha):
        raise PublishError(f"The base commit {sha[:12]} is not part of {base}: was its history rewritten?")
