"""Test names and their states, as parsed from a report or from output, bounded; and how a runner's output is read."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
STATES = (PASSED, FAILED, SKIPPED)

MOST_NAMES = 100_000
_LONGEST = 300
_MOST_TEXT = 6 * 1024 * 1024
"""Characters of all names together: as JSON they must fit into one frame, where each may take six bytes."""
_MOST_REASONS = 1_000


class ParsedTests:
    """The results of one run. `whole` is false if only failed tests are named: the others are then unknown by name.
    A name may occur more than once. `totals` are the runner's own counts, if the names do not give them."""

    def __init__(self, source: str, *, whole: bool = True) -> None:
        self.source = source
        self.whole = whole
        self.names: dict[str, list[str]] = {state: [] for state in STATES}
        self.counts = dict.fromkeys(STATES, 0)
        self.totals: dict[str, int] | None = None
        self.reasons: dict[str, str] = {}
        self.notes: list[str] = []
        self._text = 0
        self._full = False

    def add(self, name: str, state: str) -> None:
        """Add a test; over the limits it is only counted."""
        self.counts[state] += 1
        if self._full:
            return
        name = shortened(name)
        self._text += (len(name) if name.isascii() else 6 * len(name)) + 4
        if self._text > _MOST_TEXT or sum(map(len, self.names.values())) >= MOST_NAMES:
            self._full = True
            self.notes.append("there are too many tests to name")
            self.names = {state: [] for state in STATES}
            return
        self.names[state].append(name)

    def explain(self, name: str, reason: str) -> None:
        """Record why a test that was added failed, in one line; the first reason counts."""
        if reason and len(self.reasons) < _MOST_REASONS and not self._full:
            self.reasons.setdefault(shortened(name), reason)

    def merge(self, other: ParsedTests) -> None:
        """Add the results of another runner of the same check."""
        self.source = ", ".join(dict.fromkeys((*self.source.split(", "), other.source)))
        self.whole = self.whole and other.whole
        mine, theirs = self.figures(), other.figures()
        for state in STATES:
            for name in other.names[state]:
                self.add(name, state)
        self.totals = {state: mine[state] + theirs[state] for state in STATES} if mine and theirs else None
        self.reasons |= dict(islice(other.reasons.items(), max(_MOST_REASONS - len(self.reasons), 0)))
        self.notes += other.notes
        self._full = self._full or other._full

    def figures(self) -> dict[str, int] | None:
        """The numbers of passed, failed and skipped tests; `None` if unknown."""
        if self.totals is not None:
            return self.totals
        return dict(self.counts) if self.whole else None

    def message(self) -> dict[str, object]:
        """The results as sent to the supervisor."""
        return {
            "source": self.source,
            "whole": self.whole and not self._full,
            "named": not self._full,
            "names": self.names,
            "counts": self.figures(),
            "reasons": self.reasons,
            "note": "; ".join(dict.fromkeys(self.notes))[:_LONGEST],
        }


def printed(lines: Sequence[str]) -> list[str]:
    """What a runner printed: events of `go test -json` as the lines that they stand for, package by package."""
    packages: dict[str, list[str]] = {}
    for line in lines:
        package = ""
        if line.startswith("{") and '"Output"' in line:
            try:
                event = json.loads(line)
                package = str(event.get("Package") or event.get("ImportPath")).partition(" ")[0]
                line = str(event["Output"]).rstrip()
            except (ValueError, LookupError, AttributeError, RecursionError):
                continue
        packages.setdefault(package, []).append(line)
    return list(chain.from_iterable(packages.values()))


_WORDS = {
    PASSED: "x?passed|passing|pass|successes",
    FAILED: "fail(?:ed|ures?|ing)?|errors?|cancelled|timed|exec",
    SKIPPED: "skip(?:ped|s)|xfailed|todo|pendings?|ignored|incomplete",
}
_FIGURES = {
    state: re.compile(rf"(?i)(\d+) (?:{words})\b|\b(?:{words})(?:[:=] *| )(\d+)")
    for state, words in _WORDS.items()
}

Named = Iterable[tuple[str, str]]
"""Tests by name, each with its state."""

Ends = Sequence[re.Match[str]]
"""The lines in which the runs of a test runner end."""


def totals_of(ends: Iterable[re.Match[str]]) -> dict[str, int]:
    """Add up lines that sum up runs: their groups with the names of states, else all figures such as `3 passed` or
    `failures=1`. Of a group `ran` those that neither failed nor were skipped passed."""
    totals = Counter[str]()
    for end in ends:
        groups = end.groupdict()
        ran, own = groups.pop("ran", None), Counter[str]()
        for state, figures in _FIGURES.items():
            numbers = (one[1] or one[2] for one in figures.finditer(end[0]))
            own[state] = int(groups.get(state) or 0) if groups else sum(map(int, numbers))
        if ran is not None:
            own[PASSED] = max(int(ran) - own[FAILED] - own[SKIPPED], 0)
        totals += own
    return {state: totals[state] for state in STATES}


def tests_of(source: str, named: Named, totals: dict[str, int], *, only_failed: bool) -> ParsedTests:
    """The tests that a runner `named`, each with its state, if they are as many as its own `totals`, where those that
    are skipped may have no name; else, or if it names `only_failed` ones, those that failed."""
    listed = list(named)
    ran = len([state for _, state in listed if state != SKIPPED])
    all_skipped = len(listed) - ran in (0, totals[SKIPPED])
    whole = not only_failed and all_skipped and ran == totals[PASSED] + totals[FAILED]
    tests = ParsedTests(source, whole=whole)
    for name, state in listed if whole else dict.fromkeys(listed):
        if whole or state == FAILED:
            tests.add(name, state)
    tests.totals = totals
    return tests


def shortened(name: str) -> str:
    """`name` on one line; of a long one the beginning and a digest, so that names stay distinct."""
    line = " ".join("".join(c if c.isprintable() else " " for c in name[: 64 * _LONGEST]).split())
    if len(line) <= _LONGEST and len(name) <= 64 * _LONGEST:
        return line or "(no name)"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{line[: _LONGEST - 12]}… {digest}"


def path_of(parts: Iterable[str]) -> str:
    """The name of a test in its suites."""
    return " > ".join(part.strip() for part in parts if part.strip())


Read = Callable[[Sequence[str], Ends], ParsedTests | None]


def by_names(
    source: str, named: Callable[[Sequence[str]], Named], *, only_failed: bool = False, sign: str = ""
) -> Read:
    """Return the reader of a runner whose lines name tests, and whose last lines have all figures, one of them with a
    `sign`."""

    def read(lines: Sequence[str], ends: Ends) -> ParsedTests | None:
        is_known = any(sign in end[0] for end in ends)
        return tests_of(source, named(lines), totals_of(ends), only_failed=only_failed) if is_known else None

    return read


class Runner(NamedTuple):
    """A test runner. `end` matches the line in which a run ends, or another one that it always prints; `read` parses
    its tests from all lines of output, `None` if it did not run. One that can be told to write a report has a `name`:
    the report is about the last run only."""

    read: Read
    end: re.Pattern[str]
    name: str = ""
