"""Checks and checkers before and after the change as rows for the page: from the journal's `Evidence` or, without that
line (an older or a killed run), from the records of its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bot.contracts.evidence import Answer, CheckerComparison, Coverage, Problem, Severity, TestChanges
from bot.contracts.journal import Evidence
from bot.contracts.outcome import CheckRun, CheckState, TestsAsTheyWere
from bot.evidence.labels import as_they_were, kinds_as_they_were, kinds_of, no_figures, number_of
from bot.report.timeline import CheckRow, Timeline

MOST_SHOWN = 200
"""The most entries of a list of problems or tests."""

_GOOD = {CheckState.PASSED: "good", CheckState.FAILED: "bad", CheckState.TIMED_OUT: "bad"}
# Explanations of the labels in `bot/evidence/labels.py`.
_MEANING = {
    "broken": "passed before and fail now",
    "new_failing": "did not run before",
    "vanished": "ran before, and not any more",
    "flaky": "failed and passed on the same code",
    "mended": "failed before and pass now",
    "appeared": "did not run before",
}
_MEANING_AS_THEY_WERE = {
    "failed": "Passed before, and fail",
    "expectation_changed": "Fail, and the change edits what they expect",
    "unconfirmed": "Fail as before, and pass only as the change has them",
    "not_comparable": "Did not compile or run, so not comparable",
}
_NEWLY_FLAKY = "Of these, passed before the change"


@dataclass(frozen=True, slots=True)
class TestList:
    """Names with a label; `more` is the number of those that are not shown."""

    kind: str
    what: str
    count: int
    names: Sequence[str]
    grave: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def more(self) -> int:
        return max(0, self.count - len(self.names))


class Check(NamedTuple):
    """`before` and `after` are `None` if unknown."""

    name: str
    command: str
    before: CheckRun | None
    after: CheckRun | None
    detected: bool = False
    flaky: bool = False
    tests: TestChanges | None = None
    related: str = ""
    scope_note: str = ""
    as_they_were: TestsAsTheyWere | None = None

    @property
    def headline_as_they_were(self) -> str:
        return as_they_were(self.as_they_were, 0) if self.as_they_were else ""

    @property
    def listed_as_they_were(self) -> list[TestList]:
        kinds = kinds_as_they_were(self.as_they_were) if self.as_they_were else ()
        return [
            TestList(
                kind.field,
                _MEANING_AS_THEY_WERE[kind.field],
                kind.number,
                kind.names[:MOST_SHOWN],
                kind.field == "failed",
            )
            for kind in kinds
        ]

    @property
    def listed(self) -> list[TestList]:
        return test_lists(self.tests) if self.tests else []


class Checker(NamedTuple):
    compared: CheckerComparison

    @property
    def new(self) -> Sequence[Problem]:
        return worst_first(self.compared.new)

    @property
    def fixed(self) -> Sequence[Problem]:
        return worst_first(self.compared.fixed)

    @property
    def uncovered(self) -> Sequence[Problem]:
        return worst_first(self.compared.uncovered)

    @property
    def verdict(self) -> str:
        """The label in place of figures."""
        return no_figures(self.compared).capitalize()

    @property
    def why_not(self) -> str:
        """Why there are no figures, or empty."""
        one = self.compared
        sides = ((side, run) for side, run in (("before", one.before), ("after", one.after)))
        clauses = [
            f"{side}: {answer_word(run.answer)}" for side, run in sides if run.answer is not Answer.COMPLETE
        ]
        return "; ".join(clauses)


def checks_of(timeline: Timeline) -> list[Check]:
    if timeline.evidence is not None and timeline.evidence.checks:
        return [
            Check(
                one.name,
                one.command,
                one.before,
                one.after,
                one.detected,
                one.flaky,
                one.tests,
                one.related,
                one.scope_note,
                one.as_they_were,
            )
            for one in timeline.evidence.checks
        ]
    return [_on_the_way(row) for row in timeline.checks.values()]


def _on_the_way(row: CheckRow) -> Check:
    """Return a check from its own records."""
    before, after = row.before, row.after
    counted = [side.tests if side else None for side in (before, after)]
    return Check(
        row.name,
        row.command,
        before.run if before else None,
        after.run if after else None,
        any(side.detected for side in (before, after) if side),
        row.flaky,
        TestChanges(counted[0], counted[1]) if any(counted) else None,
    )


def checkers_of(evidence: Evidence | None) -> list[Checker]:
    return [Checker(one) for one in evidence.diagnostics] if evidence else []


def coverage_of(evidence: Evidence | None) -> Coverage | None:
    return evidence.coverage if evidence else None


def test_lists(tests: TestChanges) -> list[TestList]:
    lists = []
    for kind in kinds_of(tests):
        reasons = dict(tests.reasons) if kind.grave else {}
        what = f"{kind.words.capitalize()} ({_MEANING[kind.field]})"
        lists.append(TestList(kind.field, what, kind.number, kind.names[:MOST_SHOWN], kind.grave, reasons))
        if kind.field == "flaky" and (number := number_of(tests, "newly_flaky")):
            lists.append(TestList("newly_flaky", _NEWLY_FLAKY, number, tests.newly_flaky[:MOST_SHOWN]))
    return lists


def worst_first(problems: Sequence[Problem]) -> Sequence[Problem]:
    ranked = sorted(problems, key=lambda one: (one.severity is not Severity.ERROR, one.path, one.line))
    return ranked[:MOST_SHOWN]


def check_class(run: CheckRun) -> str:
    return _GOOD.get(run.state, "open")


def answer_word(answer: str) -> str:
    """Return the label of a checker's answer. Only `complete` says anything about the code."""
    return {
        "complete": "answered",
        "timed_out": "did not answer in time",
        "unavailable": "not available",
    }.get(answer, answer)


def missed_lines(missed: Sequence[int]) -> str:
    """Return ranges of lines such as `3-5, 9`."""
    ranges: list[list[int]] = []
    for line in sorted(set(missed)):
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ranges[:MOST_SHOWN]]
    return ", ".join(words) + (" …" if len(ranges) > MOST_SHOWN else "")
