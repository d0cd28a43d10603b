"""Decide which changes are published, which are withheld, and whether everything is refused.

Shared by `judge_tree` and `judge_patch`.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from bot.checkout.objects import contents, diff_of_texts, sizes
from bot.contracts.outcome import ChangedFile, WithheldFile
from bot.contracts.text_encoding import marked_encoding, wide_text
from bot.gate.additions import new_credentials, suppressed, unseen
from bot.gate.dependencies import new_dependencies, new_sources
from bot.gate.errors import HostileTree, printable, quoted_path
from bot.gate.objects import (
    FILE,
    LINK,
    PROGRAM,
    Change,
    ChangeLimits,
    Entry,
    FileDiff,
    Rendered,
    Scratch,
    TreeDiff,
    parents,
    refuse_unsound,
    render,
    store,
    write_tree,
)
from bot.gate.path_rules import collisions, folded, leads_out, link_key, refusal, withholding
from bot.gate.sensitive_files import runs_tests, sensitive, set_up
from bot.gate.weaker_tests import Line, may_weaken_tests, weaker_tests
from bot.parsing.parser import Parser
from bot.review.diff import FileDiff as TextDiff
from bot.review.diff import parse_diff

Kind = Literal["text", "binary", "link", "deletion"]
HoldsSecret = Callable[[bytes], str | None]

_STATUS = {"A": "added", "D": "deleted", "M": "modified", "T": "modified"}


_NO_LINES = "GitHub shows no lines of it (UTF-16 or UTF-32): read them in the report"

_SEARCHED_FOR_NUL = 8000
_MOST_ROWS = 100
_FEWEST_FILES = 20
"""Of a smaller repository more than half may be deleted."""


class MayWrite(Protocol):
    """Return why a path may not be in the diff, or `None`. `kind` is omitted for text and for deleted files, but is
    "deletion" for each deleted path of a change that deletes more than half of the files.

    If `path` is only a folded form of a path, `written` is the path itself: exceptions apply to that.
    """

    def __call__(self, path: str, kind: Kind = "text", written: str = "", /) -> str | None: ...


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
    scratch: Scratch,
    base_sha: str,
    base: Mapping[str, Entry],
    diff: TreeDiff,
    limits: ChangeLimits,
    *,
    may_write: MayWrite | None,
    holds_secret: HoldsSecret | None = None,
) -> Verdict:
    """Judge `diff`, whose contents are within the limits. Raises `HostileTree`."""
    changes = diff.changes
    if not changes and not diff.unfit:
        tree_sha = scratch.git.run("rev-parse", "--verify", f"{base_sha}^{{tree}}").decode().strip()
        return Verdict(tree_sha, b"", b"", (), ())
    if holds_secret is not None:
        _refuse_secret(diff, holds_secret)
    links = _links_of(scratch, base, changes)
    unfit = _unfit(scratch, diff, limits, links)
    wide = _wide_texts(scratch, [change for change in changes if change.path not in unfit])
    withheld = _withheld(base, diff, unfit, may_write, links, wide)
    published = [change for change in changes if change.path not in withheld]
    applicable = [change for change in changes if change.path in withheld and change.path not in unfit]
    store(scratch, [*published, *applicable])
    scratch.git.run("read-tree", base_sha, index=scratch.index)
    tree_sha = write_tree(scratch, published)
    refuse_unsound(scratch, base_sha, tree_sha)
    published_diff = (
        render(scratch, f"{base_sha}^{{tree}}", tree_sha, limits) if published else Rendered(b"", ())
    )
    withheld_patch = b""
    if applicable:
        withheld_patch = render(scratch, tree_sha, write_tree(scratch, applicable), limits).patch
    by_path = {change.path: change for change in published}
    wide = {path: pair for path, pair in wide.items() if path in by_path}
    tests = _tests(scratch, published)
    weaker = weaker_tests(tests | {path: wide[path] for path in tests.keys() & wide.keys()})
    with Parser() as parser:
        files = tuple(
            _changed_file(by_path[diff.path], diff, weaker, wide.get(diff.path), parser)
            for diff in _with_lines(scratch, published_diff.files, wide)
        )
    return Verdict(
        tree_sha=tree_sha,
        patch=published_diff.patch,
        withheld_patch=withheld_patch,
        files=files,
        withheld=_rows(withheld, unfit),
    )


def refuse_unfit(
    scratch: Scratch, base: Mapping[str, Entry], changes: Sequence[Change], limits: ChangeLimits
) -> None:
    """Raise `HostileTree` for a change that no commit may contain. The gate has judged a patch before, so somebody
    modified it since."""
    diff = TreeDiff(changes, {}, ())
    for path, reason in _unfit(scratch, diff, limits, _links_of(scratch, base, changes)).items():
        raise HostileTree(f"{quoted_path(path)}: {reason}", path)


def _rows(reasons: Mapping[str, str], unfit: Mapping[str, str]) -> tuple[WithheldFile, ...]:
    """Return the withheld files, `unfit` ones first. A path that no commit may contain is escaped."""
    paths = sorted(reasons, key=lambda path: (path not in unfit, os.fsencode(path)))
    rows = [
        WithheldFile(printable(path) if refusal(path) else path, reasons[path], path not in unfit)
        for path in paths[:_MOST_ROWS]
    ]
    if more := len(paths) - len(rows):
        rows[-1] = replace(rows[-1], reason=f"{rows[-1].reason} (and {more} more are withheld)")
    return tuple(rows)


def _unfit(
    scratch: Scratch, diff: TreeDiff, limits: ChangeLimits, links: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the reasons by path for what no commit may contain, whatever the policy says."""
    unfit = dict(diff.unfit)
    unfit |= {change.path: reason for change in diff.changes if (reason := _hostile(change))}
    unfit |= _large_originals(scratch, [one for one in diff.changes if one.path not in unfit], limits)
    while out := _links_out(links, [change for change in diff.changes if change.path not in unfit]):
        unfit |= out
    return unfit


