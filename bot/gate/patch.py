"""The diff gate for a patch: the same judgement as for a work tree, without one."""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Sequence

from bot.checkout.git import Git, GitError
from bot.contracts.errors import GateError
from bot.gate.errors import HostileTree, quoted_path
from bot.gate.limits import DEFAULT_LIMITS, GateLimits
from bot.gate.objects import GITLINK, Change, Entry, Scratch, TreeDiff, contents, listing, scratch, sizes
from bot.gate.verdict import MayWrite, Verdict, decide, refuse_unfit

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
    limits: GateLimits = DEFAULT_LIMITS,
    may_write: MayWrite | None = None,
) -> Verdict:
    """What of `patch`, applied to `base_sha` in a scratch index of a bare git directory, may leave.

    Judging a verdict's own patch gives that verdict again. Raises `HostileTree` for what the gate refuses,
    and for a patch that does not apply.
    """
    refuse_bombs(patch, limits)
    try:
        with scratch(git, base_sha) as work_repo:
            base = listing(git, base_sha)
            diff = _apply(work_repo, base_sha, patch, limits)
            refuse_unfit(work_repo, base, diff, limits)
            return decide(work_repo, base_sha, base, TreeDiff(diff, {}, ()), limits, may_write=may_write)
    except OSError as error:
        raise GateError(f"the gate could not judge the patch: {error.strerror or error}") from error


def _apply(work_repo: Scratch, base_sha: str, patch: bytes, limits: GateLimits) -> list[Change]:
    if not patch:
        return []
    work_repo.git.run("read-tree", base_sha, index=work_repo.index)
    try:
        work_repo.git.run("apply", "--cached", "--whitespace=nowarn", "-", input=patch, index=work_repo.index)
    except GitError as error:
        raise HostileTree(f"the patch does not apply to the base commit: {error.detail}") from error
    tree_sha = work_repo.git.run("write-tree", index=work_repo.index).decode().strip()
    output = work_repo.git.run(
        "diff-tree", "-r", "-z", "--raw", "--no-renames", f"{base_sha}^{{tree}}", tree_sha
    )
    fields = os.fsdecode(output).split("\0")[:-1]
    changes = [_change(head, path) for head, path in zip(fields[::2], fields[1::2], strict=True)]
    if len(changes) > limits.files:
        raise HostileTree(f"more than {limits.files} files are changed: that is the limit")
    return _with_contents(work_repo, changes, limits)


def _change(head: str, path: str) -> Change:
    old_mode, new_mode, old_sha, new_sha = head.removeprefix(":").split(" ")[:4]
    old = None if old_mode == _NULL_MODE else Entry(old_mode, old_sha)
    new = None if new_mode == _NULL_MODE else Entry(new_mode, new_sha)
    return Change(path, old, new, None)


def _with_contents(work_repo: Scratch, changes: Sequence[Change], limits: GateLimits) -> list[Change]:
    """`changes` with the new contents read, sizes first. A submodule has none; the judgement refuses it."""
    wanted = [change.new.sha for change in changes if change.new is not None and change.new.mode != GITLINK]
    total = 0
    for change, size in zip(
        (change for change in changes if change.new is not None and change.new.mode != GITLINK),
        sizes(work_repo.git, wanted),
        strict=True,
    ):
        total += size
        if size > limits.file_bytes:
            raise HostileTree(
                f"{quoted_path(change.path)} is over the limit of {limits.file_bytes} bytes a file",
                change.path,
            )
    if total > limits.total_bytes:
        raise HostileTree(f"the changed files hold more than {limits.total_bytes} bytes: that is the limit")
    data = dict(zip(wanted, contents(work_repo.git, wanted), strict=True))
    return [
        Change(change.path, change.old, change.new, data.get(change.new.sha) if change.new else None)
        for change in changes
    ]


def refuse_bombs(patch: bytes, limits: GateLimits = DEFAULT_LIMITS) -> None:
    """Bound what git would allocate: a binary hunk states the size it unpacks to, and git believes it.

    No patch of others goes to git before this. Raises `HostileTree`.
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
    """The size of what a delta makes: it begins with the size before and the size after."""
    try:
        packed = base64.b85decode(line[1:])
        head = zlib.decompressobj().decompress(packed, _HEADER_BYTES)
        _, position = _number(head, 0)
        size, _ = _number(head, position)
    except (ValueError, zlib.error, IndexError) as error:
        raise HostileTree("the patch holds a binary delta that cannot be read") from error
    return size


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number in git's delta format, seven bits a byte with the lowest first, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
        if not byte & 0x80:
            return value, position
