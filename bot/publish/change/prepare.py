"""Judge a bundle's change again by the policy of a base commit, and make the commit that is pushed.

Where the policy asks for signed commits, GitHub's API makes it. Its tree must be the one that the gate judged. Date and
signature are GitHub's, so its id is not known beforehand: an existing commit is found by its content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bot.checkout.branches import Signature
from bot.checkout.errors import CheckoutError
from bot.checkout.git import Git, GitError
from bot.contracts.errors import PublishError
from bot.github.values import TreeEntry
from bot.policy.decide import may_write as paths_that_may_change
from bot.policy.load import load_policy
from bot.policy.values import Policy
from bot.publish.base_file import read_base_file
from bot.publish.change.commit import CheckedCommit, build_commit, server_host
from bot.publish.change.target import apply_task
from bot.publish.context import PublishContext


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A commit that may be pushed, and what its policy says of it."""

    prepared: CheckedCommit
    policy: Policy
    policy_sha: str
    author: Signature
    labels: tuple[str, ...] = ()


def prepare_change(context: PublishContext, policy_sha: str) -> PreparedChange:
    file = context.request.policy_file
    policy = load_policy(read_base_file(context.git, policy_sha, file), file)
    policy, labels = apply_task(context, policy, policy_sha)
    identity = context.identity or policy.identity
    author = Signature(identity.name, identity.email)
    prepared = build_commit(
        context.git,
        context.bundle,
        author,
        sign_off=policy.pull_request.sign_off,
        host=server_host(context.remote.url),
        may_write=context.may_write or paths_that_may_change(policy, context.request.actor.tier),
        finder=context.finder,
    )
    return PreparedChange(prepared, policy, policy_sha, author, labels)


def sign_change(context: PublishContext, ready: PreparedChange, there: Iterable[str]) -> PreparedChange:
    """`ready` with a commit made by GitHub if the policy asks for signed commits; it may be one of the commits
    `there`."""
    if not ready.policy.pull_request.signed:
        return ready

    return replace(ready, prepared=signed_commit(context, ready.prepared, there))


_MOST_LOOKED_AT = 30
_TREE = re.compile(rb"tree ([0-9a-f]+)\n")
_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_GONE = "D"


@dataclass(frozen=True, slots=True)
class _Content:
    """What identifies a change, whoever made the commit and when."""

    tree: str
    parents: tuple[str, ...]
    message: str


def signed_commit(context: PublishContext, prepared: CheckedCommit, there: Iterable[str]) -> CheckedCommit:
    """`prepared` as a commit of GitHub's: one of those `there`, or a new one. In a dry run it stays as it is."""
    if context.github.dry_run is not None:
        return prepared
    wanted = _content(context.git, prepared.sha)
    for sha in list(dict.fromkeys(there))[:_MOST_LOOKED_AT]:
        if _fetched(context, sha) and _content(context.git, sha) == wanted:
            return replace(prepared, sha=sha)
    return replace(prepared, sha=_create_commit(context, prepared, wanted))


def _create_commit(context: PublishContext, prepared: CheckedCommit, wanted: _Content) -> str:
    [parent] = wanted.parents
    base_tree = context.git.run("rev-parse", f"{parent}^{{tree}}").decode().strip()
    entries = list(_entries(context, parent, prepared.sha))
    tree = context.github.create_tree(context.repository, base_tree, entries)
    if tree != wanted.tree:
        raise PublishError("GitHub made another tree than the one that was judged: nothing was pushed.")
    sha = context.github.create_commit(context.repository, message=wanted.message, tree=tree, parent=parent)
    if not _fetched(context, sha) or _content(context.git, sha) != wanted:
        raise PublishError("GitHub made a different commit from the requested one. Nothing was pushed.")
    return sha


def _entries(context: PublishContext, parent: str, commit: str) -> Iterator[TreeEntry]:
    """What the commit changes; text as it is, other bytes as blobs."""
    listing = context.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", parent, commit)
    fields = os.fsdecode(listing).split("\0")[:-1]
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, _, blob, status = head.lstrip(":").split(" ")
        if status == _GONE:
            yield TreeEntry(path, old_mode)
            continue
        content = context.git.run("cat-file", "blob", blob)
        try:
            yield TreeEntry(path, mode, text=content.decode())
        except UnicodeDecodeError:
            yield TreeEntry(path, mode, sha=context.github.create_blob(context.repository, content))


def _fetched(context: PublishContext, sha: str) -> bool:
    try:
        context.git.run("cat-file", "-e", f"{sha}^{{commit}}")
    except GitError:
        try:
            # With its parent: a commit that the history ends at has none, and could not be pushed.
            context.remote.fetch(sha, depth=2)
        except CheckoutError:
            return False
    return True


def _content(git: Git, sha: str) -> _Content:
    raw = git.run("cat-file", "commit", sha)
    head, _, message = raw.partition(b"\n\n")
    tree = _TREE.match(head)
    parents = tuple(parent.decode() for parent in _PARENT.findall(head))
    return _Content(tree.group(1).decode() if tree else "", parents, message.decode(errors="replace").strip())