def _hostile(change: Change) -> str:
    if reason := refusal(change.path):
        return f"the path {reason}"
    if change.new is not None and change.new.mode not in (FILE, PROGRAM, LINK):
        return f"it has mode {change.new.mode}: only files may change"
    if change.old is not None and change.old.mode not in (FILE, PROGRAM, LINK):
        return "a submodule, and submodules may not change"
    return ""


def _refuse_secret(diff: TreeDiff, holds_secret: HoldsSecret) -> None:
    """Raise `HostileTree` if a change contains one of our secrets: another defence has failed. Nothing is masked, since
    a masked patch would be wrong. The contents are searched and not the patch, which compresses binary files."""
    names = (os.fsencode(path) for path in (*diff.unfit, *(change.path for change in diff.changes)))
    written = [change.data or b"" for change in diff.changes]
    decoded = (text.encode() for data in written if (text := wide_text(data)))
    for data in (*names, *written, *decoded):
        if name := holds_secret(data):
            raise HostileTree(f"a changed file holds the value of {name}: nothing of it may leave")


def _links_of(
    scratch: Scratch, base: Mapping[str, Entry], changes: Sequence[Change]
) -> Mapping[str, str] | None:
    """Return the targets of the base's links by path; `None` if no link is among the changes."""
    if not any(_is_link(change.new) or _is_link(change.old) for change in changes):
        return None
    shas = {path: entry.sha for path, entry in base.items() if _is_link(entry)}
    targets = contents(scratch.git, list(shas.values()))
    return {path: os.fsdecode(data) for path, data in zip(shas, targets, strict=True)}


def _links_out(old: Mapping[str, str] | None, changes: Sequence[Change]) -> dict[str, str]:
    """Return reasons by path. If an unchanged link leads out of the tree because of another changed link or folder, no
    link of the base may change."""
    touched = [change for change in changes if _is_link(change.new) or _is_link(change.old)]
    if old is None or not touched:
        return {}
    new = {change.path: os.fsdecode(change.data or b"") for change in touched if _is_link(change.new)}
    changed = {change.path for change in changes}
    unchanged = {path: target for path, target in old.items() if path not in changed}
    before = {link_key(path): target for path, target in old.items()}
    after = {link_key(path): target for path, target in (unchanged | new).items()}
    out = {path: f"the symbolic link {reason}" for path in new if (reason := leads_out(path, after))}
    if out:
        return out
    for path in unchanged:
        # Links that led out in the base are allowed.
        if (reason := leads_out(path, after)) and leads_out(path, before) is None:
            with_it = f"with it the symbolic link {quoted_path(path)} {reason}"
            return {change.path: with_it for change in touched}
    return {}


