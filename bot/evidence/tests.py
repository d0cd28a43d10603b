"""Compare tests by name before and after a change: broken, mended, appeared and vanished ones.

A name may stand for several tests, so they are counted. A test that is absent after the change did not run, which does
not mean that it is fixed. Some runners name only failing tests.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from bot.contracts.evidence import TestChanges, TestCounts
from bot.contracts.formatting import first_of
from bot.evidence.failing_checks import MOST_EXPLAINED

MOST_NAMES = 50
_MOST_IN_NOTE = 5
_NOTE_LIMIT = 1_000
_WORD = re.compile(r"\w+")
# `github.com/owner/name`.
_MODULE_PATH_PARTS = 3


class NameCounts(NamedTuple):
    """How often the tests of one name passed, failed (or had errors) and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class SuiteResult(NamedTuple):
    """The tests of one run of a check. `whole`: passing tests are known too. `named`: they are not too many for names.
    `counts` is `None` if unknown, `source` empty if nothing could be read. `reasons` are messages of failing tests."""

    source: str
    tests: Mapping[str, NameCounts] = {}
    counts: TestCounts | None = None
    whole: bool = True
    named: bool = True
    note: str = ""
    reasons: Mapping[str, str] = {}

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(name for name, times in self.tests.items() if times.failed)

    def passes(self, name: str) -> bool:
        counts = self.tests.get(name, NameCounts())
        return counts.passed > 0 and not counts.failed


_KINDS = ("broken", "mended", "appeared", "vanished", "flaky", "newly_flaky", "new_failing")
_Changes = dict[str, list[str]]
"""Names by kind of change, one entry per test."""


def compare_tests(
    before: SuiteResult | None,
    after: SuiteResult | None,
    flaky: Collection[str] = (),
    note: str = "",
    confirmed: Collection[str] | None = None,
) -> TestChanges | None:
    """Compare the tests of two runs; `None` if neither has any. `flaky` tests both failed and passed on the same code:
    they are neither broken nor mended. Only tests in `confirmed` are mended, `None` for any. `note` is added."""
    if before is None and after is None:
        return None
    changes, notes = _Changes({kind: [] for kind in _KINDS}, flaky=sorted(flaky)), [note]
    if reason := _incomparable(before, after):
        notes.append(reason)
    elif before is not None and after is not None:
        changes["newly_flaky"] = [name for name in changes["flaky"] if before.passes(name)]
        if before.whole and after.whole:
            _sort_changes(before, after, frozenset(flaky), changes)
            if confirmed is not None:
                changes["mended"] = [name for name in changes["mended"] if name in confirmed]
        else:
            notes.append(_sort_failing(before, after, frozenset(flaky), changes))
    for when, report in (("before", before), ("after", after)):
        if report is not None and report.note:
            notes.append(f"{when}: {report.note}")
    limited = {kind: tuple(dict.fromkeys(names))[:MOST_NAMES] for kind, names in changes.items()}
    failing = dict.fromkeys((*limited["broken"], *limited["new_failing"]))
    reasons = after.reasons if after else {}
    return TestChanges(
        before=before.counts if before else None,
        after=after.counts if after else None,
        **limited,
        counts=tuple((kind, len(names)) for kind, names in changes.items() if names),
        source=next((one.source for one in (after, before) if one is not None and one.source), ""),
        note="; ".join(filter(None, notes))[:_NOTE_LIMIT],
        reasons=tuple((name, reasons[name]) for name in failing if name in reasons)[:MOST_EXPLAINED],
    )


def contains_test(path: str, name: str) -> bool:
    """Whether `name` is a test in `path`: it contains its words, or starts with the last of them. Go names the
    package."""
    folder, _, file = path.rpartition("/")
    if file.endswith("_test.go"):
        package = name.rpartition(".")[0]
        return package.endswith(f"/{folder}") if folder else package.count("/") < _MODULE_PATH_PARTS
    words, in_name = _WORD.findall(path.rpartition(".")[0]), _WORD.findall(name)
    whole = any(in_name[start : start + len(words)] == words for start in range(len(in_name)))
    ends = any(in_name[: len(words) - start] == words[start:] for start in range(len(words)))
    return bool(words) and (whole or ends)


def flaky_tests(
    first: SuiteResult | None, second: SuiteResult | None, *, passed: bool = False
) -> frozenset[str]:
    """Return the tests that failed in the first of two runs on the same code and passed in the second; all failed ones
    if the whole second run `passed`."""
    failed = first.failed if first else frozenset()
    return frozenset(name for name in failed if passed or (second is not None and second.passes(name)))


def newly_failed(before: SuiteResult | None, after: SuiteResult | None) -> frozenset[str]:
    """Return the tests that fail now and are not known to have failed before."""
    if after is None or before is None or before.source != after.source:
        return after.failed if after else frozenset()
    return after.failed - before.failed


def _incomparable(before: SuiteResult | None, after: SuiteResult | None) -> str:
    if before is None or after is None:
        side = "before" if before is None else "after"
        return f"no tests could be read of the run {side} the change, so none are compared"
    if not before.source or not after.source:
        return "the tests could not be read, so none are compared"
    if not before.named or not after.named:
        return "the tests are too many to be compared by name"
    if before.source != after.source:
        sources = f"{before.source} before and from {after.source} after"
        return f"the names come from {sources}, so none are compared"
    return ""


def _sort_changes(before: SuiteResult, after: SuiteResult, flaky: Collection[str], changes: _Changes) -> None:
    """Pair tests of one name with the same result first. A skipped test counts as one that did not run."""

    def count(suite: SuiteResult, state: Literal["passed", "failed"]) -> Counter[str]:
        return Counter({name: getattr(one, state) for name, one in suite.tests.items() if name not in flaky})

    passed, failed = count(before, "passed"), count(before, "failed")
    lost_passes, lost_failures = passed - count(after, "passed"), failed - count(after, "failed")
    new_passes, new_failures = count(after, "passed") - passed, count(after, "failed") - failed
    worse, better = lost_passes & new_failures, lost_failures & new_passes
    changes["broken"], changes["mended"] = sorted(worse.elements()), sorted(better.elements())
    changes["new_failing"] = sorted((new_failures - worse).elements())
    changes["appeared"] = sorted((new_passes - better).elements())
    changes["vanished"] = sorted((lost_passes - worse + (lost_failures - better)).elements())


def _sort_failing(before: SuiteResult, after: SuiteResult, flaky: frozenset[str], changes: _Changes) -> str:
    """Compare runs if a runner names only failing tests; return a note about the limits of that."""
    new = after.failed - before.failed - flaky
    known_names = before.tests.keys() if before.whole else new
    changes["broken"] = sorted(name for name in new if name in known_names)
    if before.whole:
        changes["new_failing"] = sorted(new - before.tests.keys())
    no_longer_failing = sorted(before.failed - after.failed - flaky)
    note = f"{after.source if not after.whole else before.source} names only tests that fail"
    if no_longer_failing:
        named = first_of(no_longer_failing, _MOST_IN_NOTE)
        note += f"; of those that failed before it does not name {named} any more: fixed, or not run"
    elif changes["broken"] and not before.whole:
        note += ", so one that is new may be among the broken ones"
    return note


def count_names(names: Mapping[str, Sequence[str]]) -> dict[str, NameCounts]:
    """Return the counts of each name, from the names of each state."""
    counters = [Counter(names.get(state, ())) for state in ("passed", "failed", "skipped")]
    every_name = dict.fromkeys(chain.from_iterable(counters))
    return {name: NameCounts(*(counter[name] for counter in counters)) for name in every_name}
