"""The words for what was compared: each test is told once, the worst first."""

import pytest

from bot.contracts.evidence import Answer, CheckerComparison, TestChanges, ToolRun
from bot.evidence.labels import kinds_of, no_figures


def test_the_worst_is_told_first_and_what_is_not_named_is_counted():
    tests = TestChanges(
        appeared=("a", "c"),
        new_failing=("b",),
        vanished=("d",),
        counts=(("appeared", 7), ("new_failing", 2), ("vanished", 1)),
    )
    lines = [(kind.number, kind.words, list(kind.names), kind.grave) for kind in kinds_of(tests)]
    assert lines == [
        (2, "new and failing", ["b"], True),
        (1, "did not run", ["d"], False),
        (7, "appeared", ["a", "c"], False),
    ]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (Answer.COMPLETE, Answer.COMPLETE, ""),
        (Answer.COMPLETE, Answer.TIMED_OUT, "not known"),
        (Answer.TIMED_OUT, Answer.UNAVAILABLE, "not known"),
        (Answer.UNAVAILABLE, Answer.COMPLETE, "not compared"),
    ],
)
def test_only_a_checker_that_answered_twice_has_figures(before: Answer, after: Answer, words: str):
    assert no_figures(CheckerComparison("ty", "1", "ty check", ToolRun(before), ToolRun(after))) == words
