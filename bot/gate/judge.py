"""The diff gate: judge a work tree, or a patch without one, and return what may leave as a patch.

Every change that an agent makes passes through here before anything is published.
"""

import base64
import hashlib
import os
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bot.checkout.clone import Checkout
from bot.checkout.git import Git, GitError
from bot.checkout.objects import contents, raw_changes, sizes, tree_with_patch
from bot.contracts.errors import AgentError, GateError
from bot.contracts.outcome import ChangedFile, WithheldFile
from bot.contracts.plain_text import printable_name, quoted
from bot.gate.change_limits import DEFAULT_LIMITS, ChangeLimits
from bot.gate.dependencies import new_dependencies, new_sources
from bot.gate.errors import capacity_error
from bot.gate.flagged_files import has_sections, runs_tests, sensitive, set_up
from bot.gate.links import is_link, links_of
from bot.gate.objects import (
    GITLINK,
    Change,
    Entry,
    Reasons,
    Scratch,
    TreeDiff,
    refuse_unsound,
    render,
    scratch,
    store,
    write_tree,
)
from bot.gate.path_rules import folded, refusal
from bot.gate.suspicious_additions import new_credentials, suppressed, unseen
from bot.gate.text_encoding import wide_text
from bot.gate.walk import changes, untracked
from bot.gate.weaker_tests import Line, may_weaken_tests, weaker_tests
from bot.gate.withhold import refuse_unfit, unfit_paths, withheld_paths
from bot.parsing.parser import Parser
from bot.policy.protected_files import MayWrite
from bot.review.diff import FileDiff, FileStatus, parse_diff

HoldsSecret = Callable[[bytes], str | None]

_STATUS = {FileStatus.ADDED: "added", FileStatus.REMOVED: "deleted"}

_MOST_ROWS = 100


class Verdict(NamedTuple):
    """`patch` leads from the base to `tree_sha`; `withheld_patch` applies on top, by hand. `weaker` are clauses on
    files whose tests are weaker than before."""

    tree_sha: str
    patch: bytes
    withheld_patch: bytes
    files: tuple[ChangedFile, ...]
    withheld: tuple[WithheldFile, ...]
    weaker: tuple[str, ...] = ()

    @property
    def unfit(self) -> tuple[WithheldFile, ...]:
        """The withheld files that are in neither patch, only in the work tree."""
        return tuple(row for row in self.withheld if not row.in_patch)


def judge_tree(
    checkout: Checkout,
    *,
    limits: ChangeLimits = DEFAULT_LIMITS,
    may_write: MayWrite | None = None,
    setup_files: Collection[str] = (),
    holds_secret: HoldsSecret | None = None,
    links: Mapping[str, str] = MappingProxyType({}),
    edited: Collection[str] = (),
) -> Verdict:
    """Return what of the work tree may leave, as a patch on the base. No process of the workspace may be alive.

    `may_write` returns the reason to withhold a path, or `None`. New files in `setup_files`, which setup made before
    the agent began, are not part of the patch, and neither are our new `links` unless their target changed.
    `holds_secret` returns the name of a secret in bytes of the patch or of withheld files. An entry that no commit may
    contain (links out of the tree, repositories, devices, odd names, files over a limit) is withheld; over the limit of
    files the paths in `edited` come first. An empty patch with nothing withheld means that nothing changed. Raises
    `GateError` for secrets and for a tree that cannot be read, `OutOfCapacity` if the machine has too little disk
    for the gate's own files.
    """
    git, base_sha, tree = checkout.git, checkout.base_sha, checkout.tree
    try:
        with scratch(git, base_sha, limits) as work_repo:
            diff = changes(work_repo, tree, setup_files=setup_files, links=links, edited=edited)
            return _decide(work_repo, diff, may_write=may_write, holds_secret=holds_secret)
    except (OSError, GitError) as error:
        raise _failed(f"the gate could not judge {tree}", error) from error


def untracked_files(git: Git, base_sha: str, tree: Path) -> frozenset[str]:
    """Return the files of `tree` that are not in the base and not ignored by its rules.

    No process that could write there may be alive. Raises as `judge_tree` does.
    """
    try:
        with scratch(git, base_sha) as work_repo:
            return untracked(work_repo, tree)
    except (OSError, GitError) as error:
        raise _failed(f"the gate could not read {tree}", error) from error


