"""What changed between two commits, file by file, as GitHub's pull request files and comparisons tell it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.forge.git import BareRepository

_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
_STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
_NO_BLOB = "0" * 40
# Beyond this GitHub leaves the patch of a file out of its answers.
_PATCH_LIMIT = 400_000


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """`patch` is the hunks alone: None for a binary file, a pure rename, a huge one. `sha` names the blob."""

    path: str
    previous: str | None
    status: str
    additions: int
    deletions: int
    patch: str | None
    sha: str


def changed_files(git: BareRepository, base: str, head: str) -> list[ChangedFile]:
    """Every file that differs, in git's order. `base` is usually the merge base; both are whole ids."""
    return git.remembered(("changed-files", base, head), lambda: _compared(git, base, head))


def _compared(git: BareRepository, base: str, head: str) -> list[ChangedFile]:
    changes = _raw(git, base, head)
    counts = _counts(git, base, head)
    patches = iter(_SECTION.split(git.run("diff-tree", "-r", "-p", "-M", "--no-ext-diff", base, head))[1:])
    files = []
    for status, previous, path, sha in changes:
        section = next(patches)
        if status == "T":
            # A change of type is written as a removal and an addition.
            section += next(patches)
        additions, deletions = counts[path]
        files.append(ChangedFile(path, previous, _STATUS[status], additions, deletions, _hunks(section), sha))
    return files


def unified(git: BareRepository, base: str, head: str) -> bytes:
    """The `.diff` form."""
    return git.run("diff-tree", "-r", "-p", "-M", "--full-index", "--no-ext-diff", base, head)


def mail_patches(git: BareRepository, base: str, head: str) -> bytes:
    """The `.patch` form: one mail a commit."""
    return git.run("format-patch", "--stdout", "--no-signature", f"{base}..{head}")


def empty_tree(git: BareRepository) -> str:
    """The tree to compare a first commit with."""
    return git.run("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()


def _raw(git: BareRepository, base: str, head: str) -> list[tuple[str, str | None, str, str]]:
    output = git.run("diff-tree", "-r", "-M", "-z", "--raw", "--no-abbrev", base, head)
    fields = iter(output.decode(errors="replace").split("\0"))
    changes = []
    for meta in fields:
        if not meta:
            continue
        _, _, old, new, letter = meta.lstrip(":").split(" ")
        status = letter[0]
        first = next(fields)
        previous, path = (first, next(fields)) if status in "RC" else (None, first)
        changes.append((status, previous, path, old if new == _NO_BLOB else new))
    return changes


def _counts(git: BareRepository, base: str, head: str) -> dict[str, tuple[int, int]]:
    output = git.run("diff-tree", "-r", "-M", "-z", "--numstat", base, head)
    fields = iter(output.decode(errors="replace").split("\0"))
    counts = {}
    for line in fields:
        if not line:
            continue
        added, removed, path = line.split("\t")
        if not path:
            # A rename: the names follow as fields of their own.
            next(fields)
            path = next(fields)
        counts[path] = (0, 0) if added == "-" else (int(added), int(removed))
    return counts


def _hunks(section: bytes) -> str | None:
    start = section.find(b"\n@@ ")
    if start < 0 or len(section) > _PATCH_LIMIT:
        return None
    return section[start + 1 :].decode(errors="replace").rstrip("\n")
