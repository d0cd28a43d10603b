"""The commit made by GitHub's API in place of ours, for repositories that ask for signed ones.

Its tree is the very one that the gate judged, or it is not taken. Its id cannot be known beforehand, since date and
signature are GitHub's; so that publishing twice gives one commit, one that is there already is found by what it holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bot.checkout.errors import CheckoutError
from bot.checkout.git import Git, GitError
from bot.contracts.errors import PublishError
from bot.github.values import TreeEntry
from bot.publish.change.commit import Prepared
from bot.publish.change.work import Work

_MOST_LOOKED_AT = 30
_TREE = re.compile(rb"tree ([0-9a-f]+)\n")
_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_GONE = "D"


@dataclass(frozen=True, slots=True)
class _Content:
    """What two commits of the same change have in common, whoever made them and when."""

    tree: str
    parents: tuple[str, ...]
    message: str


def signed(work: Work, prepared: Prepared, there: Iterable[str]) -> Prepared:
    """`prepared` as a commit of GitHub's: one of those `there`, or a new one. In a dry run it stays as it is."""
    if work.recorder is not None:
        return prepared
    wanted = _content(work.git, prepared.sha)
    for sha in list(dict.fromkeys(there))[:_MOST_LOOKED_AT]:
        if _fetched(work, sha) and _content(work.git, sha) == wanted:
            return replace(prepared, sha=sha)
    return replace(prepared, sha=_made(work, prepared, wanted))


def _made(work: Work, prepared: Prepared, wanted: _Content) -> str:
    [parent] = wanted.parents
    base_tree = work.git.run("rev-parse", f"{parent}^{{tree}}").decode().strip()
    entries = list(_entries(work, parent, prepared.sha))
    tree = work.host.create_tree(work.repository, base_tree, entries)
    if tree != wanted.tree:
        raise PublishError("GitHub made another tree than the one that was judged: nothing was pushed.")
    sha = work.host.create_commit(work.repository, message=wanted.message, tree=tree, parent=parent)
    if not _fetched(work, sha) or _content(work.git, sha) != wanted:
        raise PublishError("GitHub made a different commit from the requested one. Nothing was pushed.")
    return sha


def _entries(work: Work, parent: str, commit: str) -> Iterator[TreeEntry]:
    """What the commit changes; text as it is, other bytes as blobs."""
    listing = work.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", parent, commit)
    fields = os.fsdecode(listing).split("\0")[:-1]
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, mode, _, blob, status = head.lstrip(":").split(" ")
        if status == _GONE:
            yield TreeEntry(path, old_mode)
            continue
        content = work.git.run("cat-file", "blob", blob)
        try:
            yield TreeEntry(path, mode, text=content.decode())
        except UnicodeDecodeError:
            yield TreeEntry(path, mode, sha=work.host.create_blob(work.repository, content))


def _fetched(work: Work, sha: str) -> bool:
    try:
        work.git.run("cat-file", "-e", f"{sha}^{{commit}}")
    except GitError:
        try:
            # With its parent: a commit that the history ends at has none, and could not be pushed.
            work.remote.fetch(sha, depth=2)
        except CheckoutError:
            return False
    return True


def _content(git: Git, sha: str) -> _Content:
    raw = git.run("cat-file", "commit", sha)
    head, _, message = raw.partition(b"\n\n")
    tree = _TREE.match(head)
    parents = tuple(parent.decode() for parent in _PARENT.findall(head))
    return _Content(tree.group(1).decode() if tree else "", parents, message.decode(errors="replace").strip())
