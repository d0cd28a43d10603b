"""What the page is put together from: rows of diffs, colours, pictures, plots, words."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.messages import Image, Usage
from bot.evidence.pieces import Piece
from bot.report import page, plots
from bot.report.calls import Field, fields_of, subject_of
from bot.report.diffs import MOST_ROWS, Colours, diff_of
from bot.report.page import Pictures
from bot.report.text import seconds_on_axis, tokens, usd
from bot.report.timeline import Turn
from tests.attachments.pictures import plain

DIFF = '''--- a/x.py
+++ b/x.py
@@ -3,4 +3,4 @@ class X:
     def one(self):
-        """First
+        """The first
         of two."""
+        return 1
\\ No newline at end of file
@@ -40,2 +41,1 @@
--- no header
 same
'''


def test_the_rows_of_a_diff_have_their_numbers_and_kinds() -> None:
    rows = diff_of(DIFF, "x.txt", Colours()).rows
    found = [
        (row.kind, row.old, row.new, row.sign + "".join(piece.text for piece in row.pieces)) for row in rows
    ]
    assert found == [
        ("hunk", None, None, "@@ -3,4 +3,4 @@ class X:"),
        ("same", 3, 3, "     def one(self):"),
        ("del", 4, None, '-        """First'),
        ("add", None, 4, '+        """The first'),
        ("same", 5, 5, '         of two."""'),
        ("add", None, 6, "+        return 1"),
        ("head", None, None, "\\ No newline at end of file"),
        ("hunk", None, None, "@@ -40,2 +41,1 @@"),
        ("del", 40, None, "--- no header"),
        ("same", 41, 41, " same"),
    ]  # fmt: skip


def test_a_string_over_several_lines_is_coloured_as_one_on_both_sides() -> None:
    rows = diff_of(DIFF, "x.py", Colours()).rows
    for number in (2, 3, 4):
        assert rows[number].pieces[-1].kind == "s"
    assert Piece("k", "return ") in rows[5].pieces


def test_a_very_long_diff_says_how_much_of_it_is_left_out() -> None:
    diff = diff_of("@@ -1,0 +1,9000 @@\n" + "+x\n" * 9_000, "x", Colours())
    assert (len(diff.rows), diff.left_out) == (MOST_ROWS, 9_001 - MOST_ROWS)


@given(st.text(st.sampled_from("+-@ \\ab\n\"'#\u2028\r1,"), max_size=200))
def test_whatever_claims_to_be_a_diff_is_shown_whole(text: str) -> None:
    """All but the lines that name files, in order, and nothing besides."""
    shown = [row.sign + "".join(p.text for p in row.pieces) for row in diff_of(text, "x.py", Colours()).rows]
    wanted = [row for row in text.removesuffix("\n").split("\n") if row]
    heads = [row for row in wanted if row.startswith(("--- ", "+++ "))]
    assert [row for row in shown if row.strip() and row not in heads] == [
        row for row in wanted if row.strip() and row not in heads
    ]


def test_beyond_its_budget_a_page_is_not_coloured() -> None:
    colours = Colours(budget=12)
    assert colours.lines("a.py", "return 1")[0][0].kind == "k"
    assert colours.lines("a.py", "return 2") == [(Piece("", "return 2"),)]
    assert Colours().lines("a.py", "return " + "1" * 500)[0][0].kind == ""


def test_a_text_that_a_lexer_takes_forever_for_costs_a_page_no_more_than_its_seconds() -> None:
    colours = Colours(seconds=0.05)
    began = time.thread_time()
    rows = ["a " * 16] * 600
    assert colours.lines("A.java", "\n".join(rows)) == [(Piece("", row),) for row in rows]
    assert colours.lines("a.py", "return 1") == [(Piece("", "return 1"),)]
    assert time.thread_time() - began < 5


def test_only_pictures_that_are_what_they_claim_are_shown() -> None:
    show = Pictures().address
    assert show(Image("image/png", plain(4, 4))).startswith("data:image/png;base64,iVBOR")
    for media_type, data in (
        ("image/svg+xml", b"<svg onload=alert(1)>"),
        ("text/html", b"<script>"),
        ("image/png", b"<script>"),
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(page.LARGEST)),
    ):
        assert show(Image(media_type, data)) == ""
    picture, show = Image("image/gif", b"GIF89a" + bytes(94)), Pictures(budget=250).address
    assert [bool(show(picture)) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(0, [0, 1]), (9, [0, 2, 4, 6, 8, 10]), (100, [0, 20, 40, 60, 80, 100]),
     (0.0021, [0, 0.0005, 0.001, 0.0015, 0.002, 0.0025]),
     (1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (3_100_000, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000])],
)  # fmt: skip
def test_axes_have_round_figures(most: float, ticks: list[float]) -> None:
    assert plots.steps(most) == ticks


def point(turn: int, held: int = 1_000) -> Turn:
    return Turn(
        turn, 0.0, usage=Usage(held - held // 2, held // 2, 0, 100), cost=0.01, answered=1.0, ended=3.0
    )


def test_of_very_many_turns_the_largest_are_plotted() -> None:
    points = [point(turn, 90_000 if turn == 777 else 1_000) for turn in range(1, 2_001)]
    held = plots.plots_of(points, 100_000)[0]
    assert len({bar.x for bar in held.bars}) <= plots.MOST_BARS
    largest = "Turn 777: from cache 45k, read without the cache 45k, written 100"
    assert largest in [bar.description for bar in held.bars]
    assert held.limit is not None
    assert held.limit.label == "window, 100k"


def test_bars_stay_inside_their_plot() -> None:
    for plot in plots.plots_of([point(1), point(2, 0), point(3, 10**9)], 200_000):
        for bar in plot.bars:
            assert plot.left <= bar.x <= plot.right
            assert plot.top <= bar.y <= plot.bottom
            assert bar.height >= 0
    assert plots.plots_of([], 200_000) == []


def test_figures_are_short() -> None:
    assert [seconds_on_axis(one) for one in (0.25, 2.5, 300)] == ["0.25 s", "2.5 s", "5 min 0 s"]
    assert [tokens(number) for number in (0, 950, 12_345, 1_500_000)] == ["0", "950", "12.3k", "1.5M"]
    assert [usd(amount) for amount in (0, 0.0123, 1.5, 1_234.5)] == [
        "$0.0000",
        "$0.0123",
        "$1.50",
        "$1,234.50",
    ]


def test_arguments_are_read_as_fields_and_what_is_no_object_as_it_is() -> None:
    assert fields_of('{"path": "a", "lines": [1, 2]}') == (Field("path", "a"), Field("lines", "[1, 2]"))
    for odd in ("[1]", "{broken", "[" * 100_000, "7"):
        assert fields_of(odd) == (Field("", odd),)
    assert fields_of("") == ()


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"old": "x", "path": "a.py"}, "a.py"),
        ({"command": "make\nmake test"}, "make …"),
        ({"other": "thing"}, "thing"),
        ({"items": [{"text": "Look", "status": "pending"}]}, ""),
        ({}, ""),
    ],
)
def test_a_call_has_a_subject(arguments: dict[str, object], subject: str) -> None:
    assert subject_of(fields_of(json.dumps(arguments))) == subject