def _large_originals(scratch: Scratch, changes: Sequence[Change], limits: ChangeLimits) -> dict[str, str]:
    """Return reasons by path for the largest files if the replaced contents together exceed the limit: a patch contains
    removed content, too."""
    replaced = [change for change in changes if change.old is not None]
    by_size = sorted(
        zip(sizes(scratch.git, [one.old.sha for one in replaced if one.old]), replaced, strict=True),
        key=lambda one: one[0],
    )
    reasons: dict[str, str] = {}
    total = 0
    for size, change in by_size:
        total += size
        if total > limits.patch_bytes:
            reasons[change.path] = f"the change replaces more than {limits.patch_bytes} bytes"
    return reasons


def _withheld(
    base: Mapping[str, Entry],
    diff: TreeDiff,
    unfit: Mapping[str, str],
    may_write: MayWrite | None,
    links: Mapping[str, str] | None,
    readable: Collection[str],
) -> dict[str, str]:
    """Return reasons by path, those of `unfit` included. The files in `readable` are text, whatever their bytes are. A
    change that conflicts with a path that stays unchanged is withheld, too, until the remaining changes make a valid
    tree."""
    skills = _skills([*base, *(change.path for change in diff.changes)])
    reasons = dict(unfit)
    for change in diff.changes:
        if change.path not in reasons:
            reason = withholding(change.path, skills) or (
                _forbidden(change, may_write, readable) if may_write else ""
            )
            reasons |= {change.path: reason} if reason else {}
    for path in _mass_deletion(base, diff):
        if path not in reasons and may_write and (reason := may_write(path, "deletion")):
            reasons[path] = reason
    while True:
        left = [change for change in diff.changes if change.path not in reasons]
        more = _colliding(base, left) | _in_the_way(diff, left, reasons) | _links_out(links, left)
        if not more:
            return reasons
        reasons |= more


def _mass_deletion(base: Mapping[str, Entry], diff: TreeDiff) -> list[str]:
    """Return the deleted paths if they are more than half of the files. A file does not count as deleted if a new file
    has its name."""
    deleted = [change.path for change in diff.changes if change.new is None]
    added = (change.path for change in diff.changes if change.old is None)
    gone = (Counter(map(posixpath.basename, deleted)) - Counter(map(posixpath.basename, added))).total()
    return deleted if len(base) >= _FEWEST_FILES and gone * 2 > len(base) else []


def _in_the_way(diff: TreeDiff, left: Sequence[Change], reasons: Mapping[str, str]) -> dict[str, str]:
    """Return reasons by path for a change that needs the place of an unchanged file or folder, and for the deletion of
    what a withheld entry replaced."""
    unchanged = {change.path for change in diff.changes if change.path in reasons and change.old is not None}
    unchanged.update(diff.unchanged)
    folders = {folder for path in unchanged for folder in parents(path)}
    blocked: dict[str, str] = {}
    for change in left:
        if change.new is None:
            if any(folder in reasons for folder in parents(change.path)):
                blocked[change.path] = "deleted for an entry that is withheld"
        elif change.path in folders or any(folder in unchanged for folder in parents(change.path)):
            blocked[change.path] = "in the way of a path that is kept as it was"
    return blocked


def _forbidden(change: Change, may_write: MayWrite, readable: Collection[str]) -> str | None:
    """Return the policy's reason for the path as written, or for its folded form."""
    kind = "text" if change.path in readable else _kind(change)
    reason = may_write(change.path) if kind == "text" else may_write(change.path, kind)
    plain = "/".join(folded(part) for part in change.path.split("/"))
    return reason or (may_write(plain, "text", change.path) if plain != change.path else None)


def _kind(change: Change) -> Kind:
    if change.new is None or (change.old is not None and change.old.sha == change.new.sha):
        return "text"
    if _is_link(change.new):
        return "link"
    # git uses the same rule to tell binary files from text.
    return "binary" if b"\0" in (change.data or b"")[:_SEARCHED_FOR_NUL] else "text"


