"""What a terminal would show: the same text however the output was cut into pieces."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.toolhost.output import LONGEST, Terminal, plain

PIECES = st.lists(
    st.one_of(
        st.binary(max_size=20),
        st.text(max_size=10).map(str.encode),
        st.sampled_from(
            [b"\n", b"\r", b"\r\n", b"\x1b[31m", b"\x1b[", b"\x1b]0;t\x07", b"\x1b", b"\x08", "ü".encode()]
        ),
    ),
    max_size=40,
)


def taken(*pieces: bytes) -> bytes:
    terminal = Terminal()
    return b"".join(map(terminal.take, pieces)) + terminal.finish()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n"], b"link\n"),
        ([b"\x1b[1;31mred\x1b[0m\x1b[2K\x1b(B\x1bM\n"], b"red\n"),
        ([b"one\r\ntwo\r\n"], b"one\ntwo\n"),
        ([b"  1%\r 50%\r100%\r\nnext\n"], b"100%\nnext\n"),
        ([b"N\x08NA\x08AM\x08ME\x08E\n"], b"NAME\n"),
        ([b"caf\xe9\n"], "caf\ufffd\n".encode()),
        ([b"gr\xc3", b"\xbc\xc3", b"\x9fe"], "grüße".encode()),
        ([b"\x1b[3", b"1mred\x1b", b"[0m\n"], b"red\n"),
        ([b"one\r", b"\ntwo"], b"one\ntwo"),
    ],
)
def test_it_is_shown_as_a_terminal_would(pieces: list[bytes], text: bytes) -> None:
    assert taken(*pieces) == text


def test_what_has_no_end_yet_can_be_seen() -> None:
    terminal = Terminal()
    assert terminal.take(b"done\n10%\r20%") == b"done\n"
    assert terminal.unfinished() == b"20%"
    assert terminal.take(b"\r30%\n") == b"30%\n"


@settings(max_examples=80, deadline=None)
@given(PIECES)
def test_how_it_is_cut_makes_no_difference(pieces: list[bytes]) -> None:
    assert taken(*pieces) == plain(b"".join(pieces))


@settings(max_examples=100, deadline=None)
@given(PIECES)
def test_whatever_comes_it_is_plain_text_with_as_many_lines(pieces: list[bytes]) -> None:
    text = taken(*pieces).decode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", text)
    assert text.count("\n") == b"".join(pieces).count(b"\n")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=200))
def test_plain_text_is_left_alone(text: str) -> None:
    assert plain(text.encode()).decode() == text


@pytest.mark.parametrize("piece", [b"x" * 60_000, "漢".encode() * 20_000, b"50%\r" * 15_000])
def test_a_line_without_end_is_not_held(piece: bytes) -> None:
    terminal = Terminal()
    given_away = b""
    for _ in range(25):
        given_away += terminal.take(piece)
        assert len(terminal.unfinished()) <= LONGEST
    given_away += terminal.finish()
    assert given_away == (b"50%" if b"\r" in piece else piece * 25)


def test_a_progress_bar_without_end_keeps_its_last_state() -> None:
    terminal = Terminal()
    for percent in range(200):
        assert terminal.take(b"%d%% %s\r" % (percent, b"#" * 5000)) == b""
    assert terminal.take(b"done\n") == b"done\n"


@pytest.mark.parametrize(
    "line",
    [b"a" * 130_000 + b"\x08" * 130_000, b"\x1b]" * 130_000, b"\x1b[" * 130_000, b"\r" * 260_000],
    ids=["backspaces", "titles", "sequences", "returns"],
)
def test_a_line_made_to_be_slow_is_not(line: bytes) -> None:
    began = time.monotonic()
    taken(line + b"\n")
    assert time.monotonic() - began < 20
