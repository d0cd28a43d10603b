"""The diff as the model reads it, and the part of it that is new."""

from collections.abc import Collection

import pytest

from bot.contracts.pulls import Side
from bot.review.diff import Diff, parse_diff
from bot.review.diff_text import key_of, next_part, part_text, path_of, pieces_of, unreadable

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
@@ def f():
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


def shown(raw: bytes, most: int = 160_000, most_a_piece: int = 24_000) -> str:
    return part_text(*next_part(pieces_of(parse_diff(raw), most=most_a_piece), most), new=False)


def test_every_line_has_its_number_on_both_sides_and_every_hunk_its_function():
    assert shown(DIFF) == TEXT
    assert list(unreadable(pieces_of(parse_diff(DIFF)))) == ["not looked at: logo.png (binary, or too large)"]


def test_a_long_file_is_cut_into_parts_that_have_all_its_lines():
    raw = added("big.txt", 5_000)
    pieces = pieces_of(parse_diff(raw), most=20_000)
    assert [piece.name for piece in pieces] == [f"big.txt (part {n})" for n in range(1, len(pieces) + 1)]
    assert [path_of(piece.name) for piece in pieces] == ["big.txt"] * len(pieces)
    rows = [row for piece in pieces for hunk in piece.file.hunks for row in hunk.rows()]
    assert [(row.new, row.text) for row in rows] == [(n, f"line {n}") for n in range(1, 5_001)]
    assert all(len(piece.text) <= 22_000 for piece in pieces)
    assert (
        f"## big.txt (added, +{pieces[1].file.hunks[0].new_count} -0; part 2 of {len(pieces)})\n@@ line "
        in pieces[1].text
    )


@pytest.mark.parametrize("cut", range(7))
def test_both_halves_of_a_hunk_keep_their_numbers(cut: int):
    [hunk] = parse_diff(changed("f", "@@ -10,4 +10,4 @@ def f():\n a\n-b\n-c\n+B\n+C\n d\n")).files[0].hunks
    halves = [hunk.part(0, cut), hunk.part(cut, 6)]
    assert [row for half in halves for row in half.rows()] == list(hunk.rows())
    for half in halves:
        for side in Side:
            assert half.size(side) == len(half.side(side))


def test_what_does_not_fit_is_the_rest_and_is_named():
    raw = b"".join(added(f"{number}.txt", 50 - number) for number in range(5))
    pieces = pieces_of(parse_diff(raw))
    part, rest = next_part(pieces, most=2_400)
    assert [piece.name for piece in part] == ["0.txt", "1.txt"]
    assert [piece.name for piece in rest] == ["2.txt", "3.txt", "4.txt"]
    listed = "## Changed too, and not shown here\n- 2.txt\n- 3.txt\n- 4.txt"
    assert part_text(part, rest, new=False).endswith(listed)


def test_a_line_of_a_minified_file_is_cut_and_named_for_people():
    pieces = pieces_of(parse_diff(added("app.min.js", 1, "x" * 10_000)))
    assert "x… (10,002 characters)" in pieces[0].text
    assert len(pieces[0].text) < 1_000
    assert list(unreadable(pieces)) == ["the end of lines over 400 characters was not shown: app.min.js"]


# What is new


def paths(diff: Diff, since: Diff, left: Collection[str] = ()) -> dict[str, list[int]]:
    found = pieces_of(diff, since, [key_of(name) for name in left])
    return {piece.name: [hunk.new_start for hunk in piece.file.hunks] for piece in found}


def changed(name: str, *hunks: str) -> bytes:
    return f"diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n{''.join(hunks)}".encode()


FIRST = "@@ -10,3 +10,3 @@\n a\n-b\n+B\n c\n"
SECOND = "@@ -50,3 +50,4 @@\n d\n+D\n e\n f\n"
REMOVAL = "@@ -90,3 +91,2 @@\n g\n-h\n i\n"
WHOLE = parse_diff(changed("f", FIRST, SECOND, REMOVAL) + changed("g", FIRST) + added("new", 3))


@pytest.mark.parametrize(
    ("since", "left"),
    [
        (changed("f", "@@ -49,3 +49,4 @@\n x\n y\n+D\n e\n"), {"f": [50]}),
        (changed("f", "@@ -90,3 +91,2 @@\n g\n-h\n i\n"), {"f": [91]}),
        # Context of the new change, and what the pull request itself shows only as context.
        (changed("f", "@@ -6,6 +6,6 @@\n 1\n 2\n-x\n+y\n 3\n 4\n 5\n"), {}),
        (changed("f", "@@ -11,0 +12,1 @@\n+c\n"), {}),
        # What a merge brought in.
        (changed("elsewhere", FIRST) + changed("g", "@@ -1,1 +1,2 @@\n x\n+y\n"), {}),
    ],
)
def test_only_hunks_that_the_new_commits_touch_are_left(since: bytes, left: dict[str, list[int]]):
    assert paths(WHOLE, parse_diff(since)) == left


def test_files_without_lines_stay_when_they_changed_again():
    binary = b"diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n"
    assert paths(parse_diff(binary + changed("f", FIRST)), parse_diff(binary)) == {"p": []}


def test_a_file_that_is_gone_now_stays():
    head = b"diff --git a/o b/o\ndeleted file mode 100644\nindex 1..0\n--- a/o\n+++ /dev/null\n"
    gone = head + b"@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert paths(parse_diff(gone), parse_diff(gone)) == {"o": [0]}


def test_two_new_lines_of_a_long_file_are_shown_alone_with_reviewed_lines_as_context():
    whole = parse_diff(added("new.py", 802))
    since = parse_diff(
        changed("new.py", "@@ -398,6 +398,8 @@\n a\n b\n c\n+line 401\n+line 402\n d\n e\n f\n")
    )
    [piece] = pieces_of(whole, since)
    rows = piece.text.splitlines()[2:]
    assert rows[0] == "        391  line 391"
    assert [row for row in rows if "+" in row] == ["        401 +line 401", "        402 +line 402"]
    assert len(rows) == 22


def test_changes_far_apart_in_one_hunk_are_shown_apart():
    whole = parse_diff(added("new.py", 900))
    since = parse_diff(
        changed("new.py", "@@ -99,0 +100,1 @@\n+line 100\n", "@@ -799,0 +801,1 @@\n+line 801\n")
    )
    assert paths(whole, since) == {"new.py": [90, 791]}


def test_what_the_last_review_left_is_looked_at_whole_also_if_it_changed_since():
    since = parse_diff(changed("f", "@@ -49,3 +49,4 @@\n x\n y\n+D\n e\n"))
    assert paths(WHOLE, since, left=["g", "f"]) == {"f": [10, 50, 91], "g": [10]}
    assert paths(WHOLE, parse_diff(b""), left=["g"]) == {"g": [10]}
    long = parse_diff(added("long", 5_000))
    [piece] = pieces_of(long, parse_diff(b""), [key_of("long (part 2)")])
    assert piece.number == 2
    touched = parse_diff(changed("long", "@@ -1,0 +1,1 @@\n+line 1\n"))
    assert len(pieces_of(long, touched, [key_of("long (part 2)")])) == len(pieces_of(long))
