"""What may leave, decided from a list of changes: refused as a whole, withheld in part, or published.

The one judgement that both a work tree and a patch go through.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from bot.contracts.outcome import ChangedFile, WithheldFile
from bot.gate.collisions import collisions
from bot.gate.credentials import new_credentials
from bot.gate.dependencies import new_dependencies, new_sources
from bot.gate.errors import GateLimits, HostileTree, shown
from bot.gate.fsck import refuse_unsound
from bot.gate.links import leads_out, place
from bot.gate.objects import FILE, LINK, PROGRAM, Change, Entry, contents, sizes
from bot.gate.render import FileDiff, Rendered, render, store, write_tree
from bot.gate.rules import folded, refusal, sensitive, withholding
from bot.gate.scratch import Scratch
from bot.gate.settings import set_up
from bot.gate.suppressed import suppressed
from bot.gate.unseen import unseen
from bot.gate.weakened import weakened

Kind = Literal["text", "binary", "link"]
HoldsSecret = Callable[[bytes], str | None]

_STATUS = {"A": "added", "D": "deleted", "M": "modified", "T": "modified"}


_LOOKED_AT_FOR_NUL = 8000


class MayWrite(Protocol):
    """Why a path may not be in the diff, `None` where it may. `kind` is left out for text and for what is deleted.

    `written` is the path as it is, where `path` is only another reading of it: what is excepted is so by its own name.
    """

    def __call__(self, path: str, kind: Kind = "text", written: str = "", /) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """`patch` leads from the base to `tree_sha`; `withheld_patch` from there to all that the agent did."""

    tree_sha: str
    patch: bytes
    withheld_patch: bytes
    files: tuple[ChangedFile, ...]
    withheld: tuple[WithheldFile, ...]


def decide(
    scratch: Scratch,
    base_sha: str,
    base: Mapping[str, Entry],
    changes: Sequence[Change],
    limits: GateLimits,
    may_write: MayWrite | None,
    holds_secret: HoldsSecret | None = None,
) -> Verdict:
    """Judge `changes`, whose contents are within the limits already. Raises `HostileTree`."""
    if not changes:
        tree_sha = scratch.git.run("rev-parse", "--verify", f"{base_sha}^{{tree}}").decode().strip()
        return Verdict(tree_sha, b"", b"", (), ())
    for change in changes:
        _refuse_hostile(change)
        if holds_secret is not None:
            _refuse_secret(change, holds_secret)
    _refuse_links_out(scratch, base, changes)
    _refuse_large_originals(scratch, changes, limits)
    withheld = _withheld(base, changes, may_write)
    published = [change for change in changes if change.path not in withheld]
    kept_back = [change for change in changes if change.path in withheld]
    store(scratch, changes)
    scratch.git.run("read-tree", base_sha, index=scratch.index)
    tree_sha = write_tree(scratch, published)
    refuse_unsound(scratch, base_sha, tree_sha)
    shown_patch = (
        render(scratch, f"{base_sha}^{{tree}}", tree_sha, limits) if published else Rendered(b"", ())
    )
    hidden = b""
    if kept_back:
        hidden = render(scratch, tree_sha, write_tree(scratch, kept_back), limits).patch
    by_path = {change.path: change for change in published}
    return Verdict(
        tree_sha=tree_sha,
        patch=shown_patch.patch,
        withheld_patch=hidden,
        files=tuple(_changed_file(by_path[diff.path], diff) for diff in shown_patch.files),
        withheld=tuple(WithheldFile(path, reason) for path, reason in withheld.items()),
    )


def _refuse_hostile(change: Change) -> None:
    reason = refusal(change.path)
    if reason is not None:
        raise HostileTree(f"the path {shown(change.path)} {reason}", change.path)
    if change.new is not None and change.new.mode not in (FILE, PROGRAM, LINK):
        raise HostileTree(
            f"{shown(change.path)} has mode {change.new.mode}: only files may change", change.path
        )
    if change.old is not None and change.old.mode not in (FILE, PROGRAM, LINK):
        raise HostileTree(f"{shown(change.path)} is a submodule, and submodules may not change", change.path)


def _refuse_secret(change: Change, holds_secret: HoldsSecret) -> None:
    """A secret of ours in a change means that something else failed already. Nothing is masked: a patch with a
    hole in it would be applied and be wrong. The bytes are looked at and not the patch, which packs binary files."""
    if name := holds_secret(change.data or b"") or holds_secret(os.fsencode(change.path)):
        raise HostileTree(f"a changed file holds the value of {name}: nothing of it may leave")


def _refuse_links_out(scratch: Scratch, base: Mapping[str, Entry], changes: Sequence[Change]) -> None:
    """Nor one that was left alone: a link on its way may have changed, or be a folder now."""
    new = {change.path: os.fsdecode(change.data or b"") for change in changes if _is_link(change.new)}
    if not new and not any(_is_link(change.old) for change in changes):
        return
    shas = {path: entry.sha for path, entry in base.items() if _is_link(entry)}
    targets = contents(scratch.git, list(shas.values()))
    old = {path: os.fsdecode(data) for path, data in zip(shas, targets, strict=True)}
    changed = {change.path for change in changes}
    kept = [path for path in old if path not in changed]
    before = {place(path): target for path, target in old.items()}
    after = {place(path): target for path, target in [*((path, old[path]) for path in kept), *new.items()]}
    for path in (*new, *kept):
        reason = leads_out(path, after)
        # Where the base's own leads is for its people to say.
        if reason is not None and (path in new or leads_out(path, before) is None):
            raise HostileTree(f"the symbolic link {shown(path)} {reason}", path)


def _refuse_large_originals(scratch: Scratch, changes: Sequence[Change], limits: GateLimits) -> None:
    """A patch spells out what it removes too, so that is bounded before anything is compared."""
    replaced = [change.old.sha for change in changes if change.old is not None]
    if sum(sizes(scratch.git, replaced)) > limits.patch_bytes:
        raise HostileTree(f"the change replaces more than {limits.patch_bytes} bytes: that is the limit")


def _withheld(
    base: Mapping[str, Entry], changes: Sequence[Change], may_write: MayWrite | None
) -> dict[str, str]:
    """Reasons by path. What cannot stand beside a path that is kept as it was is withheld with it."""
    skills = _skills([*base, *(change.path for change in changes)])
    reasons: dict[str, str] = {}
    for change in changes:
        reason = withholding(change.path, skills) or (_forbidden(change, may_write) if may_write else None)
        if reason:
            reasons[change.path] = reason
    reasons |= _colliding(base, [change for change in changes if change.path not in reasons])
    kept = [change.path for change in changes if change.path in reasons and change.old is not None]
    for change in changes:
        if change.new is None or change.path in reasons:
            continue
        if any(path.startswith(f"{change.path}/") or change.path.startswith(f"{path}/") for path in kept):
            reasons[change.path] = "in the way of a path that is kept as it was"
    return {change.path: reasons[change.path] for change in changes if change.path in reasons}


def _forbidden(change: Change, may_write: MayWrite) -> str | None:
    """By the path as it is, and as the most forgiving file system would read it."""
    kind = _kind(change)
    reason = may_write(change.path) if kind == "text" else may_write(change.path, kind)
    plain = "/".join(folded(part) for part in change.path.split("/"))
    return reason or (may_write(plain, "text", change.path) if plain != change.path else None)


def _kind(change: Change) -> Kind:
    if change.new is None or (change.old is not None and change.old.sha == change.new.sha):
        return "text"
    if _is_link(change.new):
        return "link"
    # As git decides whether a diff shows the lines or says that binary files differ.
    return "binary" if b"\0" in (change.data or b"")[:_LOOKED_AT_FOR_NUL] else "text"


def _colliding(base: Mapping[str, Entry], published: Sequence[Change]) -> dict[str, str]:
    """New paths that are another path's to a file system that ignores case: checked out there, one hides the other."""
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
    """Folders that hold a SKILL.md, the root apart."""
    names = (path.rpartition("/") for path in paths)
    # Folding is slow, so names that cannot fold to it are passed over: there may be 100,000.
    return {
        folder
        for folder, _, name in names
        if folder and (name[:1] in "sS" or not name.isascii()) and folded(name) == "skill.md"
    }


def _changed_file(change: Change, diff: FileDiff) -> ChangedFile:
    entry = change.new or change.old
    assert entry is not None
    notes = (
        "symbolic link" if _is_link(change.new) else "",
        sensitive(change.path),
        weakened(change.path, diff.removed, diff.added, deleted=change.new is None),
        suppressed(change.path, diff.removed, diff.added),
        unseen(diff.removed, diff.added),
        set_up(change.path, diff.removed, diff.added, change.data),
        new_dependencies(change.path, diff.removed, diff.added, change.data),
        new_sources(change.path, diff.removed, diff.added),
        new_credentials(diff.removed, diff.added),
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
