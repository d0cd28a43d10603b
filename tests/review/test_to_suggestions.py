"""A change as suggestions: applied they give the change, or there are none."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.contracts.pulls import Finding, Severity, Side
from bot.publish.markdown import block
from bot.review.diff import Diff, parse_diff
from bot.review.suggestions import (
    MOST,
    ChangedFile,
    Suggestion,
    applied,
    to_suggestions,
    with_valid_suggestion,
)
from tests.support.files import write_file

BASE = "".join(f"line {number}\n" for number in range(1, 41))
# The pull request changes line 20, so that its diff shows 17 to 23.
HEAD = BASE.replace("line 20\n", "twenty\n")


def git_diff(folder: Path, before: bytes, after: bytes) -> Diff:
    """What git says of one file, as it is in both its states."""
    for name, data in (("old", before), ("new", after)):
        write_file(folder / name / "a.txt", data)
    command = ["git", "diff", "--no-index", "--no-color", "--full-index", "-U3", "old/a.txt", "new/a.txt"]
    said = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    return parse_diff(said.replace(b"old/a.txt", b"a.txt").replace(b"new/a.txt", b"a.txt"))


def suggested(
    folder: Path, after: str | bytes, head: str | bytes = HEAD, base: str | bytes = BASE
) -> tuple[Suggestion, ...] | str:
    base, head, after = (one if isinstance(one, bytes) else one.encode() for one in (base, head, after))
    (file,) = git_diff(folder, head, after).files
    return to_suggestions([ChangedFile(file, head, after)], git_diff(folder, base, head))


@pytest.mark.parametrize(
    ("old", "new", "suggestion"),
    [
        ("line 21\n", "twenty-one\n", (21, 21, "line 21", "twenty-one")),
        # Lines in between stand on the line above, at the edge of what is shown on the line below.
        ("line 21\n", "line 21\nmore\n", (21, 21, "line 21", "line 21\nmore")),
        ("line 17\n", "more\nline 17\n", (17, 17, "line 17", "more\nline 17")),
        ("line 21\nline 22\n", "", (21, 22, "line 21\nline 22", "")),
        # An empty suggestion would remove the line.
        ("line 21\n", "\n", (20, 21, "twenty\nline 21", "twenty\n")),
        # What is near is one suggestion.
        (
            "line 18\nline 19\ntwenty\nline 21\n", "x\nline 19\ntwenty\nline 21\ny\n",
            (18, 21, "line 18\nline 19\ntwenty\nline 21", "x\nline 19\ntwenty\nline 21\ny"),
        ),
    ],
)  # fmt: skip
def test_one_suggestion(tmp_path: Path, old: str, new: str, suggestion: tuple[int, int, str, str]):
    assert suggested(tmp_path, HEAD.replace(old, new)) == (Suggestion("a.txt", *suggestion),)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (HEAD.replace("line 3\n", "three\n"), "that the diff does not show"),
        (HEAD.replace("line 23\nline 24\n", "x\n"), "that the diff does not show"),
        (HEAD.replace("line 16\n", "line 16\nx\n").replace("line 3\n", "3\n"), "that the diff does not show"),
        (HEAD.replace("line 21\n", "line 21\r\n"), "line ends"),
        (HEAD.encode().replace(b"line 21", b"\xff"), "not UTF-8"),
    ],
)
def test_one_unfit_line_and_there_are_no_suggestions(tmp_path: Path, after: str | bytes, why: str):
    suggestions = suggested(tmp_path, after)
    assert isinstance(suggestions, str)
    assert why in suggestions


@pytest.mark.parametrize(("head", "after"), [("a\nb", "a\nc"), ("a\nb\n", "a\nb"), ("a\nb", "a\nb\n")])
def test_a_last_line_without_its_end_is_left_to_a_commit(tmp_path: Path, head: str, after: str):
    assert isinstance(suggested(tmp_path, after, head, "old\n"), str)


def test_a_file_that_is_not_in_the_pull_request(tmp_path: Path):
    (file,) = git_diff(tmp_path, b"a\n", b"b\n").files
    assert to_suggestions([ChangedFile(file, b"a\n", b"b\n")], Diff(())) == "a.txt is not in the diff"


def test_a_new_file_is_none(tmp_path: Path):
    raw = b"diff --git a/n b/n\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
    (file,) = parse_diff(raw).files
    assert "more with n than to change its lines" in to_suggestions(
        [ChangedFile(file, b"", b"x\n")], Diff(())
    )


def test_there_is_an_end_to_how_many(tmp_path: Path):
    head = "".join(f"{number}\n" for number in range(600))
    lines = head.splitlines()
    lines[::10] = ["x"] * 60
    suggestions = suggested(tmp_path, "\n".join(lines) + "\n", head, "")
    assert suggestions == f"it would be more than {MOST} suggestions"


WORDS = ["a", "b", "", "  c", "```", "````suggestion", "-x", "+y", "\t", "\u2028", "é"]


@pytest.mark.parametrize("seed", range(40))
def test_applied_they_are_the_change(tmp_path: Path, seed: int):
    """Whatever is changed of what the diff shows: a whole new file, so that all of it is."""
    chance = random.Random(seed)
    before = [chance.choice(WORDS) for _ in range(chance.randrange(1, 40))]
    after = [line for line in before if chance.random() > 0.1]
    for _ in range(chance.randrange(6)):
        after.insert(chance.randrange(len(after) + 1), chance.choice(WORDS))
    head, result = "".join(f"{line}\n" for line in before), "".join(f"{line}\n" for line in after)
    if head == result:
        return
    suggestions = suggested(tmp_path, result, head, "")
    assert not isinstance(suggestions, str), suggestions
    assert applied(head, suggestions) == result


# Blocks of suggestions


ONE = Finding("a.py", 3, Severity.MAJOR, "T", "B", start_line=2, text="two\nthree", suggestion="2\n3")


@pytest.mark.parametrize(
    ("given_one", "expected"),
    [
        (ONE, "2\n3"),
        (ONE._replace(suggestion="2\r\n3\r\n"), "2\n3"),
        (ONE._replace(suggestion=""), ""),
        (ONE._replace(suggestion=None), None),
        (ONE._replace(suggestion="two\nthree"), None),
        (ONE._replace(suggestion="two\nthree\n"), None),
        (ONE._replace(side=Side.LEFT), None),
        (ONE._replace(line=0, start_line=0), None),
        (ONE._replace(suggestion="a\rb"), None),
    ],
)
def test_only_what_applies_and_changes_something_stays(given_one: Finding, expected: str | None):
    assert with_valid_suggestion(given_one).suggestion == expected


@pytest.mark.parametrize(
    ("suggestion", "written"),
    [
        ("x = 1", "```suggestion\nx = 1\n```"),
        ("", "```suggestion\n```"),
        ("a\n\n", "```suggestion\na\n\n\n```"),
        ("```python\nx\n```", "````suggestion\n```python\nx\n```\n````"),
        ("a ````` b", "``````suggestion\na ````` b\n``````"),
    ],
)
def test_a_block_has_a_fence_that_nothing_in_it_closes(suggestion: str, written: str):
    assert block(suggestion) == written


@given(st.text(alphabet="`~ a\n>-\t", max_size=40))
def test_a_reader_of_markdown_gets_the_suggestion_back(suggestion: str):
    first, *rest = MarkdownIt().parse(f"Before\n\n{block(suggestion)}\n\nAfter")[3:]
    assert (first.type, first.info) == ("fence", "suggestion")
    assert first.content == (f"{suggestion}\n" if suggestion else "")
    assert rest[1].content == "After"
