"""What a reviewer is told of characters in a change that nobody sees."""

import time

import pytest

from bot.gate.suspicious_additions import brings_in_unseen, unseen
from bot.gate.weaker_tests import Line
from tests.support.changed_lines import changed_lines


def note(before: str, after: str) -> str:
    return unseen(*changed_lines(before, after))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("if admin: # \u202e check \u2066", "U+202E (line 2), U+2066 (line 2)"),
        ("const { a,\u3164 } = body", "U+3164 (line 2)"),
        ("x = '\ufe00\ufe01'", "U+FE00 (line 2), U+FE01 (line 2)"),
        ("x = '\U000e0141'", "U+E0141 (line 2)"),
        ("x = '\U000e0041'", "U+E0041 (line 2)"),
        ("ad\u200dmin = 1", "U+200D (line 2)"),
        ("ad\u200bmin = 1", "U+200B (line 2)"),
        ("x = '\U0001f600\ufe0f\u200d\ufe0f\u200d'", "U+200D (line 2), U+FE0F (line 2)"),
        ("echo a\rb", "U+000D (line 2)"),
        ("x = '\x1b[2K'", "U+001B (line 2)"),
    ],
)
def test_a55_what_nobody_sees_is_named_with_its_line(text: str, name: str):
    assert note("one\nthree", f"one\n{text}\nthree") == f"adds characters that do not show: {name}"
    assert brings_in_unseen("one", text)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир",
        "می\u200cخواهم",  # a joiner between letters that it belongs to
        "क्\u200dष",
        "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3",
        "a\tb\r",
        "\f",
        "日本語",
        "caf\u0065\u0301",
    ],
)
def test_what_shows_is_not(text: str):
    assert note("one", f"one\n{text}") == ""
    assert not brings_in_unseen("one", text)


def test_what_was_there_and_only_moved_is_not():
    assert note("a\u200bb\nc", "c\na\u200bb") == ""
    assert note("a\u200bb", "a\u200bb\u200b").endswith("U+200B (line 1)")
    assert note("", "\ufeffa = 1") == ""  # which many an editor begins a file with
    assert note("", "a\n\ufeffb").endswith("U+FEFF (line 2)")


def test_many_are_counted():
    lines = "\n".join("\u200b\u202a\u202b\u202c\u202d\u202e" for _ in range(7))
    assert note("", lines).endswith("U+202C (lines 1, 2, 3, 4, 5 and 2 more) and 2 more")


def test_bytes_that_are_no_text_are_no_reason_to_fail():
    assert unseen([], [Line(1, b"caf\xe9 \xff\xfe")]) == ""


def test_long_lines_take_no_time_that_anybody_notices():
    began = time.perf_counter()
    unseen([], [Line(1, "\u3042\u200b".encode() * 400_000), Line(2, b"x" * 2_000_000)])
    assert time.perf_counter() - began < 5
