"""What the page is put together from: rows of diffs, pictures, words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.messages import Image
from bot.report import page
from bot.report.page import pictures
from bot.report.text import MOST_ROWS, diff_of, usd
from bot.report.timeline import Field, fields_of, subject_of
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


def test_the_rows_of_a_diff_have_their_numbers_and_kinds():
    found = [(row.kind, row.old, row.new, row.sign + row.text) for row in diff_of(DIFF).rows]
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
    ]


def test_a_very_long_diff_says_how_much_of_it_is_left_out():
    diff = diff_of("@@ -1,0 +1,9000 @@\n" + "+x\n" * 9_000)
    assert (len(diff.rows), diff.left_out) == (MOST_ROWS, 9_001 - MOST_ROWS)


@given(st.text(st.sampled_from("+-@ \\ab\n\"'#\u2028\r1,"), max_size=200))
def test_whatever_claims_to_be_a_diff_is_shown_whole(text: str):
    """All but the lines that name files, in order, and nothing besides."""
    shown = [row.sign + row.text for row in diff_of(text).rows]
    wanted = [row for row in text.removesuffix("\n").split("\n") if row]
    heads = [row for row in wanted if row.startswith(("--- ", "+++ "))]
    assert [row for row in shown if row.strip() and row not in heads] == [
        row for row in wanted if row.strip() and row not in heads
    ]


def test_only_pictures_of_pixels_are_shown_and_only_so_many():
    show = pictures()
    assert show(Image("image/png", plain(4, 4))).startswith("data:image/png;base64,iVBOR")
    for media_type, data in (
        ("image/svg+xml", b"<svg onload=alert(1)>"),
        ("text/html", b"<script>"),
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(page.LARGEST)),
    ):
        assert show(Image(media_type, data)) == ""
    picture, show = Image("image/gif", b"GIF89a" + bytes(94)), pictures(250)
    assert [bool(show(picture)) for _ in range(3)] == [True, True, False]


def test_figures_are_short():
    amounts = "$0.0000", "$0.0123", "$1.50", "$1,234.50"
    assert tuple(usd(amount) for amount in (0, 0.0123, 1.5, 1_234.5)) == amounts


def test_arguments_are_read_as_fields_and_what_is_no_object_as_it_is():
    assert fields_of('{"path": "a", "lines": [1, 2]}') == (Field("path", "a"), Field("lines", "[1, 2]"))
    for odd in ("[1]", "{broken", "[" * 100_000, "7"):
        assert fields_of(odd) == (Field("", odd),)
    assert fields_of("") == ()


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"old": "x", "path": "a.py"}, "a.py"),
        ({"command": "make\nmake test"}, "make make test"),
        ({"patch": "*** Update File: a.py\n@@\n-a\n+b\n*** Add File: b.py\n+c"}, "a.py, b.py"),
        ({"other": "thing"}, "thing"),
        ({"items": [{"text": "Look", "status": "pending"}]}, ""),
        ({}, ""),
    ],
)
def test_a_call_has_a_subject(arguments: dict[str, object], subject: str):
    assert subject_of(fields_of(json.dumps(arguments))) == subject
