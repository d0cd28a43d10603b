"""The words for what was compared: each test is told once, the worst first."""

from __future__ import annotations

import pytest

from bot.contracts.evidence import Answer, CheckerComparison, TestChanges, ToolRun
from bot.evidence.labels import kinds_of, no_figures


def test_what_is_new_and_fails_is_told_before_what_passes_and_not_twice() -> None:
    tests = TestChanges(
        appeared=("a", "b", "c"),
        new_failing=("b",),
        vanished=("d",),
        counts=(("appeared", 9), ("new_failing", 2), ("vanished", 1)),
    )
    lines = [(kind.number, kind.words, list(kind.names), kind.grave) for kind in kinds_of(tests)]
    assert lines == [
        (2, "new and failing", ["b"], True),
        (1, "did not run", ["d"], False),
        (7, "appeared", ["a", "c"], False),
    ]


def test_where_all_that_is_new_fails_nothing_else_appeared() -> None:
    kinds = tuple(f"t{number}" for number in range(50))
    tests = TestChanges(
        appeared=kinds, new_failing=kinds[10:], counts=(("appeared", 60), ("new_failing", 60))
    )
    assert [(kind.number, kind.field) for kind in kinds_of(tests)] == [(60, "new_failing")]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (Answer.COMPLETE, Answer.COMPLETE, ""),
        (Answer.COMPLETE, Answer.TIMED_OUT, "not known"),
        (Answer.TIMED_OUT, Answer.UNAVAILABLE, "not known"),
        (Answer.UNAVAILABLE, Answer.COMPLETE, "not compared"),
    ],
)
def test_only_a_checker_that_answered_twice_has_figures(before: Answer, after: Answer, words: str) -> None:
    assert no_figures(CheckerComparison("ty", "1", "ty check", ToolRun(before), ToolRun(after))) == words
