"""The client of one language server, against a scripted one."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.evidence import Problem, Severity
from bot.toolhost.lsp.client import LanguageServer, SourceFile
from bot.toolhost.lsp.protocol import FrameError, parse_diagnostics, path_of, receive
from bot.toolhost.problem_record import code_points
from tests.support.language_servers import FILE, PULL, PUSH, item, pulls, script, start
from tests.support.workspaces import eventually
from tests.toolhost.lsp.conftest import Play

CLEAN: list[Any] = [["items", []]]
REPORT = {"id": 2, "result": {"kind": "full", "items": []}}
"""Would be taken for a clean file, were it believed: the first request after `initialize` is the second."""


def frame(message: object, says: int | None = None) -> str:
    body = message if isinstance(message, str) else json.dumps(message)
    return f"Content-Length: {len(body) if says is None else says}\r\n\r\n{body}"


GARBAGE = {
    "words": "Starting the server...\n\n\r\n\r\n" + frame(REPORT),
    "a head that does not end": "x" * 5000,
    "no length": "Content-Type: x\r\n\r\n" + frame(REPORT),
    "a length below zero": frame(REPORT, -1) + frame(REPORT),
    "a length that is too short": frame(REPORT, 10) + frame(REPORT),
    "a length that is too long": frame(REPORT, 100) + frame(REPORT),
    "a length above the most": frame(REPORT, (8 << 20) + 1),
    "no JSON": frame("{]"),
    "no object": frame([REPORT]),
    "no UTF-8": frame('{"id": 2, "result": {"kind": "full", "items": [], "x": "\xff"}}'),
    "deep": frame('{"id": 2, "result": {"kind": "full", "items": ' + "[" * 100_000 + "]" * 100_000 + "}}"),
    "a large number": frame('{"id": 2, "result": {"kind": "full", "items": [], "x": ' + "9" * 10_000 + "}}"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_ends_the_server_and_is_not_an_answer(play: Play, name: str):
    server = play(pulls([["raw", GARBAGE[name]]]))
    server.edit()
    assert server.off().startswith("it sent ")
    assert server.server.documents[FILE].problems is None


@pytest.mark.parametrize(
    "actions",
    [
        [["reply", None]],
        [["reply", {}]],
        [["reply", {"items": None}]],
        [["reply", {"items": {}}]],
        [["error", -32603]],
        [["send", {"id": 99, "result": {"items": []}}]],
        [["send", {"id": "2", "result": {"items": []}}]],
        [["send", {"id": True, "result": {"items": []}}]],
        [["publish", []]],
        [],
    ],
)
def test_what_is_not_an_answer_is_not_a_clean_file(play: Play, actions: list[Any]):
    server = play(pulls(actions))
    server.edit()
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.server.closed("no such file")
    assert not server.server.documents[FILE].ready
    assert not server.server.off_reason


def test_the_text_before_is_checked_first_and_then_the_present_one(play: Play):
    server = play(pulls([["items", [item("old")]]], [["items", [item("old"), item("new", 1)]]]))
    server.edit()
    assert server.said() == ["old", "new"]
    assert [problem.message for problem in server.server.documents[FILE].base or ()] == ["old"]
    (opened,) = server.sent("textDocument/didOpen")
    (changed,) = server.sent("textDocument/didChange")
    assert opened["params"]["textDocument"]["text"] == "old\n"
    assert changed["params"]["contentChanges"] == [{"text": "new\n"}]


def test_a_new_file_has_no_problems_before(play: Play):
    server = play(pulls([["items", [item("new")]]]))
    server.edit(before=None)
    assert server.said() == ["new"]
    assert server.server.documents[FILE].base == ()


def test_an_answer_about_an_older_text_is_not_taken(play: Play):
    after: list[Any] = ["send", {"id": "after", "method": "none/such"}]
    server = play(pulls([["until", "go"], ["items", [item("stale")]]], [after]))
    server.edit("one\n", before=None)
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.edit("two\n")
    (server.folder / "go").touch()
    server.wait(lambda: "after" in server.answers())
    assert not server.server.documents[FILE].ready


def test_a_cancelled_request_is_sent_again(play: Play):
    server = play(pulls([["error", -32802]], [["items", [item("found")]]]))
    server.edit(before=None)
    assert server.said() == ["found"]


def test_what_servers_ask_is_answered(play: Play):
    asked = [
        ("workspace/configuration", {"items": [{"section": "a"}, {}]}, [None, None]),
        ("workspace/configuration", {"items": 1}, []),
        ("client/registerCapability", {"registrations": []}, None),
        ("window/workDoneProgress/create", None, None),
        ("workspace/diagnostic/refresh", [], None),
    ]
    requests = [
        ["send", {"id": n, "method": method, "params": params}] for n, (method, params, _) in enumerate(asked)
    ]
    server = play(script(PULL, {"initialized": [requests]}))
    server.wait(lambda: len(server.answers()) == len(asked))
    assert [server.answers()[n]["result"] for n in range(len(asked))] == [result for *_, result in asked]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ({"start": [["exit", 3]]}, "it ended with exit code 3"),
        ({"start": [["kill", 11]]}, "it ended with exit code -11"),
        ({"start": [["close"], ["sleep", 3600]]}, "it closed its standard output"),
        ({"on": {"initialize": [[["error", -32603]]]}}, "it refused to start: as scripted"),
        ({"on": {"initialize": [[["reply", None]]]}}, "it refused to start:"),
    ],
)
def test_one_that_does_not_start_is_off_and_says_why(play: Play, what: dict[str, Any], reason: str):
    assert play({"on": {}, **what}).off() == reason


def test_one_that_died_is_not_started_again(play: Play):
    server = play(pulls([["exit", 1]]))
    server.edit()
    assert server.off() == "it ended with exit code 1"
    server.edit("more\n")
    assert sum("life" in entry for entry in server.log()) == 1


@pytest.mark.parametrize("own_session", [False, True])
def test_what_it_forked_ends_with_it(play: Play, own_session: bool):
    server = play(pulls([["child", own_session], *CLEAN]))
    server.edit(before=None)
    assert server.said() == []
    server.wait(lambda: any("child" in entry for entry in server.log()))
    pids = [entry["child"] for entry in server.log() if "child" in entry]
    server.server.end()
    assert eventually(lambda: not any(_lives(pid) for pid in pids))


def test_files_have_encoded_names_and_are_compared_without(play: Play):
    name = "a b#%ü.py"
    server = play(script(PUSH, {"textDocument/didOpen": [[["publish", [item("found")]]]]}))
    server.edit(path=name, before=None)
    assert server.said(name) == ["found"]
    (opened,) = server.sent("textDocument/didOpen")
    assert opened["params"]["textDocument"]["uri"].endswith("/a%20b%23%25%C3%BC.py")


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


TEXTS = st.text(max_size=20)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([b"Content-Length: 3", b"\r\n\r\n", b"{}", b"\r\n"]))
)
def test_whatever_comes_is_a_message_or_an_error(pieces: list[bytes]):
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
def test_names_of_files_are_decoded_before_they_are_compared(uri: object, path: str):
    assert path_of(uri) == path


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.data())
def test_columns_are_counted_in_utf_16(line: str, data: st.DataObject):
    before = data.draw(st.integers(0, len(line)))
    units = len(line[:before].encode("utf-16-le")) // 2
    assert code_points(line, units + 1, "utf-16") == before + 1


@pytest.mark.parametrize(("character", "column"), [(1, 0), (2, 1), (99, 2)])
def test_a_column_within_a_letter_is_before_it_and_one_behind_the_line_its_end(character: int, column: int):
    [problem] = found({**item("m"), "range": {"start": {"line": 0, "character": character}}}, text="🙂x")
    assert problem.column == column + 1


def test_lines_end_as_the_protocol_says_and_nowhere_else():
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
def test_errors_and_warnings_are_kept(more: dict[str, Any], severity: Severity | None):
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
):
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
def test_messages_are_one_clean_line(message: object, shown: str):
    (problem,) = found(item() | {"message": message})
    assert problem.message == shown
    json.dumps(problem.message).encode()


def test_a_single_odd_item_costs_only_itself():
    odd = (None, item("a"), 3, [], item("b", 1), {})
    assert [problem.message for problem in found(*odd)] == ["a", "b"]
    assert parse_diagnostics({}, tool="t", path="p", text="") is None


def test_problems_come_by_line_with_the_source_they_stand_on():
    first, second = found(item("b", 1), item("a", 0), text="  one\n\ttwo\n")
    assert (first.message, first.line, first.snippet) == ("a", 1, "one")
    assert (second.message, second.line, second.snippet) == ("b", 2, "two")


BIN = Path(sys.executable).parent
ODD_NAME = "the module ü#.py"
WRONG = 'import os\n"{}".format(1, 2)\nnumber: int = "🙂ü"; other: int = "b"\n'


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LanguageServer]]:
    root = tmp_path_factory.mktemp("a root with %20 in it")
    (root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["E9", "F"]\n')
    started = {name: start((str(BIN / name), "server"), root, name) for name in ("ruff", "ty")}
    yield started
    for server in started.values():
        server.end()


def file(server: LanguageServer, name: str, text: str) -> SourceFile:
    """A new file, or the open one with this text."""
    found = server.documents[name].file if name in server.documents else SourceFile(name, None, text)
    found.now = text
    return found


def problems(server: LanguageServer, name: str, text: str) -> tuple[Problem, ...]:
    server.read(file(server, name, text), "python")
    assert eventually(lambda: server.is_done([name])), server.off_reason
    return server.documents[name].problems or ()


def test_both_find_what_is_wrong_at_its_place_and_what_was_put_right(servers: dict[str, LanguageServer]):
    unused, format_ = problems(servers["ruff"], ODD_NAME, WRONG)
    assert (unused.code, unused.severity) == ("F401", Severity.WARNING)
    assert (format_.tool, format_.path, format_.code, format_.line) == ("ruff", ODD_NAME, "F523", 2)
    first, second = problems(servers["ty"], ODD_NAME, WRONG)
    assert (first.line, first.column) == (3, 15)
    assert (second.line, second.column, second.code) == (3, 34, "invalid-assignment")
    assert first.severity is Severity.ERROR
    assert first.snippet == 'number: int = "🙂ü"; other: int = "b"'
    for server in servers.values():
        assert problems(server, ODD_NAME, "number: int = 1\n") == ()
