"""Commits trees by plumbing and renders the difference of two of them as a patch that git applies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.contracts.errors import GateError
from bot.gate.errors import HostileTree
from bot.gate.limits import GateLimits
from bot.gate.objects import Change, Scratch
from bot.gate.weaker_tests import Line

_TYPE_CHANGE = "T"
_SECTION = b"diff --git "
_HUNK = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)")


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How one path differs: git's letter, counted lines (0 for binary), the lines themselves."""

    path: str
    status: str
    additions: int
    removals: int
    removed: tuple[Line, ...]
    added: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    patch: bytes
    files: tuple[FileDiff, ...]


def store(scratch: Scratch, changes: Sequence[Change]) -> None:
    """Write the new contents as blobs, and make sure that git names them as the gate did."""
    wanted = [change for change in changes if change.new is not None and change.new != change.old]
    if not wanted:
        return
    folder = scratch.folder / "contents"
    folder.mkdir(exist_ok=True)
    names: list[str] = []
    for number, change in enumerate(wanted):
        target = folder / str(number)
        target.write_bytes(change.data or b"")
        names.append(f"{target}\n")
    if any("\n" in name[:-1] for name in names):
        stored = [
            scratch.git.run("hash-object", "-w", "--no-filters", "--stdin", input=c.data or b"")
            for c in wanted
        ]
        shas = b"".join(stored).decode().split()
    else:
        paths = os.fsencode("".join(names))
        shas = (
            scratch.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", input=paths)
            .decode()
            .split()
        )
    if shas != [change.new.sha for change in wanted if change.new is not None]:
        raise GateError("git stored other contents than the gate has judged")


def write_tree(scratch: Scratch, changes: Sequence[Change]) -> str:
    """Apply `changes` to the scratch index, which holds a tree already; the id of the tree that results."""
    absent = f"0 {'0' * 40}\t" if scratch.object_format == "sha1" else f"0 {'0' * 64}\t"
    # Removals first: a folder may have become a file.
    lines = [absent + change.path for change in changes if change.new is None]
    lines += [
        f"{change.new.mode} {change.new.sha}\t{change.path}" for change in changes if change.new is not None
    ]
    if lines:
        data = b"".join(os.fsencode(line) + b"\0" for line in lines)
        scratch.git.run("update-index", "-z", "--index-info", input=data, index=scratch.index)
    return scratch.git.run("write-tree", index=scratch.index).decode().strip()


def render(scratch: Scratch, old: str, new: str, limits: GateLimits) -> Rendered:
    """The patch from tree `old` to tree `new`. Raises `HostileTree` over the limit."""
    output = scratch.render.run(
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--numstat",
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--unified=3",
        "--diff-algorithm=histogram",
        "--no-indent-heuristic",
        "--inter-hunk-context=0",
        old,
        new,
        env=scratch.objects,
    )
    if not output:
        return Rendered(b"", ())
    raw, counts, patch = _split(output)
    if len(patch) > limits.patch_bytes:
        raise HostileTree(f"the patch is {len(patch)} bytes; the limit is {limits.patch_bytes}")
    return Rendered(patch, tuple(_files(raw, counts, patch)))


def _split(output: bytes) -> tuple[list[tuple[str, str]], list[tuple[int, int]], bytes]:
    """Take apart what `--raw --numstat -p -z` print: (status, path) pairs, line counts, the patch."""
    raw: list[tuple[str, str]] = []
    position = 0
    while output[position : position + 1] == b":":
        end = output.index(b"\0", position)
        stop = output.index(b"\0", end + 1)
        raw.append((output[position:end].decode().split()[4], os.fsdecode(output[end + 1 : stop])))
        position = stop + 1
    counts: list[tuple[int, int]] = []
    for _ in raw:
        end = output.index(b"\0", position)
        added, removed, _path = output[position:end].split(b"\t", 2)
        counts.append((0, 0) if added == b"-" else (int(added), int(removed)))
        position = end + 1
    return raw, counts, output[position:].removeprefix(b"\0")


def _files(raw: list[tuple[str, str]], counts: list[tuple[int, int]], patch: bytes) -> Iterator[FileDiff]:
    # A line of a file is never at the start of a line of the patch, so this finds headers only.
    sections = iter((b"\n" + patch).split(b"\n" + _SECTION)[1:])
    for (status, path), (additions, removals) in zip(raw, counts, strict=True):
        # A file that became a link, or the other way round, is a deletion and then a creation.
        both = [next(sections), next(sections)] if status == _TYPE_CHANGE else [next(sections)]
        removed: list[Line] = []
        added: list[Line] = []
        for section in both:
            _read_hunks(section, removed, added)
        yield FileDiff(path, status, additions, removals, tuple(removed), tuple(added))


def _read_hunks(section: bytes, removed: list[Line], added: list[Line]) -> None:
    """What follows the header: a removed line may itself begin with "-- "."""
    begin = section.find(b"\n@@ ")
    if begin < 0:
        return
    old = new = 0
    for line in section[begin + 1 :].split(b"\n"):
        kind = line[:1]
        if kind == b"@":
            match = _HUNK.match(line)
            assert match is not None, "git writes nothing else at a line's start"
            old, new = int(match[1]), int(match[2])
        elif kind == b"-":
            removed.append(Line(old, line[1:]))
            old += 1
        elif kind == b"+":
            added.append(Line(new, line[1:]))
            new += 1
        elif kind == b" ":
            old, new = old + 1, new + 1
