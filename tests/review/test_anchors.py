"""Where a finding may stand, and where it is found again."""

import pytest

from bot.contracts.pulls import Finding, Severity, Side
from bot.review.anchors import LARGEST_BYTES, LARGEST_LINES, advice, anchor
from bot.review.diff import Diff, FileDiff, FileStatus, parse_diff

# Right: 10-15 and 40-43. Left: 10-15 and 40-42, of which 12 and 13 were removed.
DIFF = parse_diff(
    b"""diff --git a/old.py b/new.py
similarity index 90%
rename from old.py
rename to new.py
index 1..2 100644
--- a/old.py
+++ b/new.py
@@ -10,6 +10,6 @@ def f():
 ten
 eleven
-twelve
-thirteen
+TWELVE
+same
 fourteen
 fifteen
@@ -40,3 +40,4 @@
 forty
+same
 forty one
 forty two
diff --git a/gone.py b/gone.py
deleted file mode 100644
index 1..0
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-one
-two
diff --git a/picture.png b/picture.png
index 1..2 100644
Binary files a/picture.png and b/picture.png differ
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/crlf.txt b/crlf.txt
index 1..2 100644
--- a/crlf.txt
+++ b/crlf.txt
@@ -1,2 +1,2 @@
-a\r
+b\r
 c\r
"""
)


def finding(line: int, start_line: int = 0, **fields: object) -> Finding:
    made = Finding("new.py", line, Severity.MAJOR, "Title", "Body", start_line)
    return made._replace(**fields)  # type: ignore[arg-type]


def where(anchored: Finding | str) -> tuple[int, int] | str:
    return anchored if isinstance(anchored, str) else (anchored.start_line, anchored.line)


NOT_IN = "its lines are not in the diff"


@pytest.mark.parametrize(
    ("line", "start_line", "side", "expected"),
    [
        (10, 0, Side.RIGHT, (0, 10)),
        (15, 0, Side.RIGHT, (0, 15)),
        (15, 10, Side.RIGHT, (10, 15)),
        (12, 12, Side.RIGHT, (0, 12)),
        (9, 0, Side.RIGHT, NOT_IN),
        (16, 0, Side.RIGHT, NOT_IN),
        (16, 12, Side.RIGHT, NOT_IN),
        (12, 9, Side.RIGHT, NOT_IN),
        (41, 14, Side.RIGHT, NOT_IN),
        (10, 12, Side.RIGHT, "its lines are in the wrong order"),
        (12, -1, Side.RIGHT, "its lines are in the wrong order"),
        (0, 0, Side.RIGHT, "it is about the file as a whole"),
        (-3, 0, Side.RIGHT, "it is about the file as a whole"),
        (12, 0, Side.LEFT, (0, 12)),
        (13, 12, Side.LEFT, (12, 13)),
        (11, 0, Side.LEFT, NOT_IN),
        (14, 12, Side.LEFT, NOT_IN),
        (43, 0, Side.RIGHT, (0, 43)),
        (43, 0, Side.LEFT, NOT_IN),
    ],
)
def test_only_lines_of_one_hunk_are_taken(line: int, start_line: int, side: Side, expected: object):
    assert where(anchor(finding(line, start_line, side=side), DIFF)) == expected


@pytest.mark.parametrize(
    ("path", "side", "expected"),
    [
        ("elsewhere.py", Side.RIGHT, "the file is not in the diff"),
        ("picture.png", Side.RIGHT, "the file is binary"),
        ("run", Side.RIGHT, "the diff shows no lines of the file"),
        ("gone.py", Side.RIGHT, NOT_IN),
        ("gone.py", Side.LEFT, (0, 1)),
    ],
)
def test_files_without_lines_take_none(path: str, side: Side, expected: object):
    assert where(anchor(finding(1, path=path, side=side), DIFF)) == expected


def test_a_renamed_file_may_be_named_as_it_was():
    anchored = anchor(finding(12, path="old.py"), DIFF)
    assert isinstance(anchored, Finding)
    assert (anchored.path, anchored.text) == ("new.py", "TWELVE")


