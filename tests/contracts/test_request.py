"""What somebody asked for in words that stand alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.request import Actor, Request, Thread, Tier

ISSUE = Request(
    verb="fix",
    instruction=None,
    actor=Actor("ada", 1, Tier.MAINTAINER),
    repository="acme/calc",
    base_ref="main",
    clone_url="",
    thread=Thread(7, "Sum is wrong", "", "tom", "https://github.example/acme/calc/issues/7"),
)
LINES = ReviewThread(1, "calc/sum.py", 12, 10, Side.RIGHT, "@@ -1 +1 @@", ())


def test_no_instruction_under_an_issue_is_the_issue() -> None:
    assert ISSUE.full_instruction == "Fix this issue."


def test_words_of_ones_own_stay() -> None:
    assert replace(ISSUE, instruction="this issue, but only on Windows", anchor=LINES).full_instruction == (
        "this issue, but only on Windows"
    )


def test_no_instruction_in_a_review_comment_is_its_lines() -> None:
    assert replace(ISSUE, verb="explain", anchor=LINES).full_instruction == (
        "Explain what this review thread is about: lines 10-12 of calc/sum.py."
    )


PLACES = {
    "lines 10-12 of calc/sum.py": LINES,
    "line 12 of calc/sum.py": replace(LINES, start_line=0),
    "line 12 of calc/sum.py before the change": replace(LINES, start_line=12, side=Side.LEFT),
    "calc/sum.py": replace(LINES, line=0, start_line=0),
    "line 1 of a?# b.py": replace(LINES, path="a\n# b.py", line=1, start_line=0),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_thread_knows_its_place_in_words(place: str) -> None:
    assert PLACES[place].position == place
