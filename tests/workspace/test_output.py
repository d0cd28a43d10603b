"""What is shown and kept of output: always text, always in bounds, never a claim about lines that is not true."""

import os
import re
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.tool_limits import MAX_LINE, MAX_OUTPUT
from bot.toolhost.output import LONGEST, Spill, Terminal, plain, present


def shown(raw: bytes, cap: int = 1 << 30) -> str:
    with tempfile.TemporaryDirectory() as folder:
        spill = Spill(Path(folder), 1, cap)
        for start in range(0, len(raw), 70_000):
            spill(raw[start : start + 70_000])
        spill.finish()
        return present(spill)


def test_a_long_line_is_cut_and_says_by_how_much():
    result = shown(b"x" * 5000 + b"\nnext\n")
    assert f"{'x' * MAX_LINE} [3000 more characters]\nnext\n" in result


def test_one_line_without_end_is_bounded():
    text = shown(b"x" * 10_000_000)
    assert len(text) < 2 * MAX_LINE + 500
    assert "[the line goes on]" in text


def test_the_omitted_bytes_are_counted_exactly():
    lines = [f"line {n}\n" for n in range(200_000)]
    text = shown("".join(lines).encode())
    match = re.search(r"^\[(\d+) bytes omitted", text, re.MULTILINE)
    assert match is not None
    left = [line for line in text.splitlines(keepends=True) if line.startswith("line ")]
    assert int(match[1]) == sum(map(len, lines)) - sum(map(len, left))
    assert 0.9 * MAX_OUTPUT < sum(map(len, left)) <= MAX_OUTPUT
    assert shown(b"the same line\n" * 500) == "the same line\n" * 500, "what fits is shown as it is"


@pytest.mark.parametrize(
    "line, folded",
    [
        ("FAILED tests/test_a.py::test_{} - AssertionError: it is not as wanted\n", True),
        ("warning: unused variable `a{}` in this function\n", True),
        ("the same line\n", True),
        ("{}\n", False),
        ("Compiling crate{} v{}.0\n", False),
    ],
)
def test_alike_lines_of_long_output_are_folded(line: str, folded: bool):
    lines = [line.format(number, number) for number in range(3_000)]
    excerpt = shown(("begin\n" + "".join(lines) + "end\n").encode())
    if folded:
        note = "[alike lines are folded; full output: $TMPDIR/out/1.txt]\n"
        assert excerpt == "".join(
            ["begin\n", *lines[:3], "[2996 lines like these]\n", lines[-1], "end\n", note]
        )
    else:
        assert "lines like these" not in excerpt


def test_of_too_much_output_beginning_and_end_are_kept_and_shown(tmp_path: Path):
    lines = b"".join(b"line %d\n" % n for n in range(400_000))
    spill = Spill(tmp_path, 1, 1 << 20)
    for start in range(0, len(lines), 70_000):
        spill(lines[start : start + 70_000])
    spill.finish()
    text = present(spill)
    left_out = spill.left_out
    assert text.startswith("line 0\nline 1\n")
    assert "line 399998\nline 399999\n" in text
    assert f"the output was {len(lines)} bytes; the file keeps its beginning and end" in text
    kept = spill.path.read_bytes()
    head, tail = kept.split(b"\n[%d bytes are left out here]\n" % left_out)
    assert lines == head + lines[len(head) : len(head) + left_out] + tail
    assert tail.startswith(b"line ")
    assert re.search(r"^\[\d+ bytes omitted", text, re.MULTILINE)


def test_memory_stays_small_whatever_is_printed(tmp_path: Path):
    piece = b"a line of output that says something\n" * 1800
    tracemalloc.start()
    spill = Spill(tmp_path, 1, 1 << 20)
    for _ in range(200):
        spill(piece)
    spill.finish()
    present(spill)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spill.total == 200 * len(piece)
    assert peak < 8 << 20


