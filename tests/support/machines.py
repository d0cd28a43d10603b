"""Machines with something wrong, made by running a command in a bubblewrap of the test's own around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support import denied

_SAME = ("bwrap", "--dev-bind", "/", "/")


def without_bubblewrap() -> list[str]:
    """A prefix for a command: there is no bwrap that could be run."""
    return [*_SAME, "--ro-bind", "/dev/null", "/usr/bin/bwrap", "--"]


def without_sandbox() -> list[str]:
    """A prefix for a command: no bwrap, and a kernel without Landlock."""
    return [*without_bubblewrap(), *denied.prefix("no-landlock")]


def with_program(program: Path, place: str) -> list[str]:
    """A prefix for a command: `program` lies where `place` did."""
    return [*_SAME, "--ro-bind", str(program), place, "--"]


def with_small_disk(folder: Path, size: int, script: str, *arguments: object) -> list[str]:
    """A command: the shell `script` with `folder` on a disk of `size` bytes, which is gone afterwards."""
    words: Sequence[str] = ["sh", "-c", script, "sh", *map(str, arguments)]
    return [*_SAME, "--size", str(size), "--tmpfs", str(folder), "--", *words]