def _failed(what: str, error: OSError | GitError) -> AgentError:
    if shortage := capacity_error(error):
        return shortage
    return error if isinstance(error, GitError) else GateError(f"{what}: {error.strerror or error}")


# Wherever git might read a binary hunk; git is laxer about the number than anything that writes it.
_BINARY = re.compile(rb"^(literal|delta) ([^\n]*)\n([^\n]*)", re.MULTILINE)
_SIZE = re.compile(rb"[0-9]{1,12}")
_HEADER_BYTES = 32
_NULL_MODE = "000000"


def judge_patch(
    git: Git,
    base_sha: str,
    patch: bytes,
    *,
    limits: ChangeLimits = DEFAULT_LIMITS,
    may_write: MayWrite | None,
) -> Verdict:
    """Return what of `patch` may leave, applied to `base_sha` in a scratch index of a bare git directory.

    Judging the patch of a verdict returns the same verdict. Raises `GateError` for what the gate refuses,
    and for a patch that does not apply.
    """
    refuse_bombs(patch, limits)
    try:
        with scratch(git, base_sha, limits) as work_repo:
            diff = _apply(work_repo, patch)
            refuse_unfit(work_repo, diff)
            return _decide(work_repo, TreeDiff(diff, {}, ()), may_write=may_write)
    except OSError as error:
        raise _failed("the gate could not judge the patch", error) from error


def _apply(work_repo: Scratch, patch: bytes) -> list[Change]:
    if not patch:
        return []
    base_sha, limits = work_repo.base_sha, work_repo.limits
    try:
        tree_sha = tree_with_patch(work_repo.git, base_sha, patch)
    except GitError as error:
        raise capacity_error(error) or GateError(
            f"the patch does not apply to the base commit: {error.detail}"
        ) from error
    changes: list[Change] = []
    for one in raw_changes(work_repo.git, base_sha, tree_sha):
        old = None if one.old_mode == _NULL_MODE else Entry(one.old_mode, one.old_sha)
        new = None if one.new_mode == _NULL_MODE else Entry(one.new_mode, one.new_sha)
        changes.append(Change(one.path, old, new, None))
    if len(changes) > limits.files:
        raise GateError(f"more than {limits.files} files are changed: that is the limit")
    # The new contents, after a check of their sizes. A submodule has none and is refused later.
    shas = {one.path: one.new.sha for one in changes if one.new and one.new.mode != GITLINK}
    total = 0
    for path, size in zip(shas, sizes(work_repo.git, list(shas.values())), strict=True):
        total += size
        if size > limits.file_bytes:
            raise GateError(f"{quoted(path)} is over the limit of {limits.file_bytes} bytes a file")
    if total > limits.total_bytes:
        raise GateError(f"the changed files hold more than {limits.total_bytes} bytes: that is the limit")
    data = dict(zip(shas, contents(work_repo.git, list(shas.values())), strict=True))
    return [change._replace(data=data.get(change.path)) for change in changes]


def refuse_bombs(patch: bytes, limits: ChangeLimits = DEFAULT_LIMITS) -> None:
    """Limit the memory that git allocates: a binary hunk states its unpacked size, and git trusts it.

    Call it before git reads an untrusted patch. Raises `GateError`.
    """
    if len(patch) > limits.patch_bytes:
        raise GateError(f"the patch is {len(patch)} bytes; the limit is {limits.patch_bytes}")
    total = 0
    for kind, size, first_line in _BINARY.findall(patch):
        if not _SIZE.fullmatch(size):
            raise GateError("the patch holds a binary hunk with a size that is not a number")
        total += int(size) + (_delta_result(first_line) if kind == b"delta" else 0)
        if total > limits.total_bytes + limits.patch_bytes:
            raise GateError(f"the patch unpacks to more than {total} bytes: that is over the limit")


def _delta_result(line: bytes) -> int:
    """Return the size of a delta's result. A delta begins with the sizes before and after."""
    try:
        packed = base64.b85decode(line[1:])
        head = zlib.decompressobj().decompress(packed, _HEADER_BYTES)
        _, position = _number(head, 0)
        size, _ = _number(head, position)
    except (ValueError, zlib.error, IndexError) as error:
        raise GateError("the patch holds a binary delta that cannot be read") from error
    return size