@pytest.mark.parametrize("planted", ["a link", "a pipe", "a file"])
def test_what_a_command_put_in_the_place_of_the_file_is_not_written(planted: str, tmp_path: Path):
    target, place = tmp_path / "target", tmp_path / "0001.txt"
    target.write_text("untouched")
    if planted == "a link":
        place.symlink_to(target)
    elif planted == "a pipe":
        os.mkfifo(place)
    else:
        os.link(target, place)
    spill = Spill(tmp_path, 1)
    spill(b"output\n")
    assert spill.read(0, 100) == b"output\n"
    assert target.read_text() == "untouched"


def test_binary_output_is_kept_as_it_is(tmp_path: Path):
    raw = b"\x7fELF\0\x1b[31m\r\n" * 100
    spill = Spill(tmp_path, 1)
    spill(raw)
    spill.finish()
    assert present(spill) == f"[binary output, {len(raw)} bytes; all of it: $TMPDIR/out/1.txt]\n"
    assert spill.path.read_bytes() == raw


def test_what_is_shown_can_begin_in_the_middle(tmp_path: Path):
    spill = Spill(tmp_path, 1)
    spill(b"one\ntwo\nthree\nfo")
    assert present(spill) == "one\ntwo\nthree\nfo"
    shown = spill.size
    spill(b"ur\nfive\n")
    assert present(spill, shown) == "four\nfive\n"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=50), st.sampled_from([b"\n", b"\r", b"\x1b[", b"\x1b]", b"\x08"])),
        max_size=60,
    ),
    st.sampled_from([1, 40, 900]),
)
def test_whatever_comes_out_is_bounded_plain_text(pieces: list[bytes], times: int):
    result = shown(b"".join(pieces) * times)
    assert len(result) <= MAX_OUTPUT + 1000
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result)


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
def test_it_is_shown_as_a_terminal_would(pieces: list[bytes], text: bytes):
    assert taken(*pieces) == text


def test_what_has_no_end_yet_can_be_seen():
    terminal = Terminal()
    assert terminal.take(b"done\n10%\r20%") == b"done\n"
    assert terminal.unfinished() == b"20%"
    assert terminal.take(b"\r30%\n") == b"30%\n"


@settings(max_examples=80, deadline=None)
@given(PIECES)
def test_how_it_is_cut_makes_no_difference(pieces: list[bytes]):
    assert taken(*pieces) == plain(b"".join(pieces))


@settings(max_examples=100, deadline=None)
@given(PIECES)
def test_whatever_comes_it_is_plain_text_with_as_many_lines(pieces: list[bytes]):
    text = taken(*pieces).decode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", text)
    assert text.count("\n") == b"".join(pieces).count(b"\n")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=200))
def test_plain_text_is_left_alone(text: str):
    assert plain(text.encode()).decode() == text


@pytest.mark.parametrize("piece", [b"x" * 60_000, "漢".encode() * 20_000, b"50%\r" * 15_000])
def test_a_line_without_end_is_not_held(piece: bytes):
    terminal = Terminal()
    given_away = b""
    for _ in range(25):
        given_away += terminal.take(piece)
        assert len(terminal.unfinished()) <= LONGEST
    given_away += terminal.finish()
    assert given_away == (b"50%" if b"\r" in piece else piece * 25)


def test_a_progress_bar_without_end_keeps_its_last_state():
    terminal = Terminal()
    for percent in range(200):
        assert terminal.take(b"%d%% %s\r" % (percent, b"#" * 5000)) == b""
    assert terminal.take(b"done\n") == b"done\n"


@pytest.mark.parametrize(
    "line",
    [b"a" * 130_000 + b"\x08" * 130_000, b"\x1b]" * 130_000, b"\x1b[" * 130_000, b"\r" * 260_000],
    ids=["backspaces", "titles", "sequences", "returns"],
)
def test_a_line_made_to_be_slow_is_not(line: bytes):
    began = time.monotonic()
    taken(line + b"\n")
    assert time.monotonic() - began < 20
