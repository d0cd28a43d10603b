"""One log for a whole job, told apart into its failed steps."""

import itertools
import tracemalloc
from collections.abc import Iterator

import pytest

from bot.github.checks import LINE_LIMIT, LINES, MOST_STEPS, failed_steps, lines_of

LOG = """\
\ufeff2026-01-02T03:04:05.1000000Z ##[group]Run actions/checkout@v4
2026-01-02T03:04:05.2000000Z with:
2026-01-02T03:04:05.3000000Z ##[endgroup]
2026-01-02T03:04:06.0000000Z checked out
2026-01-02T03:04:06.1000000Z ##[group]Run make test
2026-01-02T03:04:06.2000000Z \x1b[36;1mmake test\x1b[0m
2026-01-02T03:04:06.3000000Z ##[endgroup]
2026-01-02T03:04:06.5000000Z ##[error]a.py: unused import
2026-01-02T03:04:07.0000000Z test_total ... \x1b[31mFAIL\x1b[0m
2026-01-02T03:04:07.1000000Z  50%\r100% done
a line that a tool wrote without a time
2026-01-02T03:04:08.0000000Z ##[warning]slow
2026-01-02T03:04:08.1000000Z ##[error]Process completed with exit code 2.
2026-01-02T03:04:08.1500000Z what the runner does after it
2026-01-02T03:04:08.2000000Z ##[group]Run ./report.sh
2026-01-02T03:04:08.3000000Z reported
2026-01-02T03:04:09.0000000Z ##[error]The report is gone
2026-01-02T03:04:09.1000000Z Post job cleanup.
"""


def log_of(text: str | bytes) -> str:
    (found,) = failed_steps([text.encode() if isinstance(text, str) else text])
    return found.log


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_step_is_what_stands_between_its_run_and_its_last_error(piece: int):
    raw = LOG.encode()
    test, report = failed_steps(raw[i : i + piece] for i in range(0, len(raw), piece))
    assert (test.name, report.name) == ("make test", "./report.sh")
    assert test.log.split("\n") == [
        "Run make test", "make test", "Error: a.py: unused import", "test_total ... FAIL", "100% done",
        "a line that a tool wrote without a time", "Warning: slow",
        "Error: Process completed with exit code 2.",
    ]  # fmt: skip
    assert report.log.split("\n") == ["Run ./report.sh", "reported", "Error: The report is gone"]


def test_of_many_steps_the_last_ones_are_kept():
    text = "".join(f"##[group]Run {n}\n##[error]bad\n" for n in range(9))
    assert [step.name for step in failed_steps([text.encode()])] == [str(n) for n in range(9)][-MOST_STEPS:]


def test_the_last_lines_are_kept_without_an_error_too():
    lines = [f"2026-01-02T03:04:07.0Z line {n}" for n in range(1000)]
    assert log_of("\n".join(lines)).split("\n") == [f"line {n}" for n in range(1000 - LINES, 1000)]
    assert failed_steps([]) == ()


def test_long_lines_are_cut_and_bytes_that_are_no_text_are_shown_as_such():
    assert len(log_of("2026-01-02T03:04:07.0Z " + "x" * 10_000_000)) <= LINE_LIMIT + 2
    assert log_of(b"2026-01-02T03:04:07.0Z \xff\x00\xc3\xa4") == "\ufffdä"


def test_a_log_ends_with_or_without_a_line_end():
    assert list(lines_of([b"a\nb"])) == list(lines_of([b"a\n", b"b\n"])) == ["a", "b"]


@pytest.mark.parametrize("piece", [b"2026-01-02T03:04:07.0Z one line\n" * 2000, b"no line end at all" * 4000])
def test_a_huge_log_is_not_held_in_memory(piece: bytes):
    def pieces() -> Iterator[bytes]:
        yield from itertools.repeat(piece, 20)

    tracemalloc.start()
    try:
        failed_steps(pieces())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < 20 * len(piece)
