"""The automatic merge of two commits, as a commit that both jobs compute alike: the run works on it, and publishing
compares with it.

Git's own merge of the trees, without attributes, drivers and settings. The histories may be shallow: the three trees
are put on commits of their own, of which one is the others' parent.
"""

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from bot.checkout.branches import Signature, commit_tree
from bot.checkout.git import Git
from bot.checkout.objects import blobs_at, tree_with_entries
from bot.ecosystems.registry import lock_tool

_NOBODY = Signature("slash-agent", "slash-agent@localhost")
_THEN = "2000-01-01T00:00:00Z"
_MARKER = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?:[ \r].*)?$", re.MULTILINE)
_FILES = ("100644", "100755")


class Merge(NamedTuple):
    """The merge as a commit `sha` on both. The files `conflicted` have markers, but a lock file is the base's, for its
    package manager to write it anew. `by_hand` is a sentence on a conflict without markers, of which git just keeps one
    side; empty without one."""

    sha: str
    conflicted: tuple[str, ...]
    by_hand: str


def markers(git: Git, commit: str, paths: Iterable[str]) -> set[tuple[str, bytes]]:
    """Return the lines of these files of a commit that look like conflict markers, with their path. Raises
    `GitError`."""
    files = blobs_at(git, commit, paths)
    return {(path, line) for path, content in files.items() for line in _MARKER.findall(content)}


def merged(git: Git, merge_base: str, head: str, tip: str) -> Merge:
    """Merge `tip` into `head`; all three commits are in `git`. Raises `GitError`."""

    def alone(commit: str, parent: str = "") -> str:
        tree = git.line("rev-parse", "--verify", f"{commit}^{{tree}}")
        parents = (parent,) if parent else ()
        return commit_tree(git, tree, parents, "x", author=_NOBODY, committer=_NOBODY, when=_THEN)

    base = alone(merge_base)
    ours, theirs = alone(head, base), alone(tip, base)
    empty = git.line("mktree", input=b"")
    command = ("merge-tree", "--write-tree", "--no-messages", "-z", ours, theirs)
    # Git before 2.41 does not know the variable, and reads no attributes here. 1: there are conflicts.
    output = git.run(*command, env={"GIT_ATTR_SOURCE": empty}, codes=(0, 1))
    tree, *stages = output.decode(errors="surrogateescape").rstrip("\0").split("\0")
    paths = tuple(dict.fromkeys(stage.partition("\t")[2] for stage in stages if stage))
    locks = [path for path in paths if lock_tool(path)[0]]
    by_hand = _by_hand(git, (ours, theirs), [one for one in stages if one.partition("\t")[2] not in locks])
    if locks:
        entries = os.fsdecode(git.run("--literal-pathspecs", "ls-tree", "-z", theirs, "--", *locks))
        tree = tree_with_entries(git, tree, entries.split("\0")[:-1])
    sha = commit_tree(git, tree, (head, tip), "x", author=_NOBODY, committer=_NOBODY, when=_THEN)
    return Merge(sha, paths, by_hand)


def _by_hand(git: Git, ends: Iterable[str], stages: Iterable[str]) -> str:
    """`stages` are git's entries of the conflicted paths, as `ls-files --stage` prints them."""
    modes: dict[str, set[str]] = {}
    for stage in filter(None, stages):
        entry, _, path = stage.partition("\t")
        modes.setdefault(path, set()).add(entry.partition(" ")[0])
    binary = {path for end in ends for path, data in blobs_at(git, end, modes).items() if b"\0" in data}
    unmergeable = next(
        (path for path, kinds in modes.items() if path in binary or not kinds.issubset(_FILES)), ""
    )
    return (
        f"{unmergeable} has a conflict, and is binary, a link or a submodule: merge the base by hand."
        if unmergeable
        else ""
    )
