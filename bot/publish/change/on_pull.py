"""A change to a pull request: onto its head, as suggestions on it, or as a pull request of the bot's own beside it."""

from __future__ import annotations

import os
from dataclasses import replace

from bot.checkout.branches import branch_name
from bot.checkout.errors import CheckoutError
from bot.checkout.pull import Ends, PullHead, fetch_ends
from bot.contracts.errors import PublishError
from bot.contracts.pulls import PullRequest
from bot.github.errors import GitHubError
from bot.policy.protected import protected_files
from bot.policy.schema import Policy
from bot.publish.body.title import title
from bot.publish.change.annotated import annotate
from bot.publish.change.branch import Target, branch_patterns
from bot.publish.change.head import Head, check_foreign, is_own_branch, no_suggestions, way_of
from bot.publish.change.opening import propose
from bot.publish.change.proposal import Proposal, find_target
from bot.publish.change.pushed import tell_pushed
from bot.publish.change.ready import Ready, make_ready, sign_ready
from bot.publish.change.runs import about_runs, start_runs, waiting
from bot.publish.change.suggested import find_suggested, suggest
from bot.publish.change.work import Work
from bot.publish.published import Published
from bot.publish.pull import check_now, check_open, check_request
from bot.publish.remote import BranchMovedError, ProtectedBranchError, Refs, Remote
from bot.publish.thread.markers import PULL_REQUEST, read_mark


def publish_on_pull(work: Work) -> Published:
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
    refs = work.remote.refs(*branch_patterns(number, name))
    ready = make_ready(work, ends.policy_sha)
    work = waiting(work, ready.policy)
    plain, fork = ready.prepared, now.from_fork(work.repository)
    if fork and (done := find_suggested(work, plain, now)) is not None:
        return done
    ready = sign_ready(work, ready, [*refs.heads.values(), *(_later(work, ready, now) if moved else [])])
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
            if not head.fork and (head.ours or not isinstance(error, ProtectedBranchError)):
                raise
            # The fork's owner may have taken the permission back, and GITHUB_TOKEN never has it; or a rule of this
            # repository protects the branch.
            work = work.noting(f"The commit could not be pushed to {way.push_to}: {error}")
            policy: Policy = replace(ready.policy, forks="suggestions", push_to_head=False)
            way = way_of(head, policy, work.repository, refs.default)
    proposal = _proposal(work, head, way.base, name, ready, refs)
    target = find_target(work, proposal)
    if fork and not target.done and ready.policy.forks != "pull_request":
        check_open(now)
        made = no_suggestions(head) or suggest(work, plain, ends, now, ready.policy)
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


def _later(work: Work, ready: Ready, now: PullRequest) -> list[str]:
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
            return marked and work.is_ours(pull.author, PULL_REQUEST)
    return False


def _push_onto(work: Work, head: Head, push_to: str, ready: Ready, refs: Refs) -> Published:
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


def _pushed(work: Work, now: PullRequest, ready: Ready) -> Published:
    """The commit is on the head. No text of a pull request tells of it, so a comment does."""
    url = f"{work.remote.of(work.repository, work.repository).url.removesuffix('.git')}/pull/{now.number}"
    notes: tuple[str, ...] = ()
    try:
        ci = about_runs(work, ready.policy, foreign=now.from_fork(work.repository))
        notes = tell_pushed(work.noting(*filter(None, [ci])), now, ready.prepared)
    except GitHubError as error:
        notes = (f"The comment on the commit could not be posted: {error}",)
    notes = (*notes, *annotate(work, ready.prepared))
    return Published(url, now.number, now.head_ref, False, ready.prepared.sha, notes)


def _proposal(work: Work, head: Head, base: str, name: str, ready: Ready, refs: Refs) -> Proposal:
    never = frozenset({refs.default, head.now.base_ref, base})
    return Proposal(
        ready.prepared, ready.author, name, base, refs.heads, never, ready.policy, ready.policy_sha, head.fork
    )


def _offer(work: Work, head: Head, proposal: Proposal, target: Target, ends: Ends) -> Published:
    if not target.done:
        check_open(head.now)
        if head.fork:
            trusted = work.request.trusted_sha == work.outcome.base_sha
            paths, protected = _changed(work, ends), protected_files(proposal.policy)
            check_foreign(head, paths, protected, trusted=trusted, starts_runs=work.starts_runs)
    return propose(work, proposal, target)


def _changed(work: Work, ends: Ends) -> list[str]:
    """Every path that differs between where the pull request begins and its head."""
    begin = ends.merge_base or ends.policy_sha
    listing = work.git.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", begin, work.outcome.base_sha
    )
    return [os.fsdecode(path) for path in listing.split(b"\0") if path]
