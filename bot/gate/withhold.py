"""Decide which changes are left out of the published patch: what no commit may contain, what is protected or forbidden
by the policy, and what then conflicts with a path that stays unchanged.
"""

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence

from bot.checkout.objects import sizes
from bot.contracts.errors import GateError
from bot.contracts.plain_text import quoted
from bot.gate.change_limits import DELETED_OF, DELETED_SHARE
from bot.gate.links import is_link, links_of, links_out
from bot.gate.objects import FILE, LINK, PROGRAM, Change, Entry, Reasons, Scratch, TreeDiff, parents
from bot.gate.path_rules import collisions, folded, refusal, withholding
from bot.policy.protected_files import Kind, MayWrite

_SEARCHED_FOR_NUL = 8000


def refuse_unfit(scratch: Scratch, changes: Sequence[Change]) -> None:
    """Raise `GateError` for a change that no commit may contain. The patch has
    passed the gate once already, so it was modified afterwards."""
    diff = TreeDiff(changes, {}, ())
    for path, reason in unfit_paths(scratch, diff, links_of(scratch, changes)).items():
        raise GateError(f"{quoted(path)}: {reason}")


def unfit_paths(scratch: Scratch, diff: TreeDiff, links: Mapping[str, str]) -> Reasons:
    """Return the reasons by path for what no commit may contain, whatever the policy says."""
    unfit = dict(diff.unfit)
    unfit |= {change.path: reason for change in diff.changes if (reason := _hostile(change))}
    unfit |= _large_originals(scratch, [one for one in diff.changes if one.path not in unfit])
    while out := links_out(links, [change for change in diff.changes if change.path not in unfit]):
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


def _large_originals(scratch: Scratch, changes: Sequence[Change]) -> Reasons:
    """Return reasons by path for the largest files if the replaced contents together exceed the limit: a patch contains
    removed content, too."""
    replaced = [change for change in changes if change.old is not None]
    by_size = sorted(
        zip(sizes(scratch.git, [one.old.sha for one in replaced if one.old]), replaced, strict=True),
        key=lambda one: one[0],
    )
    reasons: Reasons = {}
    total = 0
    for size, change in by_size:
        total += size
        if total > (limit := scratch.limits.patch_bytes):
            reasons[change.path] = f"the change replaces more than {limit} bytes"
    return reasons


def withheld_paths(
    base: Mapping[str, Entry],
    diff: TreeDiff,
    unfit: Reasons,
    may_write: MayWrite | None,
    links: Mapping[str, str],
) -> Reasons:
    """Return reasons by path, those of `unfit` included. A change that conflicts with a path that stays unchanged is
    withheld, too, until the remaining changes make a valid tree."""
    skills = _skills([*base, *(change.path for change in diff.changes)])
    reasons = dict(unfit)
    for change in diff.changes:
        if change.path not in reasons:
            reason = withholding(change.path, skills) or (_forbidden(change, may_write) if may_write else "")
            reasons |= {change.path: reason} if reason else {}
    # A file does not count as deleted if a new file has its name.
    deleted = [change.path for change in diff.changes if change.new is None]
    added = (change.path for change in diff.changes if change.old is None)
    gone = (Counter(map(posixpath.basename, deleted)) - Counter(map(posixpath.basename, added))).total()
    if may_write and len(base) >= DELETED_OF and gone > len(base) * DELETED_SHARE:
        more = {path: reason for path in deleted if (reason := may_write(path, "deletion"))}
        reasons = more | reasons
    while True:
        left = [change for change in diff.changes if change.path not in reasons]
        more = _colliding(base, left) | _in_the_way(diff, left, reasons) | links_out(links, left)
        if not more:
            return reasons
        reasons |= more


def _in_the_way(diff: TreeDiff, left: Sequence[Change], reasons: Reasons) -> Reasons:
    """Return reasons by path for a change that needs the place of an unchanged file or folder, and for the deletion of
    what a withheld entry replaced."""
    unchanged = {change.path for change in diff.changes if change.path in reasons and change.old is not None}
    unchanged.update(diff.unchanged)
    folders = {folder for path in unchanged for folder in parents(path)}
    blocked: Reasons = {}
    for change in left:
        if change.new is None:
            if any(folder in reasons for folder in parents(change.path)):
                blocked[change.path] = "deleted for an entry that is withheld"
        elif change.path in folders or any(folder in unchanged for folder in parents(change.path)):
            blocked[change.path] = "in the way of a path that is kept as it was"
    return blocked


def _forbidden(change: Change, may_write: MayWrite) -> str | None:
    """Return the policy's reason for the path as written, or for its folded form."""
    plain = folded(change.path)
    reason = may_write(change.path, _kind(change))
    return reason or (may_write(plain, "text", change.path) if plain != change.path else None)


def _kind(change: Change) -> Kind:
    if change.new is None or (change.old is not None and change.old.sha == change.new.sha):
        return "text"
    if is_link(change.new):
        return "link"
    # git uses the same rule to tell binary files from text.
    return "binary" if b"\0" in (change.data or b"")[:_SEARCHED_FOR_NUL] else "text"


def _colliding(base: Mapping[str, Entry], published: Sequence[Change]) -> Reasons:
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
