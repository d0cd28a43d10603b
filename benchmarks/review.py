"""How long it takes to place a review's findings on a diff of 300 files: read the diff, validate every anchor.
And whether GitHub would take what comes of that: random reviews, each published on the forge that rules as it does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from benchmarks.table import Row
from bot.contracts.pulls import Finding, Severity, Side
from bot.review.anchors import anchor
from bot.review.diff import parse_diff
from tests.publish.conftest import open_world
from tests.publish.random_reviews import random_reviews

SECONDS = 0.5
FILES = 300
REVIEWS = 1000
_HUNKS = 10
_PADDING = 20


def anchors(files: int, runs: int) -> Iterator[Row]:
    """Half of the findings are on their lines, a quarter has moved and is found by its text, a quarter is nowhere."""
    diff, findings = subject(files)
    lines = diff.count(b"\n")
    took = median(measure(diff, findings) for _ in range(max(1, runs)))
    yield Row(
        f"anchors of a review, {FILES} files",
        f"{took * 1000:.0f} ms",
        f"{len(findings):,} findings, {lines:,} lines",
        "",
        f"under {SECONDS:g} s",
        took < SECONDS,
    )


def refused(folder: Path, count: int, say: Callable[[str], None]) -> Iterator[Row]:
    """How many of `count` random reviews got a 422. Says every 50 reviews how far it is."""
    rejected = placed = 0
    with open_world(folder) as world:
        for number, review in enumerate(random_reviews(world, count), start=1):
            rejected += bool(review.refused)
            placed += review.placed
            if number % 50 == 0:
                say(f"reviews, {number:,} of {count:,}: {rejected} refused")
    if placed < count * 3:
        raise RuntimeError(f"{placed} comments of {count} reviews stand on lines, too few to say anything")
    yield Row(
        f"reviews refused, {count:,} random ones",
        f"{rejected} of {count:,}",
        f"{placed:,} comments on lines",
        "",
        "0",
        rejected == 0,
    )


def measure(raw: bytes, findings: list[Finding]) -> float:
    """Seconds for reading the diff and placing every finding."""
    started = time.perf_counter()
    diff = parse_diff(raw)
    placed = [anchor(finding, diff) for finding in findings]
    took = time.perf_counter() - started
    on_lines = sum(isinstance(one, Finding) for one in placed)
    if on_lines != len(findings) * 3 // 4:
        raise RuntimeError(f"{on_lines} of {len(findings)} findings were placed")
    return took


def subject(files: int) -> tuple[bytes, list[Finding]]:
    """A diff of so many files, ten hunks each, and findings on all of them."""
    chance = random.Random(300)
    parts: list[str] = []
    findings: list[Finding] = []
    for number in range(files):
        path = f"source/part_{number % 20}/file_{number}.py"
        parts.append(f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n")
        starts = [1 + hunk * 100 for hunk in range(_HUNKS)]
        parts += [_hunk(path, start, shift) for shift, start in enumerate(starts)]
        findings += _findings(path, chance.choice(starts[1:]))
    return "".join(parts).encode(), findings


def _hunk(path: str, start: int, shift: int) -> str:
    """Each hunk adds a line, so that the new numbers run ahead of the old ones."""
    context = [f" {path} {start + line}" for line in range(_PADDING)]
    changed = [f"-{path} old {start}", f"+{path} new {start}", f"+{path} more {start}"]
    lines = [*context[:3], *changed, *context[3:]]
    return f"@@ -{start},{_PADDING + 1} +{start + shift},{_PADDING + 2} @@\n" + "".join(
        f"{line}\n" for line in lines
    )


def _findings(path: str, start: int) -> list[Finding]:
    def made(line: int, text: str = "", side: Side = Side.RIGHT) -> Finding:
        return Finding(path, line, Severity.MAJOR, "Title", "Body", side=side, text=text)

    new = start + (start - 1) // 100 + 3
    return [
        made(new),
        made(start + 3, side=Side.LEFT),
        made(new + 30, f"{path} new {start}\n{path} more {start}"),
        made(new + 50, "nowhere to be found"),
    ]