def _wide_texts(scratch: Scratch, changes: Sequence[Change]) -> dict[str, tuple[bytes, bytes]]:
    """Return old and new text in UTF-8, by path, of the files in UTF-16 or UTF-32 that keep their encoding.

    A file that gets such an encoding stays binary: that would hide it from whoever reviews it on GitHub.
    """
    new = {
        change.path: (text.encode(), change.data, change.old.sha)
        for change in changes
        if change.old and change.data and not _is_link(change.new) and (text := wide_text(change.data))
    }
    old = contents(scratch.git, [sha for _, _, sha in new.values()])
    return {
        path: (text.encode(), after)
        for (path, (after, data, _)), before in zip(new.items(), old, strict=True)
        if (text := wide_text(before)) is not None and marked_encoding(before) == marked_encoding(data)
    }


def _with_lines(
    scratch: Scratch, files: Sequence[FileDiff], wide: Mapping[str, tuple[bytes, bytes]]
) -> Sequence[FileDiff]:
    """Return `files` with the lines of those that git shows none of."""
    if not wide:
        return files
    diffs = parse_diff(diff_of_texts(scratch.git, list(wide.values())))
    names = {path: str(number) for number, path in enumerate(wide)}
    return [_with_rows(file, diffs.find(names.get(file.path, ""))) for file in files]


def _with_rows(file: FileDiff, shown: TextDiff | None) -> FileDiff:
    if shown is None:
        return file
    rows = [row for hunk in shown.hunks for row in hunk.rows()]
    removed = tuple(Line(row.old, row.text.encode()) for row in rows if row.kind == "-")
    added = tuple(Line(row.new, row.text.encode()) for row in rows if row.kind == "+")
    return FileDiff(file.path, file.status, len(added), len(removed), removed, added)


def _colliding(base: Mapping[str, Entry], published: Sequence[Change]) -> dict[str, str]:
    """Return reasons by path for new paths that equal another path on a file system that ignores case: one would hide
    the other."""
    added = [change.path for change in published if change.new is not None and change.old is None]
    if not added:
        return {}
    gone = {change.path for change in published if change.new is None}
    result = [path for path in base if path not in gone] + added
    return {
        path: f"differs from {other} only in what some file systems ignore"
        for path, other in collisions(result, added).items()
    }


def _skills(paths: Sequence[str]) -> set[str]:
    """Return the folders with a SKILL.md, except the root."""
    names = (path.rpartition("/") for path in paths)
    # Folding is slow and there may be 100,000 names, so names that cannot fold to it are skipped.
    return {
        folder
        for folder, _, name in names
        if folder and (name[:1] in "sS" or not name.isascii()) and folded(name) == "skill.md"
    }


def _tests(scratch: Scratch, changes: Sequence[Change]) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return old and new contents of the changed test files, links excluded."""
    tests = [change for change in changes if may_weaken_tests(change.path) and not _is_link(change.new)]
    old = [change.old.sha for change in tests if change.old is not None]
    before = dict(zip(old, contents(scratch.git, old), strict=True))
    return {change.path: (before[change.old.sha] if change.old else None, change.data) for change in tests}


def _changed_file(
    change: Change,
    diff: FileDiff,
    weaker: Mapping[str, str],
    wide: tuple[bytes, bytes] | None,
    parser: Parser,
) -> ChangedFile:
    entry = change.new or change.old
    data = wide[1] if wide else change.data
    assert entry is not None
    plain = "/".join(folded(part) for part in change.path.split("/"))
    # The most severe first: `bot/evidence/look_first.py` sorts by the beginning of a note.
    notes = (
        runs_tests(plain, diff.added, data, is_new=change.old is None),
        _NO_LINES if wide else "",
        unseen(diff.removed, diff.added),
        new_credentials(diff.removed, diff.added),
        weaker.get(change.path, ""),
        "symbolic link" if _is_link(change.new) else sensitive(change.path),
        suppressed(change.path, diff.removed, diff.added),
        set_up(change.path, diff.removed, diff.added, data),
        new_dependencies(change.path, diff.removed, diff.added, data, parser),
        new_sources(change.path, diff.removed, diff.added),
    )
    return ChangedFile(
        path=change.path,
        status=_STATUS[diff.status],
        mode=entry.mode,
        sha256=hashlib.sha256(change.data).hexdigest() if change.data is not None else "",
        additions=diff.additions,
        removals=diff.removals,
        sensitive="; ".join(note for note in notes if note),
    )


def _is_link(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == LINK
