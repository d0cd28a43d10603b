"""The Test Anything Protocol, subtests included, as `node --test`, prove, bats and tape write it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.workshop.host.reports.found import FAILED, PASSED, SKIPPED, Found, path_of

_POINT = re.compile(r"( *)(ok|not ok)\b(?: +(\d+))?(?: +- +| +)?(.*)")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\b.*", re.IGNORECASE)
_PLAN = re.compile(r"1\.\.(\d+)(?: .*)?")
_DEEPEST = 50

_Path = tuple[str, ...]


def tap(lines: Sequence[str]) -> Found | None:
    """A test point that has subtests stands for none itself: it fails with them."""
    if not any(line.startswith("TAP version 1") or _PLAN.fullmatch(line) for line in lines):
        return None
    below: dict[int, list[tuple[_Path, str]]] = {}
    block: str | None = None
    seen = 0
    for line in lines:
        if block is not None:
            block = None if line == f"{block}..." else block
            continue
        if line.strip() == "---":
            block = line[: line.index("-")]
        elif found := _POINT.fullmatch(line):
            depth = min(len(found[1]) // 4, _DEEPEST)
            seen += 1
            _point(below, depth, found[2], found[4] or f"test {found[3] or seen}")
    if not seen:
        return None
    tests = Found("TAP output", whole=not any(line.startswith("Bail out!") for line in lines))
    for points in below.values():
        for path, state in points:
            tests.add(path_of(path), state)
    return tests


def _point(below: dict[int, list[tuple[_Path, str]]], depth: int, word: str, described: str) -> None:
    directive = _DIRECTIVE.search(described)
    name = _DIRECTIVE.sub("", described).replace("\\#", "#").strip()
    children = below.pop(depth + 1, [])
    for deeper in [other for other in below if other > depth]:
        del below[deeper]
    here = below.setdefault(depth, [])
    if children:
        here += [((name, *path), state) for path, state in children]
        if word == "ok" or any(state == FAILED for _, state in children):
            return
    here.append(((name,), SKIPPED if directive else PASSED if word == "ok" else FAILED))
