"""Texts cut to what GitHub takes."""

import pytest

from bot.github.text_limits import BODY_LIMIT, NOTE, TITLE_LIMIT, fit, fit_title

MARK = "<!-- slash-agent progress request=5 -->"


@pytest.mark.parametrize("size", [0, 10, BODY_LIMIT])
def test_what_fits_stays_as_it_is(size: int):
    assert fit("ü" * size) == "ü" * size


@pytest.mark.parametrize(
    "body",
    [
        "x" * 100_000,
        "🦊" * 100_000,
        "a line\n" * 20_000,
        "```python\n" + "x = 1\n" * 20_000,
        "<details>\n<summary>Log</summary>\n\n~~~~\n" + "x\n" * 50_000,
        ("<details>\n```\ncode\n```\n" * 10_000) + "</details>\n" * 10_000,
    ],
)
@pytest.mark.parametrize("mark", ["", f"\n\n{MARK}\n"])
def test_what_is_cut_fits_says_so_and_keeps_its_mark(body: str, mark: str):
    cut = fit(body + mark)
    assert len(cut) <= BODY_LIMIT
    assert cut.startswith(NOTE)
    assert not mark or cut.rstrip().endswith(MARK)


def test_a_mark_in_the_middle_is_no_last_line():
    cut = fit(f"{MARK}\n" + "x" * 70_000)
    assert cut.rstrip().endswith("x")


def test_a_block_of_code_is_closed():
    cut = fit("````sh\n" + "echo\n" * 20_000 + f"\n{MARK}\n")
    assert cut.rstrip().split("\n")[-3:] == ["````", "", MARK]


@pytest.mark.parametrize(("title", "expected"), [("a\r\nb\tc ", "a b c"), ("x" * 256, "x" * 256)])
def test_titles_are_one_line(title: str, expected: str):
    assert fit_title(title) == expected


def test_long_titles_are_cut():
    assert len(fit_title("word " * 100)) <= TITLE_LIMIT
    assert fit_title("word " * 100).endswith("word…")
