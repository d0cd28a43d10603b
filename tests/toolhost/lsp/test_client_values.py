"""What goes over the pipe and what is made of it: frames, names of files, positions, problems."""

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.evidence import Problem, Severity
from bot.toolhost.lsp.protocol import FrameError, parse_diagnostics, path_of, receive
from bot.toolhost.problem_record import code_points
from tests.support.language_servers import item

TEXTS = st.text(max_size=20)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"Content-Length: 3", b"\r\n\r\n", b"{}", b"\r\n"]))
)
def test_whatever_comes_is_a_message_or_an_error(pieces: list[bytes]) -> None:
    stream = io.BytesIO(b"".join(pieces))
    try:
        while (received := receive(stream)) is not None:
            assert isinstance(received, dict)
    except FrameError:
        return


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c%2Fd", "/a/b c/d"),
        ("file:///%C3%bc", "/ü"),
        ("file:///%ff", "/\udcff"),
        (None, ""),
        ([], ""),
    ],
)
def test_names_of_files_are_decoded_before_they_are_compared(uri: object, path: str) -> None:
    assert path_of(uri) == path


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.data())
def test_columns_are_counted_in_utf_16(line: str, data: st.DataObject) -> None:
    before = data.draw(st.integers(0, len(line)))
    units = len(line[:before].encode("utf-16-le")) // 2
    assert code_points(line, units + 1, "utf-16") == before + 1


@pytest.mark.parametrize(("character", "column"), [(1, 0), (2, 1), (99, 2)])
def test_a_column_within_a_letter_is_before_it_and_one_behind_the_line_its_end(
    character: int, column: int
) -> None:
    [problem] = found({**item("m"), "range": {"start": {"line": 0, "character": character}}}, text="🙂x")
    assert problem.column == column + 1


def test_lines_end_as_the_protocol_says_and_nowhere_else() -> None:
    text = "a\rb\r\nc\n\x0cd\u2028e\x85f\n"
    assert [problem.snippet for problem in found(*(item("x", line) for line in range(3)), text=text)] == [
        "a",
        "b",
        "c",
    ]


def found(*items: object, text: str = "one\ntwo\n") -> tuple[Problem, ...]:
    return parse_diagnostics(list(items), tool="t", path="p", text=text) or ()


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ({"severity": 1}, Severity.ERROR),
        ({"severity": 2}, Severity.WARNING),
        ({"severity": 3}, None),
        ({"severity": None}, Severity.ERROR),
        ({"severity": [1]}, None),
        ({"severity": None, "tags": [1], "code": "F401"}, None),
        ({"severity": 4, "tags": [1], "code": 6133}, None),
        ({"severity": 2, "tags": [9, 2], "code": None}, None),
        ({"severity": 2, "tags": [1], "code": {"value": "F401"}}, Severity.WARNING),
        ({"severity": 1, "tags": [2], "code": 6385}, Severity.ERROR),
        ({"tags": [[], {}]}, Severity.ERROR),
    ],
)
def test_errors_and_warnings_are_kept(more: dict[str, Any], severity: Severity | None) -> None:
    assert [problem.severity for problem in found(item() | more)] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (None, None),
        ({"line": -1, "character": 0}, None),
        ({"line": 1, "character": "x"}, None),
        ({"line": 1, "character": 1 << 70}, (2, 4)),
        ({"line": 1 << 70, "character": 0}, (3, 1)),
    ],
)
def test_places_behind_the_text_are_brought_back_to_it_and_odd_ones_left_out(
    start: object, expected: tuple[int, int] | None
) -> None:
    problems = found(item() | {"range": {"start": start}})
    assert [(problem.line, problem.column) for problem in problems] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("one\ntwo", "one"),
        ("\n \none  \ntwo", "one"),
        ("\x1b[31mred\x1b[0m\x00\x07", "red"),
        ("half \udc80", "half"),
        ({"kind": "markdown", "value": "marked"}, "marked"),
        ("x" * 5000, "x" * 300),
        ("a\u202eb\tc", "ab c"),
    ],
)
def test_messages_are_one_clean_line(message: object, shown: str) -> None:
    (problem,) = found(item() | {"message": message})
    assert problem.message == shown
    json.dumps(problem.message).encode()


def test_a_single_odd_item_costs_only_itself() -> None:
    odd = (None, item("a"), 3, [], item("b", 1), {})
    assert [problem.message for problem in found(*odd)] == ["a", "b"]
    assert parse_diagnostics({}, tool="t", path="p", text="") is None


def test_problems_come_by_line_with_the_source_they_stand_on() -> None:
    first, second = found(item("b", 1), item("a", 0), text="  one\n\ttwo\n")
    assert (first.message, first.line, first.snippet) == ("a", 1, "one")
    assert (second.message, second.line, second.snippet) == ("b", 2, "two")
