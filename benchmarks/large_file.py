"""How long `view` takes for the last lines of a 2 GB file, through the sandboxed tool host, and in how much memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.memory import HOST, command_name, highest, processors_ms, tree
from benchmarks.table import Row
from bot.contracts.cancel import CancelToken
from bot.workspace.client import Answer, Workspace
from bot.workspace.probe import choose
from bot.workspace.start import StartOptions

SIZE = 2_000_000_000
SECONDS = 1.5
MEMORY_MIB = 50.0
NAME = "service.log"
_LINE = "2026-11-02T09:30:00.000Z INFO worker-{:08} answered a request in 12 ms with status 200\n"
_AT_ONCE = 20_000
_SHOWN = 100


def view(folder: Path, size: int, runs: int) -> Iterator[Row]:
    """The last lines, since all before them has to be passed."""
    tree_folder, own = folder / "tree", folder / "workspace"
    tree_folder.mkdir(parents=True)
    own.mkdir()
    lines = make(tree_folder / NAME, size)
    with Workspace.start(
        choose("auto").confinement, StartOptions(tree_folder, own, os.environ), lambda question: Answer(True)
    ) as workspace:
        views = [_view(workspace, lines) for _ in range(max(1, runs))]
        took, used = (median(column) for column in zip(*views, strict=True))
        memory = max(highest(pid) for pid in tree(os.getpid()) if command_name(pid) == HOST)
    yield Row(
        "view, the end of a 2 GB file",
        f"{took * 1000:.0f} ms, {memory:.0f} MiB",
        f"{lines:,} lines, {used:.0f} ms of CPU",
        "",
        f"at most {SECONDS * 1000:.0f} ms, {MEMORY_MIB:g} MiB",
        took <= SECONDS and memory <= MEMORY_MIB,
    )


def make(file: Path, size: int) -> int:
    """A log of at least `size` bytes with lines of 83 bytes. Returns how many lines it has."""
    lines = 0
    with file.open("wb") as log:
        while log.tell() < size:
            log.write("".join(map(_LINE.format, range(lines, lines + _AT_ONCE))).encode())
            lines += _AT_ONCE
    return lines


def _view(workspace: Workspace, lines: int) -> tuple[float, float]:
    """Seconds on the clock, and milliseconds of processors."""
    first = lines - _SHOWN + 1
    started, used = time.monotonic(), processors_ms(os.getpid())
    outcome = workspace.call("view", {"path": NAME, "offset": first}, CancelToken())
    took, used = time.monotonic() - started, processors_ms(os.getpid()) - used
    if not outcome.content.endswith(f"\n{lines}|{_LINE.format(lines - 1).rstrip()}"):
        raise RuntimeError(f"view should have shown the last line: {outcome.content[-300:]}")
    return took, used
