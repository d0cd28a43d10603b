"""What text may still do after the gate: be read."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.gate.text import clean_line, clean_markdown, clean_message

BREAK = "\u200b"


def markdown(text: str) -> str:
    return clean_markdown(text, 100_000)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Fix the\n\tempty   list", "Fix the empty list"),
        ("\x1b[31mred\x07", "[31mred"),
        ("a\u202eb\u200bc\U000e0041", "abc"),
        ("/agent fix this", f"{BREAK}/agent fix this"),
        ("ping @ada and @org/team", f"ping @{BREAK}ada and @{BREAK}org/team"),
        ("Fixes #12", f"Fixes{BREAK} #12"),
        ("closes: octo/repo#3", f"closes{BREAK}: octo/repo#3"),
        ("::set-output name=x::y", f"{BREAK}::set-output name=x::y"),
        ("Tidy up [skip ci]", f"Tidy up [{BREAK}skip ci]"),
        ("[CI Skip] [no ci] [actions skip]", f"[{BREAK}CI Skip] [{BREAK}no ci] [{BREAK}actions skip]"),
        ("skip-checks: true", f"skip-{BREAK}checks: true"),
        ("a[skip] and [no]", "a[skip] and [no]"),
    ],
)
def test_a_line_is_plain(text: str, clean: str) -> None:
    assert clean_line(text, 200) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see <!-- hidden --> this", f"see <{BREAK}!-- hidden --> this"),
        ("<!<!-- x -->-- y -->", f"<{BREAK}!<{BREAK}!-- x -->-- y -->"),
        ("unterminated <!-- rest", f"unterminated <{BREAK}!-- rest"),
        ("![x](https://evil.example/?q=secret)", f"!{BREAK}[x](https://evil.example/?q=secret)"),
        ("\\![x](https://evil.example)", f"\\!{BREAK}[x](https://evil.example)"),
        ("<img src=https://evil.example/x>", f"<{BREAK}img src=https://evil.example/x>"),
        ("a < b and c > d", "a < b and c > d"),
        ("text\n  /agent fix", f"text\n  {BREAK}/agent fix"),
        ("> /close", f"> {BREAK}/close"),
        ("Resolves https://github.com/a/b/issues/1", f"Resolves{BREAK} https://github.com/a/b/issues/1"),
        ("fixes the list", "fixes the list"),
        ("Fixes **#1**", f"Fixes{BREAK} **#1**"),
        ("Fixes \\#1", f"Fixes{BREAK} \\#1"),
        ("&#64;ada &commat;ada &amp; b", f"&{BREAK}#64;ada &{BREAK}commat;ada &amp; b"),
        ("a/b and 1/2", "a/b and 1/2"),
    ],
)
def test_markdown_says_and_does_nothing(text: str, clean: str) -> None:
    assert markdown(text) == clean


def test_code_is_left_as_it_is() -> None:
    text = "before\n```python\n@decorator\n# fixes it <!-- x -->\n/agent\n```\nand `inline` code\n"
    assert markdown(text) == text


def test_what_acts_in_a_commit_message_is_broken_even_in_code() -> None:
    """A squash merge may make a commit message of a pull request's body, and fences mean nothing there."""
    assert markdown("```\nFixes #1 [skip ci]\n```\n") == f"```\nFixes{BREAK} #1 [{BREAK}skip ci]\n```\n"


def test_nothing_in_a_commit_message_is_code() -> None:
    assert clean_message("```\nfixes #1, @ada\n```", 100) == f"```\nfixes{BREAK} #1, @{BREAK}ada\n```"


def test_an_indented_or_longer_fence_is_one_too() -> None:
    text = "  ~~~~\n@a\n~~~\n@b\n  ~~~~\n"
    assert markdown(text) == text.lstrip()


def test_a_fence_in_a_list_hides_nothing_that_follows_the_list() -> None:
    """A list item that ends takes its open fence with it, so an indented fence would not reach this far."""
    assert markdown("- a\n\n  ```\n@ada\n") == "- a\n\n```\n@ada\n```\n"
    assert markdown("- ```\n@ada\n") == f"- ```\n@{BREAK}ada\n"


def test_a_tilde_fence_may_have_backticks_in_its_first_line() -> None:
    assert markdown("~~~ a`b\n@x\n~~~\n@y") == f"~~~ a`b\n@x\n~~~\n@{BREAK}y"


def test_what_follows_a_closed_fence_is_cleaned_again() -> None:
    assert markdown("```\n@a\n```\n@b\n") == f"```\n@a\n```\n@{BREAK}b\n"


def test_a_fence_that_is_left_open_is_closed() -> None:
    assert markdown("```\n@a") == "```\n@a\n```\n"


def test_a_cut_inside_a_fence_closes_it() -> None:
    assert clean_markdown("```\n" + "x" * 100 + "\n```\n", 50).endswith("…\n```\n")


@pytest.mark.parametrize("text", ["\\`@ada`", "`a\nb` @ada `", "`` ` @ada", "`@ada`"])
def test_backticks_protect_no_mention(text: str) -> None:
    """Where inline code begins and ends depends on escapes and on other lines."""
    assert f"@{BREAK}ada" in markdown(text)


@given(st.text(alphabet=st.sampled_from("@`~/#<!->[]()\n aF:"), max_size=200))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = markdown(text)
    assert markdown(once) == once


@given(st.text(max_size=200), st.integers(10, 100))
def test_a_line_is_one_line_of_visible_text_within_its_limit(text: str, limit: int) -> None:
    clean = clean_line(text, limit)
    assert len(clean) <= limit
    assert "\n" not in clean
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in clean)


@pytest.mark.parametrize(
    "text",
    [
        "[](" * 30_000,
        "![" * 50_000,
        "<!--" * 30_000,
        "`" * 100_000,
        "`a" * 50_000,
        "fixes " * 20_000,
        "~~~\n" * 30_000,
        "@" * 100_000,
        "close" + " " * 100_000,
    ],
)
def test_a_hostile_text_costs_linear_time(text: str) -> None:
    started = time.perf_counter()
    markdown(text)
    assert time.perf_counter() - started < 2
