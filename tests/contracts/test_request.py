"""What somebody asked for in words that stand alone."""

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


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ISSUE, "Fix this issue."),
        (ISSUE._replace(instruction="this, but on Windows", anchor=LINES), "this, but on Windows"),
        (
            ISSUE._replace(verb="explain", anchor=LINES),
            "Explain what this review thread is about: lines 10-12 of calc/sum.py.",
        ),
    ],
)
def test_the_instruction_stands_alone(request_: Request, words: str):
    assert request_.full_instruction == words


PLACES = {
    "lines 10-12 of calc/sum.py": LINES,
    "line 12 of calc/sum.py": LINES._replace(start_line=0),
    "line 12 of calc/sum.py before the change": LINES._replace(start_line=12, side=Side.LEFT),
    "calc/sum.py": LINES._replace(line=0, start_line=0),
    "line 1 of a?# b.py": LINES._replace(path="a\n# b.py", line=1, start_line=0),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_thread_knows_its_place_in_words(place: str):
    assert PLACES[place].position == place
