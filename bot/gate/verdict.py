"""Decide which changes are published, which are withheld, and whether everything is refused.

Shared by `judge_tree` and `judge_patch`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.checkout.objects import contents
from bot.contracts.outcome import ChangedFile, WithheldFile
from bot.contracts.text_encoding import wide_text
from bot.gate.additions import new_credentials, suppressed, unseen
from bot.gate.dependencies import new_dependencies, new_sources
from bot.gate.errors import HostileTree, printable
from bot.gate.objects import Change, Scratch, TreeDiff, refuse_unsound, render, store, write_tree
from bot.gate.path_rules import folded, refusal
from bot.gate.sensitive_files import has_sections, runs_tests, sensitive, set_up
from bot.gate.weaker_tests import Line, may_weaken_tests, weaker_tests
from bot.gate.withheld import MayWrite, is_link, links_of, unfit_paths, withheld_paths
from bot.parsing.parser import Parser
from bot.review.diff import FileDiff, FileStatus, parse_diff

HoldsSecret = Callable[[bytes], str | None]

_STATUS = {FileStatus.ADDED: "added", FileStatus.REMOVED: "deleted"}

_MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class Verdict:
    """`patch` leads from the base to `tree_sha`; `withheld_patch` applies on top, by hand."""

    tree_sha: str
    patch: bytes
    withheld_patch: bytes
    files: tuple[ChangedFile, ...]
    withheld: tuple[WithheldFile, ...]

    @property
    def unfit(self) -> tuple[WithheldFile, ...]:
        """The withheld files that are in neither patch, only in the work tree."""
        return tuple(row for row in self.withheld if not row.in_patch)


def decide(
    scratch: Scratch, diff: TreeDiff, *, may_write: MayWrite | None, holds_secret: HoldsSecret | None = None
) -> Verdict:
    """Judge `diff`, whose contents are within the limits. Raises `HostileTree`."""
    changes, base_sha = diff.changes, scratch.base_sha
    if not changes and not diff.unfit:
        tree_sha = scratch.git.run("rev-parse", "--verify", f"{base_sha}^{{tree}}").decode().strip()
        return Verdict(tree_sha, b"", b"", (), ())
    if holds_secret is not None:
        _refuse_secret(diff, holds_secret)
    links = links_of(scratch, changes)
    unfit = unfit_paths(scratch, diff, links)
    withheld = withheld_paths(scratch.base, diff, unfit, may_write, links)
    published = [change for change in changes if change.path not in withheld]
    applicable = [change for change in changes if change.path in withheld and change.path not in unfit]
    store(scratch, [*published, *applicable])
    scratch.git.run("read-tree", base_sha, index=scratch.index)
    tree_sha = write_tree(scratch, published)
    refuse_unsound(scratch, tree_sha)
    patch = render(scratch, f"{base_sha}^{{tree}}", tree_sha) if published else b""
    withheld_patch = b""
    if applicable:
        withheld_patch = render(scratch, tree_sha, write_tree(scratch, applicable))
    return Verdict(tree_sha, patch, withheld_patch, _files(scratch, published, patch), _rows(withheld, unfit))


def _files(scratch: Scratch, published: Sequence[Change], patch: bytes) -> tuple[ChangedFile, ...]:
    by_path = {change.path: change for change in published}
    old = _old_contents(scratch, published)
    weaker = weaker_tests({path: (before, by_path[path].data) for path, before in old.items()})
    with Parser() as parser:
        return tuple(
            _changed_file(by_path[file.path], file, old.get(file.path), weaker.get(file.path, ""), parser)
            for file in parse_diff(patch).files
        )


def _rows(reasons: Mapping[str, str], unfit: Mapping[str, str]) -> tuple[WithheldFile, ...]:
    """Return the withheld files, `unfit` ones first. A path that no commit may contain is escaped."""
    paths = sorted(reasons, key=lambda path: (path not in unfit, os.fsencode(path)))
    rows = [
        WithheldFile(printable(path) if refusal(path) else path, reasons[path], path not in unfit)
        for path in paths[:_MOST_ROWS]
    ]
    if more := len(paths) - len(rows):
        rows[-1] = rows[-1]._replace(reason=f"{rows[-1].reason} (and {more} more are withheld)")
    return tuple(rows)


def _refuse_secret(diff: TreeDiff, holds_secret: HoldsSecret) -> None:
    """Raise `HostileTree` if a change contains one of our secrets: another defence has failed. Nothing is masked, since
    a masked patch would be wrong. The contents are searched and not the patch, which compresses binary files."""
    names = (os.fsencode(path) for path in (*diff.unfit, *(change.path for change in diff.changes)))
    written = [change.data or b"" for change in diff.changes]
    decoded = (text.encode() for data in written if (text := wide_text(data)))
    for data in (*names, *written, *decoded):
        if name := holds_secret(data):
            raise HostileTree(f"a changed file holds the value of {name}: nothing of it may leave")


def _old_contents(scratch: Scratch, changes: Sequence[Change]) -> dict[str, bytes | None]:
    """Return the old contents of the changed files that are compared with them, links excluded."""
    compared = [
        change
        for change in changes
        if not is_link(change.new) and (may_weaken_tests(change.path) or has_sections(change.path))
    ]
    old = [change.old.sha for change in compared if change.old is not None]
    before = dict(zip(old, contents(scratch.git, old), strict=True))
    return {change.path: before[change.old.sha] if change.old else None for change in compared}


def _changed_file(
    change: Change, file: FileDiff, before: bytes | None, weaker: str, parser: Parser
) -> ChangedFile:
    """`before` is the old content of a file that is compared with it."""
    entry = change.new or change.old
    assert entry is not None
    rows = [row for hunk in file.hunks for row in hunk.rows()]
    removed = [Line(row.old, row.text.encode()) for row in rows if row.kind == "-"]
    added = [Line(row.new, row.text.encode()) for row in rows if row.kind == "+"]
    plain = "/".join(folded(part) for part in change.path.split("/"))
    # The most severe first: `bot/evidence/look_first.py` sorts by the beginning of a note.
    notes = (
        runs_tests(plain, added, change.data, is_new=change.old is None),
        unseen(removed, added),
        new_credentials(removed, added),
        weaker,
        "symbolic link" if is_link(change.new) else sensitive(change.path),
        suppressed(change.path, removed, added),
        set_up(change.path, before, change.data),
        new_dependencies(change.path, removed, added, change.data, parser),
        new_sources(change.path, removed, added),
    )
    return ChangedFile(
        path=change.path,
        status=_STATUS.get(file.status, "modified"),
        mode=entry.mode,
        sha256=hashlib.sha256(change.data).hexdigest() if change.data is not None else "",
        additions=len(added),
        removals=len(removed),
        sensitive="; ".join(note for note in notes if note),
    )
