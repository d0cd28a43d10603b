"""Other people's text stays in its place."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.publish.markdown import code, contained, fenced, plain, safe_markdown, shortened


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("pytest -q", "`pytest -q`"), ("echo `date`", "`` echo `date` ``"), ("`x", "`` `x ``"),
        ("a `` b", "```a `` b```"), (" padded ", "`  padded  `"), ("two\nlines", "`two lines`"), ("", "` `"),
    ],
)  # fmt: skip
def test_a_code_span_shows_its_text(text: str, written: str):
    assert code(text) == written


def test_plain_text_is_shown_as_it_is():
    assert plain("a *b* [c](d) <e> `f`") == "a \\*b\\* \\[c\\](d) \\<e\\> \\`f\\`"
    assert plain("&#64;ada & Fixes &num;9") == "&amp;#64;ada &amp; Fixes &amp;num;9"


@settings(deadline=None)
@given(st.text(alphabet="`~\n ab"))
def test_nothing_ends_a_fenced_block_early(text: str):
    block = fenced(text).split("\n")
    fence = block[0].removesuffix("text")
    assert block[-1] == fence
    assert not any(line.strip().startswith(fence) for line in block[1:-1])


@pytest.mark.parametrize(
    ("text", "ending"),
    [("```\nopen", "```"), ("~~~~ python\nopen\n~~~", "~~~~"), ("````\n```\n", "````"), ("text", "text")],
)
def test_an_open_fence_is_closed(text: str, ending: str):
    assert contained(text).splitlines()[-1] == ending


def test_a_closed_fence_is_left_alone():
    text = "before\n\n```python\nif a < b:\n    print('<details>')\n```\n\nafter"
    assert contained(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<details><summary>all is well</summary>", "a <!-- hidden", "\\`<details>\\`", "| `a | <details>` |",
        "x `a` <pre>", "<?php", "<![CDATA[", "</details>", "`unclosed <details>",
    ],
)  # fmt: skip
def test_no_tag_of_theirs_is_live(text: str):
    assert not re.search(r"<[A-Za-z/!?]", safe_markdown(text, 1_000))


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(min_value=60, max_value=200))
def test_shortened_text_is_within_its_limit(text: str, limit: int):
    assert len(shortened(text, limit)) <= limit