def test_carriage_returns_are_no_part_of_the_text():
    for text in ("", "b\nc", "b\r\nc\r"):
        anchored = anchor(finding(2, 1, path="crlf.txt", text=text), DIFF)
        assert isinstance(anchored, Finding)
        assert anchored.text == "b\nc"


@pytest.mark.parametrize(
    ("line", "start_line", "text", "expected"),
    [
        (11, 0, "TWELVE", (0, 12)),
        (300, 0, "TWELVE", (0, 12)),
        (11, 10, "TWELVE\nsame  ", (12, 13)),
        (11, 0, "TWELVE\nsame", (12, 13)),
        (14, 0, "same", (0, 13)),
        (39, 0, "same", (0, 41)),
        (27, 0, "same", "its lines are in the diff twice, equally near"),
        (13, 0, "same", (0, 13)),
        (13, 0, "twelve", NOT_IN),
        (13, 0, "WELVE", NOT_IN),
        (13, 0, "fifteen\nforty", NOT_IN),
        (99, 0, "  ", NOT_IN),
    ],
)
def test_moved_lines_are_found_by_their_text(line: int, start_line: int, text: str, expected: object):
    assert where(anchor(finding(line, start_line, text=text), DIFF)) == expected


def test_on_the_left_only_removed_lines_are_found_again():
    assert where(anchor(finding(40, text="twelve\nthirteen", side=Side.LEFT), DIFF)) == (12, 13)
    assert where(anchor(finding(40, text="fourteen", side=Side.LEFT), DIFF)) == NOT_IN


@pytest.mark.parametrize("lines", [LARGEST_LINES + 1, 10])
def test_what_github_does_not_show_takes_no_comment(lines: int):
    width = LARGEST_BYTES // lines + 1 if lines == 10 else 5
    body = b"".join(b"+" + b"x" * width + b"\n" for _ in range(lines))
    head = b"diff --git a/f b/f\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,%d @@\n"
    diff = parse_diff(head % lines + body)
    assert where(anchor(finding(1, path="f"), diff)) == "the file's diff is too large for GitHub to show"


def test_a_name_that_is_no_utf8_takes_no_comment():
    hunks = DIFF.files[0].hunks
    diff = Diff((FileDiff("\udcff", "\udcff", FileStatus.MODIFIED, hunks),))
    assert where(anchor(finding(12, path="\udcff"), diff)) == "the file's name is not UTF-8"


@pytest.mark.parametrize(
    ("path", "line", "side", "told"),
    [
        ("new.py", 20, Side.RIGHT, "the side RIGHT of new.py the nearest lines are 10-15, 40-43; both ends"),
        ("new.py", 20, Side.LEFT, "On the side LEFT of new.py the nearest lines are 12-13; both"),
        ("src/new.py", 20, Side.RIGHT, "src/new.py is not in the diff. Did you mean new.py or"),
        ("nwe.py", 20, Side.RIGHT, "Did you mean new.py"),
        ("?", 20, Side.RIGHT, "Did you mean new.py or gone.py or picture.png?"),
        ("gone.py", 1, Side.RIGHT, "gone.py has no line on the side RIGHT. Use side LEFT, or line 0."),
        ("picture.png", 1, Side.RIGHT, "No line of picture.png can be named: the file is binary."),
    ],
)
def test_advice_names_what_would_have_been_right(path: str, line: int, side: Side, told: str):
    assert told in advice(DIFF, path, line, side)


def test_many_alike_lines_are_searched_in_good_time():
    lines = 15_000
    head = b"diff --git a/f b/f\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,%d @@\n"
    diff = parse_diff(head % lines + b"+a\n" * lines)
    # Quadratic, this would be 10^8 steps of Python.
    anchored = anchor(finding(20_000, path="f", text="\n".join(["a"] * 7_000)), diff)
    assert where(anchored) == (lines - 7_000 + 1, lines)