def _number(data: bytes, position: int) -> tuple[int, int]:
    """Read a number in git's delta format (seven bits a byte, the lowest first). Return it and the position after."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
        if not byte & 0x80:
            return value, position


def _decide(
    scratch: Scratch, diff: TreeDiff, *, may_write: MayWrite | None, holds_secret: HoldsSecret | None = None
) -> Verdict:
    """Judge `diff`, whose contents are within the limits. Raises `GateError`."""
    changes, base_sha = diff.changes, scratch.base_sha
    if not changes and not diff.unfit:
        tree_sha = scratch.git.line("rev-parse", "--verify", f"{base_sha}^{{tree}}")
        return Verdict(tree_sha, b"", b"", (), ())
    if holds_secret is not None:
        _refuse_secret(diff, holds_secret)
    links = links_of(scratch, changes)
    unfit = unfit_paths(scratch, diff, links)
    withheld = withheld_paths(scratch.base, diff, unfit, may_write, links)
    published = [change for change in changes if change.path not in withheld]
    applicable = [change for change in changes if change.path in withheld and change.path not in unfit]
    store(scratch, [*published, *applicable])
    tree_sha = write_tree(scratch, base_sha, published)
    refuse_unsound(scratch, tree_sha)
    patch = render(scratch, f"{base_sha}^{{tree}}", tree_sha) if published else b""
    withheld_patch = b""
    if applicable:
        withheld_patch = render(scratch, tree_sha, write_tree(scratch, tree_sha, applicable))
    files, weaker = _files(scratch, published, patch)
    return Verdict(tree_sha, patch, withheld_patch, files, _rows(withheld, unfit), weaker)


def _files(
    scratch: Scratch, published: Sequence[Change], patch: bytes
) -> tuple[tuple[ChangedFile, ...], tuple[str, ...]]:
    by_path = {change.path: change for change in published}
    # The old contents of the changed files that are compared with them, links excluded.
    compared = [
        change
        for change in published
        if not is_link(change.new) and (may_weaken_tests(change.path) or has_sections(change.path))
    ]
    shas = [change.old.sha for change in compared if change.old is not None]
    before = dict(zip(shas, contents(scratch.git, shas), strict=True))
    old = {change.path: before[change.old.sha] if change.old else None for change in compared}
    weaker = weaker_tests({path: (before, by_path[path].data) for path, before in old.items()})
    with Parser() as parser:
        files = tuple(
            _changed_file(by_path[file.path], file, old.get(file.path), weaker.get(file.path, ""), parser)
            for file in parse_diff(patch).files
        )
    return files, tuple(f"{quoted(path)} {note}" for path, note in sorted(weaker.items()) if note)


def _rows(reasons: Reasons, unfit: Reasons) -> tuple[WithheldFile, ...]:
    """Return the withheld files, `unfit` ones first. A path that no commit may contain is escaped."""
    paths = sorted(reasons, key=lambda path: (path not in unfit, os.fsencode(path)))
    rows = [
        WithheldFile(printable_name(path[:200]) if refusal(path) else path, reasons[path], path not in unfit)
        for path in paths[:_MOST_ROWS]
    ]
    if more := len(paths) - len(rows):
        rows[-1] = rows[-1]._replace(reason=f"{rows[-1].reason} (and {more} more are withheld)")
    return tuple(rows)


def _refuse_secret(diff: TreeDiff, holds_secret: HoldsSecret) -> None:
    """Raise `GateError` if a change contains one of our secrets: another defence has failed. Nothing is masked, since
    a masked patch would be wrong. The contents are searched and not the patch, which compresses binary files."""
    names = (os.fsencode(path) for path in (*diff.unfit, *(change.path for change in diff.changes)))
    written = [change.data or b"" for change in diff.changes]
    decoded = (text.encode() for data in written if (text := wide_text(data)))
    for data in (*names, *written, *decoded):
        if name := holds_secret(data):
            raise GateError(f"a changed file holds the value of {name}: nothing of it may leave")


def _changed_file(
    change: Change, file: FileDiff, before: bytes | None, weaker: str, parser: Parser
) -> ChangedFile:
    """`before` is the old content of a file that is compared with it."""
    entry = change.new or change.old
    assert entry is not None
    rows = [row for hunk in file.hunks for row in hunk.rows()]
    removed = [Line(row.old, row.text.encode()) for row in rows if row.kind == "-"]
    added = [Line(row.new, row.text.encode()) for row in rows if row.kind == "+"]
    # The most severe first: `bot/evidence/look_first.py` sorts by the beginning of a note.
    notes = (
        runs_tests(folded(change.path), added, change.data, is_new=change.old is None),
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
