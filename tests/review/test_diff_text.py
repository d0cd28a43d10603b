"""The diff as the model reads it, and the part of it that is new."""

from __future__ import annotations

from bot.review.diff import Diff, parse_diff
from bot.review.diff_text import changed_since, diff_text

DIFF = b"""diff --git a/a.py b/b.py
similarity index 80%
rename from a.py
rename to b.py
index 1..2 100644
--- a/a.py
+++ b/b.py
@@ -8,3 +8,4 @@ def f():
 eight
-nine
+NINE
+and a half
 ten\r
diff --git a/logo.png b/logo.png
index 1..2 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git "a/\\377\\n" "b/\\377\\n"
new file mode 100644
index 0..1
--- /dev/null
+++ "b/\\377\\n"
@@ -0,0 +1 @@
+x
"""

TEXT = """4 files, +3 -1. Before each line stand its number in the old file (LEFT) and in the new one (RIGHT).

## b.py (renamed from a.py, +2 -1)
@@
    8     8  eight
    9       -nine
          9 +NINE
         10 +and a half
   10    11  ten

## logo.png (modified, +0 -0)
(binary)

## run (mode 100644 to 100755, +0 -0)

## \ufffd\\n (added, +1 -0)
@@
          1 +x"""


def added(name: str, lines: int, text: str = "line") -> bytes:
    head = f"diff --git a/{name} b/{name}\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1,{lines} @@\n".encode() + b"".join(
        f"+{text} {number}\n".encode() for number in range(1, lines + 1)
    )


def test_every_line_has_its_number_on_both_sides() -> None:
    shown = diff_text(parse_diff(DIFF))
    assert shown.text == TEXT
    assert shown.left_out == ("not looked at: logo.png (binary, or too large)",)


def test_a_long_file_is_cut_and_the_rest_is_named() -> None:
    shown = diff_text(parse_diff(added("big.txt", 5_000) + added("small.txt", 2)), most_a_file=2_000)
    assert "+line 2\n" in shown.text
    assert "+line 4000" not in shown.text
    assert "(The rest of this file is not shown: changes in the lines 1 to 5000; look" in shown.text
    assert shown.left_out == ("the end of 1 long file diff was not shown: big.txt",)
    assert "small.txt (added, +2 -0)\n@@\n          1 +line 1\n          2 +line 2" in shown.text


def test_small_files_come_before_large_ones_and_the_rest_is_listed() -> None:
    diff = parse_diff(b"".join(added(f"{number}.txt", 50 - number) for number in range(5)))
    shown = diff_text(diff, most=1_200)
    assert "## 4.txt (added, +46 -0)\n@@" in shown.text
    assert "## Changed too, and not shown: look at those that matter\n- 0.txt (added, +50 -0)\n" in shown.text
    assert shown.left_out == (
        "4 files of the diff did not fit and were given by name only: 0.txt, 1.txt, 2.txt and 1 more",
    )


def test_three_hundred_files_fit_into_the_length() -> None:
    shown = diff_text(parse_diff(b"".join(added(f"dir/{number}.txt", 100) for number in range(300))))
    assert len(shown.text) < 180_000
    assert len(shown.left_out) == 1


def test_a_line_of_a_minified_file_is_cut() -> None:
    shown = diff_text(parse_diff(added("min.js", 1, "x" * 10_000)))
    assert "x… (10,002 characters)" in shown.text
    assert len(shown.text) < 1_000


# What is new


def test_a_cut_line_is_named_for_people() -> None:
    shown = diff_text(parse_diff(added("app.min.js", 1, "x" * 5_000)))
    assert shown.left_out == ("the end of lines over 400 characters was not shown: app.min.js",)


def paths(diff: Diff) -> dict[str, list[int]]:
    return {file.path: [hunk.new_start for hunk in file.hunks] for file in diff.files}


def changed(name: str, *hunks: str) -> bytes:
    return f"diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n{''.join(hunks)}".encode()


FIRST = "@@ -10,3 +10,3 @@\n a\n-b\n+B\n c\n"
SECOND = "@@ -50,3 +50,4 @@\n d\n+D\n e\n f\n"
REMOVAL = "@@ -90,3 +91,2 @@\n g\n-h\n i\n"
WHOLE = parse_diff(changed("f", FIRST, SECOND, REMOVAL) + changed("g", FIRST) + added("new", 3))


def test_only_hunks_that_the_new_commits_touch_are_left() -> None:
    since = parse_diff(changed("f", "@@ -49,3 +49,4 @@\n x\n y\n+D\n e\n"))
    assert paths(changed_since(WHOLE, since)) == {"f": [50]}


def test_a_removal_counts_where_the_lines_were() -> None:
    since = parse_diff(changed("f", "@@ -90,3 +91,2 @@\n g\n-h\n i\n"))
    assert paths(changed_since(WHOLE, since)) == {"f": [91]}


def test_context_around_a_change_does_not_count() -> None:
    since = parse_diff(changed("f", "@@ -6,6 +6,6 @@\n 1\n 2\n-x\n+y\n 3\n 4\n 5\n"))
    assert paths(changed_since(WHOLE, since)) == {}


def test_what_a_merge_brought_in_is_not_part_of_it() -> None:
    since = parse_diff(changed("elsewhere", FIRST) + changed("g", "@@ -1,1 +1,2 @@\n x\n+y\n"))
    assert paths(changed_since(WHOLE, since)) == {}


def test_files_without_lines_stay_when_they_changed_again() -> None:
    binary = b"diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n"
    assert paths(changed_since(parse_diff(binary + changed("f", FIRST)), parse_diff(binary))) == {"p": []}


def test_a_file_that_is_gone_now_stays() -> None:
    head = b"diff --git a/o b/o\ndeleted file mode 100644\nindex 1..0\n--- a/o\n+++ /dev/null\n"
    gone = head + b"@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert paths(changed_since(parse_diff(gone), parse_diff(gone))) == {"o": [0]}
