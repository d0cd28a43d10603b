"""Tests by name, before against after: what broke, what was mended, what came, what did not run any more.

A name may stand for several tests, so all of it is counted. What is absent after a change did not run, which is never
the same as fixed; and a runner that names only what fails says nothing of the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bot.contracts.tested import TestChanges, TestCounts
from bot.evidence.words import MOST_EXPLAINED

MOST_SHOWN = 50
_MOST_IN_NOTE = 5
_NOTE_LIMIT = 1_000
_WORD = re.compile(r"\w+")
# `github.com/owner/name`.
_FOLDERS_OF_A_MODULE = 3


class Times(NamedTuple):
    """How often a test of one name passed, failed (errors are failures) and was skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The tests of one run of a check. `whole` is false where only those that fail are known, `named` where they are
    too many for names. `counts` is `None` where nobody says. `source` is empty where nothing could be read.
    `reasons` say in one line each why tests failed, as the runner printed it."""

    source: str
    tests: Mapping[str, Times] = field(default_factory=dict)
    counts: TestCounts | None = None
    whole: bool = True
    named: bool = True
    note: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(name for name, times in self.tests.items() if times.failed)


@dataclass(slots=True)
class _Moves:
    """Names by what became of them, one for each test."""

    broken: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    appeared: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    newly_flaky: list[str] = field(default_factory=list)
    new_failing: list[str] = field(default_factory=list)


def compared(
    before: Reading | None, after: Reading | None, flaky: Collection[str] = (), note: str = ""
) -> TestChanges | None:
    """What became of the tests; `None` where neither run named any. `flaky` are those that both failed and passed on
    the same code: they are neither broken nor mended. `note` is a further doubt."""
    if before is None and after is None:
        return None
    moves, doubts = _Moves(flaky=sorted(flaky)), [note]
    if doubt := _incomparable(before, after):
        doubts.append(doubt)
    elif before is not None and after is not None:
        moves.newly_flaky = [name for name in moves.flaky if _passed(before, name)]
        if before.whole and after.whole:
            _sort_all(before.tests, after.tests, frozenset(flaky), moves)
        else:
            doubts.append(_sort_failing(before, after, frozenset(flaky), moves))
    for when, reading in (("before", before), ("after", after)):
        if reading is not None and reading.note:
            doubts.append(f"{when}: {reading.note}")
    return _changes(before, after, moves, doubts)


def mark_edited(tests: TestChanges | None, paths: Collection[str]) -> TestChanges | None:
    """`tests` with `edited` set if `paths`, the files of the change, hold each test that was mended."""
    if tests is None or not tests.mended:
        return tests
    return replace(tests, edited=all(any(_holds(path, name) for path in paths) for name in tests.mended))


def _holds(path: str, name: str) -> bool:
    """Whether a runner's `name` is of a test in `path`: it has the words of the path, or begins with the last of them;
    Go names the package."""
    folder, _, file = path.rpartition("/")
    if file.endswith("_test.go"):
        package = name.rpartition(".")[0]
        return package.endswith(f"/{folder}") if folder else package.count("/") < _FOLDERS_OF_A_MODULE
    words, of_name = _WORD.findall(path.rpartition(".")[0]), _WORD.findall(name)
    whole = any(of_name[start : start + len(words)] == words for start in range(len(of_name)))
    return bool(words) and (
        whole or any(of_name[: len(words) - start] == words[start:] for start in range(len(words)))
    )


def both_ways(first: Reading | None, again: Reading | None, *, passed: bool = False) -> frozenset[str]:
    """The tests that failed in the first of two runs on the same code and passed in the second; all that failed where
    the whole check `passed` then."""
    if first is None:
        return frozenset()
    if passed:
        return first.failed
    known = again.tests if again is not None else {}
    return frozenset(
        name for name in first.failed if known.get(name, Times()).passed and not known[name].failed
    )


def suspects(before: Reading | None, after: Reading | None) -> frozenset[str]:
    """The tests that fail now and are not known to have failed before."""
    if after is None:
        return frozenset()
    comparable = before is not None and before.source == after.source
    return after.failed - before.failed if before is not None and comparable else after.failed


def _passed(reading: Reading, name: str) -> bool:
    times = reading.tests.get(name, Times())
    return times.passed > 0 and not times.failed


def _incomparable(before: Reading | None, after: Reading | None) -> str:
    if before is None or after is None:
        side = "before" if before is None else "after"
        return f"no tests could be read of the run {side} the change, so none are compared"
    if not before.source or not after.source:
        return "the tests could not be read, so none are compared"
    if not before.named or not after.named:
        return "the tests are too many to be compared by name"
    if before.source != after.source:
        return (
            f"the names come from {before.source} before and from {after.source} after, so none are compared"
        )
    return ""


def _sort_all(
    before: Mapping[str, Times], after: Mapping[str, Times], flaky: Collection[str], moves: _Moves
) -> None:
    """Of one name, tests that did the same on both sides are paired first; a skipped one is one that did not run."""
    for name in sorted(before.keys() | after.keys()):
        if name in flaky:
            continue
        was, now = before.get(name, Times()), after.get(name, Times())
        passed = min(was.passed, now.passed)
        failed = min(was.failed, now.failed)
        was_good, was_bad = was.passed - passed, was.failed - failed
        now_good, now_bad = now.passed - passed, now.failed - failed
        worse, better = min(was_good, now_bad), min(was_bad, now_good)
        moves.broken += [name] * worse
        moves.mended += [name] * better
        came, went = now_good - better + now_bad - worse, was_good - worse + was_bad - better
        moves.new_failing += [name] * (now_bad - worse)
        moves.appeared += [name] * came
        moves.vanished += [name] * went


def _sort_failing(before: Reading, after: Reading, flaky: Collection[str], moves: _Moves) -> str:
    """What can be said where a runner names only what fails, and the words for what cannot."""
    new = after.failed - before.failed - frozenset(flaky)
    known = before.tests.keys() if before.whole else new
    moves.broken = sorted(name for name in new if name in known)
    if before.whole:
        moves.appeared = sorted(new - before.tests.keys())
        moves.new_failing = moves.appeared
    gone = sorted(before.failed - after.failed - frozenset(flaky))
    said = f"{after.source if not after.whole else before.source} names only tests that fail"
    if gone:
        named = ", ".join(gone[:_MOST_IN_NOTE]) + (
            f" and {len(gone) - _MOST_IN_NOTE} more" if len(gone) > _MOST_IN_NOTE else ""
        )
        said += f"; of those that failed before it does not name {named} any more: fixed, or not run"
    elif moves.broken and not before.whole:
        said += ", so one that is new may be among the broken ones"
    return said


def _changes(
    before: Reading | None, after: Reading | None, moves: _Moves, doubts: Sequence[str]
) -> TestChanges:
    names = ("broken", "mended", "appeared", "vanished", "flaky", "newly_flaky", "new_failing")
    all_of_them: dict[str, list[str]] = {name: getattr(moves, name) for name in names}
    shown = {name: tuple(dict.fromkeys(found))[:MOST_SHOWN] for name, found in all_of_them.items()}
    newly = dict.fromkeys((*shown["broken"], *shown["new_failing"]))
    reasons = after.reasons if after else {}
    source = next((one.source for one in (after, before) if one is not None and one.source), "")
    return TestChanges(
        before=before.counts if before else None,
        after=after.counts if after else None,
        **shown,  # type: ignore[arg-type]  # no name of a boolean field is in it
        counts=tuple((name, len(found)) for name, found in all_of_them.items() if found),
        source=source,
        note="; ".join(doubt for doubt in doubts if doubt)[:_NOTE_LIMIT],
        reasons=tuple((name, reasons[name]) for name in newly if name in reasons)[:MOST_EXPLAINED],
    )


def times_of(names: Mapping[str, Sequence[str]]) -> dict[str, Times]:
    """Each name with how often it passed, failed and was skipped, from the names of each state."""
    counted = [Counter(names.get(state, ())) for state in ("passed", "failed", "skipped")]
    every: dict[str, None] = {}
    for one in counted:
        every.update(dict.fromkeys(one))
    return {name: Times(*(one[name] for one in counted)) for name in every}
