"""What is shown of output: always text, always in bounds, never a claim about lines that is not true."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workshop.host.output import LIMIT, LINE_LIMIT, Shown, clean, present
from bot.workshop.host.spill import Spill


def shown(raw: bytes, cap: int = 1 << 30) -> Shown:
    with tempfile.TemporaryDirectory() as folder, Spill(Path(folder), 1, cap) as spill:
        for start in range(0, len(raw), 70_000):
            spill(raw[start : start + 70_000])
        return present(spill)


def test_short_output_is_shown_as_it_is() -> None:
    assert shown("one\n\ttwo ü 漢\n".encode()) == Shown("one\n\ttwo ü 漢\n", False)


def test_titles_links_colours_and_cursor_moves_go() -> None:
    raw = b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[1;31mred\x1b[0m\x1b[2K\x1b(B\x1bM\n"
    assert clean(raw) == ("link red\n", False)


def test_windows_line_ends_are_not_taken_for_progress() -> None:
    assert clean(b"one\r\ntwo\r\n") == ("one\ntwo\n", False)


def test_a_progress_line_becomes_its_last_state() -> None:
    assert clean(b"  1%\r 50%\r100%\r\nnext\n") == ("100%\nnext\n", False)


def test_overstruck_text_is_shown_once() -> None:
    assert clean(b"N\x08NA\x08AM\x08ME\x08E\n") == ("NAME\n", False)


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert clean(b"caf\xe9\n") == ("caf\ufffd\n", False)


def test_a_long_line_is_cut_and_says_by_how_much() -> None:
    result = shown(b"x" * 5000 + b"\nnext\n")
    assert f"{'x' * LINE_LIMIT} [3000 more characters]\nnext\n" in result.text
    assert result.truncated


def test_one_line_without_end_is_bounded() -> None:
    text = shown(b"x" * 10_000_000).text
    assert len(text) < 2 * LINE_LIMIT + 500
    assert "[the line goes on]" in text


def test_the_omitted_lines_and_bytes_are_counted_exactly() -> None:
    lines = [f"line {n}\n" for n in range(200_000)]
    text = shown("".join(lines).encode()).text
    match = re.search(r"^\[(\d+) lines / (\d+) bytes omitted", text, re.MULTILINE)
    assert match is not None
    left = [line for line in text.splitlines(keepends=True) if line.startswith("line ")]
    assert int(match[1]) == len(lines) - len(left)
    assert int(match[2]) == sum(map(len, lines)) - sum(map(len, left))


def test_head_and_tail_are_thirty_and_seventy_percent() -> None:
    head, tail = re.split(r"\[\d+ lines[^\n]*\n", shown(b"123456789\n" * 10_000).text)
    assert (len(head), len(tail)) == (LIMIT * 0.3, LIMIT * 0.7)


def test_output_that_was_not_kept_whole_says_so() -> None:
    assert "only the first 100 were kept" in shown(b"line\n" * 1000, cap=100).text


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=50), st.sampled_from([b"\n", b"\r", b"\x1b[", b"\x1b]", b"\x08"])),
        max_size=60,
    ),
    st.sampled_from([1, 40, 900]),
)
def test_whatever_comes_out_is_bounded_plain_text(pieces: list[bytes], times: int) -> None:
    result = shown(b"".join(pieces) * times)
    assert len(result.text) <= LIMIT + 1000
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.text)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=200))
def test_plain_text_is_left_alone(text: str) -> None:
    assert clean(text.encode())[0] == text
