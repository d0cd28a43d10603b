"""The client of one language server, against a scripted one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.language_servers import FILE, PULL, PUSH, item, pulls, script
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
def test_garbage_ends_the_server_and_is_not_an_answer(play: Play, name: str) -> None:
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
def test_what_is_not_an_answer_is_not_a_clean_file(play: Play, actions: list[Any]) -> None:
    server = play(pulls(actions))
    server.edit()
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.server.closed("no such file")
    assert not server.server.documents[FILE].ready
    assert not server.server.off_reason


def test_the_text_before_is_checked_first_and_then_the_present_one(play: Play) -> None:
    server = play(pulls([["items", [item("old")]]], [["items", [item("old"), item("new", 1)]]]))
    server.edit()
    assert server.said() == ["old", "new"]
    assert [problem.message for problem in server.server.documents[FILE].base or ()] == ["old"]
    (opened,) = server.sent("textDocument/didOpen")
    (changed,) = server.sent("textDocument/didChange")
    assert opened["params"]["textDocument"]["text"] == "old\n"
    assert changed["params"]["contentChanges"] == [{"text": "new\n"}]


def test_a_new_file_has_no_problems_before(play: Play) -> None:
    server = play(pulls([["items", [item("new")]]]))
    server.edit(before=None)
    assert server.said() == ["new"]
    assert server.server.documents[FILE].base == ()


def test_an_answer_about_an_older_text_is_not_taken(play: Play) -> None:
    after: list[Any] = ["send", {"id": "after", "method": "none/such"}]
    server = play(pulls([["until", "go"], ["items", [item("stale")]]], [after]))
    server.edit("one\n", before=None)
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.edit("two\n")
    (server.folder / "go").touch()
    server.wait(lambda: "after" in server.answers())
    assert not server.server.documents[FILE].ready


def test_a_cancelled_request_is_sent_again(play: Play) -> None:
    server = play(pulls([["error", -32802]], [["items", [item("found")]]]))
    server.edit(before=None)
    assert server.said() == ["found"]


def test_what_servers_ask_is_answered(play: Play) -> None:
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
def test_one_that_does_not_start_is_off_and_says_why(play: Play, what: dict[str, Any], reason: str) -> None:
    assert play({"on": {}, **what}).off() == reason


def test_one_that_died_is_not_started_again(play: Play) -> None:
    server = play(pulls([["exit", 1]]))
    server.edit()
    assert server.off() == "it ended with exit code 1"
    server.edit("more\n")
    assert sum("life" in entry for entry in server.log()) == 1


@pytest.mark.parametrize("own_session", [False, True])
def test_what_it_forked_ends_with_it(play: Play, own_session: bool) -> None:
    server = play(pulls([["child", own_session], *CLEAN]))
    server.edit(before=None)
    assert server.said() == []
    server.wait(lambda: any("child" in entry for entry in server.log()))
    pids = [entry["child"] for entry in server.log() if "child" in entry]
    server.server.end()
    assert eventually(lambda: not any(_lives(pid) for pid in pids))


def test_files_have_encoded_names_and_are_compared_without(play: Play) -> None:
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
