"""Words for people, and what somebody asked for in words that stand alone."""

import pytest

from bot.contracts.formatting import count_of, cut_short, duration, exit_text, money, sentence
from bot.contracts.pulls import ReviewThread, Side
from bot.contracts.request import Actor, Request, Thread, Tier


@pytest.mark.parametrize(
    ("many", "words"), [(0, "0 turns"), (1, "1 turn"), (1204, "1,204 turns"), ([5, 5], "2 turns")]
)
def test_a_count_has_its_noun_in_the_right_number(many: int | list[int], words: str):
    assert count_of(many, "turn") == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (125.4, "2 min 5 s")]
)
def test_a_duration_is_in_seconds_or_minutes(seconds: float, words: str):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(0, "exit 0"), (3, "exit 3"), (-11, "killed by SIGSEGV"), (-35, "killed by signal 35")],
)
def test_a_programs_end_is_an_exit_or_a_signal(exit_code: int, words: str):
    assert exit_text(exit_code) == words


@pytest.mark.parametrize(
    ("usd", "places", "words"),
    [
        (0, 2, "$0.00"), (0.056, 2, "$0.06"), (0.004, 2, "under $0.01"), (0.005, 2, "$0.01"), (1204.5, 2, "$1,204.50"),
        (0.056, 4, "$0.0560"), (0.00004, 4, "under $0.0001"), (5, 4, "$5.0000"),
    ],
)  # fmt: skip
def test_money_has_one_form_whatever_its_places(usd: float, places: int, words: str):
    assert money(usd, places) == words


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("there is no folder /x", "There is no folder /x."),
        ("The run died.", "The run died."),
        ("is it so?", "Is it so?"),
        ("https://host answered 500", "https://host answered 500."),
        ("openai/x needs a key", "openai/x needs a key."),
        ("`a` is a link", "`a` is a link."),
        ("", ""),
    ],
)
def test_a_clause_becomes_a_sentence(clause: str, words: str):
    assert sentence(clause) == words


def test_a_long_line_is_cut_at_a_word_with_a_mark():
    assert cut_short("one two", 7) == "one two"
    assert cut_short("one two three", 10) == "one two …"
    assert cut_short("x" * 20, 10) == "x" * 8 + " …"


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
