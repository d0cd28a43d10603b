"""Suggestions: settled, and written as GitHub's block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.contracts.pulls import Finding, Severity, Side
from bot.publish.markdown import block
from bot.review.suggestions import with_valid_suggestion

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
