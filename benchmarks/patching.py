"""`patch` on many files at once, through the sandboxed tool host: planned, permitted and committed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.memory import processors_ms
from benchmarks.table import Row
from bot.contracts.cancel import CancelToken
from bot.workspace.client import Answer, Workspace
from bot.workspace.probe import choose
from bot.workspace.start import StartOptions

FILES = 200
LINES = 1000
MS = 500.0
_EVERY = 400
"""Lines from one change of a file to the next."""


def patching(folder: Path, files: int, runs: int) -> Iterator[Row]:
    """Each run patches the same files once more; the first is not counted."""
    tree, own = folder / "tree", folder / "workspace"
    own.mkdir(parents=True)
    names = [f"package_{number % 20}/module_{number}.py" for number in range(files)]
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("".join(_line(name, line, 0) + "\n" for line in range(LINES)))
    with Workspace.start(
        choose("auto").confinement,
        StartOptions(tree, own, os.environ, assume_read=True),
        lambda question: Answer(True),
    ) as workspace:
        took, used = zip(*[_patch(workspace, names, run) for run in range(runs + 1)][1:], strict=True)
    yield Row(
        f"patch, {files} files of {LINES:,} lines",
        f"{median(took):.0f} ms",
        f"best {min(took):.0f} ms, {median(used):.0f} ms of CPU",
        "",
        f"at most {MS:g} ms",
        median(took) <= MS,
    )


def _patch(workspace: Workspace, names: list[str], run: int) -> tuple[float, float]:
    """Milliseconds on the clock, and of processors: our own side and the host."""
    rows = ["*** Begin Patch"]
    for name in names:
        rows.append(f"*** Update File: {name}")
        for line in range(_EVERY // 2, LINES, _EVERY):
            rows += [
                "@@",
                f" {_line(name, line - 1, 0)}",
                f"-{_line(name, line, run)}",
                f"+{_line(name, line, run + 1)}",
            ]
    rows.append("*** End Patch")
    started, used = time.monotonic(), processors_ms(os.getpid())
    outcome = workspace.call("patch", {"patch": "\n".join(rows)}, CancelToken())
    took, used = (time.monotonic() - started) * 1000, processors_ms(os.getpid()) - used
    if outcome.is_error or len(outcome.metadata["files"]) != len(names):
        raise RuntimeError(f"patch should have changed {len(names)} files: {outcome.content[:300]}")
    return took, used


def _line(name: str, line: int, version: int) -> str:
    return f"    result_{line} = compute(table, {line}, {version}, module={name!r})"
