"""A bundle's change, made a commit again and brought to GitHub: from an issue, or on a pull request's head.

Nothing is believed of the bundle that can be looked up: the gate judges the patch again, the commit it applies to must
be one that the base branch or the pull request has, and policy and template are read from the base branch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from bot.checkout.branches import Signature, branch_name
from bot.checkout.errors import CheckoutError
from bot.checkout.pull import Ends, PullHead, fetch_ends
from bot.contracts.errors import PublishError
from bot.contracts.pulls import PullRequest
from bot.github.errors import GitHubError
from bot.policy.decide import may_write as paths_that_may_change
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.publish.annotated import annotate
from bot.publish.body.title import title
from bot.publish.branch import Target
from bot.publish.commit import Prepared, prepare_commit, read_base_file, server_host
from bot.publish.head import (
    Head,
    check_foreign,
    check_now,
    check_open,
    check_request,
    is_own_branch,
    no_suggestions,
    way_of,
)
from bot.publish.opening import Proposal, find_target, patterns, propose
from bot.publish.pushed import tell_pushed
from bot.publish.remote import BranchMovedError, Refs, Remote
from bot.publish.runs import about_runs, start_runs
from bot.publish.suggested import find_suggested, suggest
from bot.publish.tasks import branch_of, read_bounds
from bot.publish.thread.markers import PULL_REQUEST, is_ours, read_mark
from bot.publish.work import Published, Read, Work


@dataclass(frozen=True, slots=True)
class _Ready:
    """A commit that may be pushed, and what its policy says of it."""

    prepared: Prepared
    policy: Policy
    policy_sha: str
    author: Signature
    labels: tuple[str, ...] = ()


def publish_change(work: Work) -> Published:
    """Raises `PublishError`, `GateError`, `GitHubError`."""
    thread = work.request.thread
    if work.request.pull is not None or (thread is not None and thread.is_pull_request):
        return _on_pull(work)
    return _on_branch(work)


# From the base branch


def _on_branch(work: Work) -> Published:
    thread, base = work.request.thread, work.request.base_ref
    number = thread.number if thread and not work.request.task else None
    name = branch_of(work.request.task) if work.request.task else branch_name(number, title(work.outcome))
    refs = work.remote.refs(base, *patterns(number, name))
    _check_base(work, refs)
    work.remote.fetch(work.outcome.base_sha)
    work = replace(work, finder=work.rules(_reader(work, refs)))
    ready = _signed(work, _ready(work, work.outcome.base_sha), refs.heads.values())
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


def _ready(work: Work, policy_sha: str) -> _Ready:
    file = work.request.policy_file
    policy = load_policy(read_base_file(work.git, policy_sha, file), file)
    policy, labels = read_bounds(work, policy, policy_sha)
    identity = work.identity or policy.identity
    author = Signature(identity.name, identity.email)
    prepared = prepare_commit(
        work.git,
        work.bundle,
        author,
        sign_off=policy.pull_request.sign_off,
        host=server_host(work.remote.url),
        may_write=work.may_write or paths_that_may_change(policy, work.request.actor.tier),
        finder=work.finder,
    )
    return _Ready(prepared, policy, policy_sha, author, labels)


def _signed(work: Work, ready: _Ready, there: Iterable[str]) -> _Ready:
    """With the commit that GitHub makes where policy asks for signed ones; it may be among those `there`."""
    if not ready.policy.pull_request.signed:
        return ready
    from bot.publish.signing import signed

    return replace(ready, prepared=signed(work, ready.prepared, there))


# On a pull request's head


def _on_pull(work: Work) -> Published:
    asked = check_request(work.request, work.outcome.base_sha)
    work = replace(work, finder=work.rules(None))
    try:
        return _on_head(work, asked)
    except BranchMovedError:
        # Somebody pushed between our look and our push; the second look sees that.
        return _on_head(work, asked)


def _on_head(work: Work, asked: PullRequest) -> Published:
    now = work.host.pull(work.repository, asked.number)
    check_now(work.request, now)
    moved = _has_moved(work, now)
    ends = _fetch(work, now)
    number, name = now.number, branch_name(now.number, title(work.outcome), on_pull_request=True)
    refs = work.remote.refs(*patterns(number, name))
    ready = _ready(work, ends.policy_sha)
    plain, fork = ready.prepared, now.from_fork(work.repository)
    if fork and (done := find_suggested(work, plain, now)) is not None:
        return done
    ready = _signed(work, ready, [*refs.heads.values(), *(_later(work, ready, now) if moved else [])])
    if moved and work.host.contains(work.repository, now.head_sha, ready.prepared.sha):
        return _pushed(work, now, ready)
    head = Head(now, fork, _is_own(work, now), moved)
    way = way_of(head, ready.policy, work.repository, refs.default)
    if way.push_to:
        check_open(now)
        try:
            return _push_onto(work, head, way.push_to, ready, refs)
        except BranchMovedError:
            raise
        except PublishError as error:
            if not head.fork:
                raise
            # The fork's owner may have taken the permission back, and GITHUB_TOKEN never has it.
            work = work.noting(f"The commit could not be pushed to {way.push_to}: {error}")
            forks: Policy = replace(ready.policy, forks="suggestions")
            way = way_of(head, forks, work.repository, refs.default)
    proposal = _proposal(work, head, way.base, name, ready, refs)
    target = find_target(work, proposal)
    if fork and not target.done and ready.policy.forks != "pull_request":
        check_open(now)
        made = no_suggestions(head) or suggest(work, plain, ends, now)
        if isinstance(made, Published):
            return made
        work = work.noting(f"These are no suggestions on {head.mention}: {made}.")
    return _offer(work.noting(way.note), head, proposal, target, ends)


def _has_moved(work: Work, now: PullRequest) -> bool:
    sha = work.outcome.base_sha
    if now.head_sha == sha:
        return False
    if work.host.contains(work.repository, now.head_sha, sha):
        return True
    raise PublishError(
        f"The commit {sha[:12]} is not part of #{now.number} (any more): its head was rewritten while the run was "
        "under way. Nothing was pushed; ask again."
    )


def _later(work: Work, ready: _Ready, now: PullRequest) -> list[str]:
    """The newest commits of a head that has moved: one that GitHub signed for us may be among them."""
    if not ready.policy.pull_request.signed:
        return []
    return [commit.sha for commit in reversed(work.host.pull_commits(work.repository, now.number))]


def _fetch(work: Work, now: PullRequest) -> Ends:
    head = PullHead(now.number, work.outcome.base_sha)
    depth = ["--depth=1", "--no-tags"]
    try:
        return fetch_ends(work.git, work.remote.url, work.remote.token, head, now.base_ref, depth)
    except CheckoutError as error:
        raise PublishError(f"#{now.number} could not be fetched: {error}") from error


def _is_own(work: Work, now: PullRequest) -> bool:
    """Made by us: on a branch of ours, our mark in the text, our account as the author."""
    if not is_own_branch(now, work.repository):
        return False
    for pull in work.host.open_pulls(work.repository, now.head_ref):
        if pull.number == now.number:
            marked = read_mark(pull.body, PULL_REQUEST) is not None
            return marked and is_ours(pull.author, work.host.me())
    return False


def _push_onto(work: Work, head: Head, push_to: str, ready: _Ready, refs: Refs) -> Published:
    now, sha = head.now, ready.prepared.sha
    never = frozenset() if head.fork else frozenset({refs.default, now.base_ref})
    if work.recorder is not None:
        work.recorder.record(
            f"push: put one commit on {now.head_ref} of {push_to}, the head of {head.mention}"
        )
    else:
        remote: Remote = work.remote.of(work.repository, push_to)
        remote.push_onto(sha, now.head_ref, expected=work.outcome.base_sha, never=never)
    published = _pushed(work, now, ready)
    started = start_runs(work, ready.policy, now.head_ref, foreign=head.fork)
    return replace(published, notes=(*published.notes, *started))


def _pushed(work: Work, now: PullRequest, ready: _Ready) -> Published:
    """The commit is on the head. No text of a pull request tells of it, so a comment does."""
    url = f"{work.remote.of(work.repository, work.repository).url.removesuffix('.git')}/pull/{now.number}"
    notes: tuple[str, ...] = ()
    try:
        ci = about_runs(work, ready.policy, foreign=now.from_fork(work.repository))
        tell_pushed(work.noting(*filter(None, [ci])), now, ready.prepared)
    except GitHubError as error:
        notes = (f"The pull request could not be told of the commit: {error}",)
    notes = (*notes, *annotate(work, ready.prepared))
    return Published(url, now.number, now.head_ref, False, ready.prepared.sha, notes)


def _proposal(work: Work, head: Head, base: str, name: str, ready: _Ready, refs: Refs) -> Proposal:
    never = frozenset({refs.default, head.now.base_ref, base})
    return Proposal(
        ready.prepared, ready.author, name, base, refs.heads, never, ready.policy, ready.policy_sha, head.fork
    )


def _offer(work: Work, head: Head, proposal: Proposal, target: Target, ends: Ends) -> Published:
    if not target.done:
        check_open(head.now)
        if head.fork:
            trusted = work.request.trusted_sha == work.outcome.base_sha
            paths = _changed(work, ends)
            check_foreign(head, paths, trusted=trusted, starts_runs=work.starts_runs)
    return propose(work, proposal, target)


def _changed(work: Work, ends: Ends) -> list[str]:
    """Every path that differs between where the pull request begins and its head."""
    begin = ends.merge_base or ends.policy_sha
    listing = work.git.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", begin, work.outcome.base_sha
    )
    return [os.fsdecode(path) for path in listing.split(b"\0") if path]
