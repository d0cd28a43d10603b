"""The words for what was compared: each test is told once, the worst first."""

import pytest

from bot.contracts.evidence import Answer, CheckerComparison, ToolRun
from bot.evidence.labels import no_figures


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
