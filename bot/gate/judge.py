"""The diff gate: judge a work tree, or a patch without one, and return what may leave as a patch.

Every change that an agent makes passes through here before anything is published.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from bot.checkout.clone import Checkout
from bot.checkout.git import Git, GitError
from bot.checkout.objects import contents, sizes
from bot.contracts.errors import AgentError, GateError
from bot.gate.errors import HostileTree, capacity_error, quoted_path
from bot.gate.objects import DEFAULT_LIMITS, GITLINK, Change, ChangeLimits, Entry, Scratch, TreeDiff, scratch
from bot.gate.verdict import HoldsSecret, Verdict, decide
from bot.gate.walk import changes, untracked
from bot.gate.withheld import MayWrite, refuse_unfit


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
    `HostileTree` for secrets and for a tree that cannot be read, `OutOfCapacity` if the machine has too little disk
    for the gate's own files.
    """
    git, base_sha, tree = checkout.git, checkout.base_sha, checkout.tree
    try:
        with scratch(git, base_sha, limits) as work_repo:
            diff = changes(work_repo, tree, setup_files=setup_files, links=links, edited=edited)
            return decide(work_repo, diff, may_write=may_write, holds_secret=holds_secret)
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
    may_write: MayWrite | None = None,
) -> Verdict:
    """Return what of `patch` may leave, applied to `base_sha` in a scratch index of a bare git directory.

    Judging the patch of a verdict returns the same verdict. Raises `HostileTree` for what the gate refuses,
    and for a patch that does not apply.
    """
    refuse_bombs(patch, limits)
    try:
        with scratch(git, base_sha, limits) as work_repo:
            diff = _apply(work_repo, patch)
            refuse_unfit(work_repo, diff)
            return decide(work_repo, TreeDiff(diff, {}, ()), may_write=may_write)
    except OSError as error:
        raise _failed("the gate could not judge the patch", error) from error


def _apply(work_repo: Scratch, patch: bytes) -> list[Change]:
    if not patch:
        return []
    base_sha, limits = work_repo.base_sha, work_repo.limits
    work_repo.git.run("read-tree", base_sha, index=work_repo.index)
    try:
        work_repo.git.run("apply", "--cached", "--whitespace=nowarn", "-", input=patch, index=work_repo.index)
    except GitError as error:
        raise capacity_error(error) or HostileTree(
            f"the patch does not apply to the base commit: {error.detail}"
        ) from error
    tree_sha = work_repo.git.run("write-tree", index=work_repo.index).decode().strip()
    output = work_repo.git.run(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", f"{base_sha}^{{tree}}", tree_sha
    )
    changes: list[Change] = []
    fields = os.fsdecode(output).split("\0")[:-1]
    for head, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old_sha, new_sha = head.removeprefix(":").split(" ")[:4]
        old = None if old_mode == _NULL_MODE else Entry(old_mode, old_sha)
        new = None if new_mode == _NULL_MODE else Entry(new_mode, new_sha)
        changes.append(Change(path, old, new, None))
    if len(changes) > limits.files:
        raise HostileTree(f"more than {limits.files} files are changed: that is the limit")
    # The new contents, after a check of their sizes. A submodule has none and is refused later.
    shas = {one.path: one.new.sha for one in changes if one.new and one.new.mode != GITLINK}
    total = 0
    for path, size in zip(shas, sizes(work_repo.git, list(shas.values())), strict=True):
        total += size
        if size > limits.file_bytes:
            raise HostileTree(
                f"{quoted_path(path)} is over the limit of {limits.file_bytes} bytes a file", path
            )
    if total > limits.total_bytes:
        raise HostileTree(f"the changed files hold more than {limits.total_bytes} bytes: that is the limit")
    data = dict(zip(shas, contents(work_repo.git, list(shas.values())), strict=True))
    return [replace(change, data=data.get(change.path)) for change in changes]


def refuse_bombs(patch: bytes, limits: ChangeLimits = DEFAULT_LIMITS) -> None:
    """Limit the memory that git allocates: a binary hunk states its unpacked size, and git trusts it.

    Call it before git reads an untrusted patch. Raises `HostileTree`.
    """
    if len(patch) > limits.patch_bytes:
        raise HostileTree(f"the patch is {len(patch)} bytes; the limit is {limits.patch_bytes}")
    total = 0
    for kind, size, first_line in _BINARY.findall(patch):
        if not _SIZE.fullmatch(size):
            raise HostileTree("the patch holds a binary hunk with a size that is not a number")
        total += int(size) + (_delta_result(first_line) if kind == b"delta" else 0)
        if total > limits.total_bytes + limits.patch_bytes:
            raise HostileTree(f"the patch unpacks to more than {total} bytes: that is over the limit")


def _delta_result(line: bytes) -> int:
    """Return the size of a delta's result. A delta begins with the sizes before and after."""
    try:
        packed = base64.b85decode(line[1:])
        head = zlib.decompressobj().decompress(packed, _HEADER_BYTES)
        _, position = _number(head, 0)
        size, _ = _number(head, position)
    except (ValueError, zlib.error, IndexError) as error:
        raise HostileTree("the patch holds a binary delta that cannot be read") from error
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
