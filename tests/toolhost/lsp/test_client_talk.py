"""What the client must do, one test each: every item was needed by at least one real server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.lsp.process import ServerConfig
from tests.support.language_servers import FILE, PULL, PUSH, SHORT, Scripted, item, pulls, script

Play = Callable[..., Scripted]
NOTHING: list[Any] = [["items", []]]


def version_argv(*requests: dict[str, Any]) -> dict[str, Any]:
    """One that asks the client before it answers anything."""
    return pulls(NOTHING) | {
        "on": pulls(NOTHING)["on"] | {"initialized": [[["send", request] for request in requests]]}
    }


def request(identity: object, method: str, params: object = None) -> dict[str, Any]:
    return {"id": identity, "method": method} | ({} if params is None else {"params": params})


def registers(*methods: str, **options: object) -> dict[str, Any]:
    registrations = [{"id": method, "method": method, "registerOptions": options} for method in methods]
    return request(1, "client/registerCapability", {"registrations": registrations})


def test_a_request_is_answered_whatever_its_id(play: Play) -> None:
    ids: list[Any] = [0, 1, -5, "0", "ts1", ""]
    server = play(
        version_argv(*(request(identity, "window/workDoneProgress/create", {"token": 1}) for identity in ids))
    )
    server.wait(lambda: len(server.answers()) == len(ids))
    assert [answer["result"] for answer in server.answers().values()] == [None] * len(ids)
    assert list(server.answers()) == ids


def test_the_configuration_has_one_value_for_each_item(play: Play) -> None:
    items = [
        {"section": "a.b"},
        {"section": "a"},
        {"section": "none.such"},
        {},
        {"scopeUri": "file:///", "section": ""},
    ]
    settings = {"a": {"b": [1]}}
    server = play(version_argv(request(0, "workspace/configuration", {"items": items})), settings=settings)
    server.wait(server.answers)
    assert server.answers()[0]["result"] == [[1], {"b": [1]}, None, settings, settings]
    assert server.sent("workspace/didChangeConfiguration")[0]["params"] == {"settings": settings}


def test_what_servers_ask_is_answered(play: Play) -> None:
    expected = {
        "client/registerCapability": None,
        "client/unregisterCapability": None,
        "window/showMessageRequest": None,
        "workspace/diagnostic/refresh": None,
        "workspace/inlayHint/refresh": None,
        "workspace/applyEdit": {"applied": False},
    }
    server = play(version_argv(*(request(method, method, {}) for method in expected)))
    server.wait(lambda: len(server.answers()) == len(expected))
    assert {method: answer["result"] for method, answer in server.answers().items()} == expected


def test_a_request_that_nobody_knows_is_an_error(play: Play) -> None:
    server = play(
        version_argv(request(0, "window/showDocument", {"uri": "file:///etc/passwd"}), request(1, "no/such"))
    )
    server.wait(lambda: len(server.answers()) == 2)
    assert [answer["error"]["code"] for answer in server.answers().values()] == [-32601, -32601]


def test_parameters_are_left_out_where_there_are_none(play: Play) -> None:
    server = play(pulls(NOTHING))
    server.open()
    server.ask()
    server.server.stop()
    assert "params" not in server.sent("shutdown")[0]
    assert "params" not in server.sent("exit")[0]


def test_one_that_says_at_once_that_it_can_be_asked_is_asked(play: Play) -> None:
    server = play(pulls([["items", [item("found")]]]))
    server.open()
    assert server.said() == ["found"]


def test_one_that_says_so_later_is_asked_too(play: Play) -> None:
    what = script(
        PUSH,
        {
            "initialized": [[["send", registers("textDocument/diagnostic", identifier="mine")]]],
            "textDocument/diagnostic": [[["items", [item("found")]]]],
        },
    )
    server = play(what)
    server.open()
    assert server.said() == ["found"]
    assert server.sent("textDocument/diagnostic")[0]["params"]["identifier"] == "mine"


def test_one_that_says_so_when_it_was_taken_for_one_that_only_tells_is_asked_all_the_same(play: Play) -> None:
    """basedpyright on a busy machine."""
    registered = [["send", registers("textDocument/diagnostic")]]
    pull = [[["items", [item("found")]]]]
    server = play(script(PUSH, {"textDocument/didSave": [registered], "textDocument/diagnostic": pull}))
    server.open()
    server.wait(lambda: server.sent("textDocument/didOpen"))
    assert server.ask(SHORT).answer is Answer.TIMED_OUT
    server.server.save(FILE)
    assert server.said() == ["found"]


def test_that_it_may_say_so_later_is_announced(play: Play) -> None:
    server = play(pulls(NOTHING))
    server.wait(lambda: server.sent("initialize"))
    announced = server.sent("initialize")[0]["params"]["capabilities"]
    assert announced["textDocument"]["diagnostic"] == {"dynamicRegistration": True}
    assert announced["general"]["positionEncodings"] == ["utf-8", "utf-16"]


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", 6), (None, 3)])
def test_an_edit_replaces_the_whole_old_text_by_its_range(play: Play, encoding: object, end: int) -> None:
    server = play(script(PULL | {"positionEncoding": encoding}, {"textDocument/diagnostic": [NOTHING]}))
    server.open("one\r\ntwo\rthree\nü🙂")
    server.ask()
    server.server.change(FILE, "new\n")
    server.ask()
    (change,) = server.sent("textDocument/didChange")
    assert change["params"]["textDocument"]["version"] == 2
    assert change["params"]["contentChanges"] == [
        {
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": end}},
            "text": "new\n",
        }
    ]


def test_one_that_takes_no_ranges_gets_none(play: Play) -> None:
    sync = {"openClose": True, "change": 1}
    server = play(script(PULL | {"textDocumentSync": sync}, {"textDocument/diagnostic": [NOTHING]}))
    server.open()
    server.ask()
    server.server.change(FILE, "new\n")
    server.ask()
    assert server.sent("textDocument/didChange")[0]["params"]["contentChanges"] == [{"text": "new\n"}]


def test_a_text_that_is_the_same_is_not_sent(play: Play) -> None:
    server = play(script(PUSH, {"textDocument/didOpen": [[["publish", [item("found")], 0]]]}))
    server.open("same\n")
    assert server.said() == ["found"]
    server.server.change(FILE, "same\n")
    server.open("same\n")
    assert server.said() == ["found"]
    assert not server.sent("textDocument/didChange")
    assert len(server.sent("textDocument/didOpen")) == 1


def test_each_message_is_one_write(play: Play) -> None:
    def by_packets(program: ServerConfig) -> subprocess.Popen[bytes]:
        there, here = os.pipe2(os.O_DIRECT | os.O_CLOEXEC)  # each write is one read
        process = subprocess.Popen(
            program.argv, stdin=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        os.close(there)
        process.stdin = os.fdopen(here, "wb", buffering=0)
        return process

    server = play(pulls(NOTHING) | {"packets": True}, spawn=by_packets)
    server.open()
    server.ask()
    packets = [entry["packet"] for entry in server.log() if "packet" in entry]
    assert len(packets) >= 4
    assert all(packet.startswith("Content-Length: ") and packet.endswith("}") for packet in packets)


def test_standard_error_is_read_and_its_end_kept(play: Play) -> None:
    server = play(pulls(NOTHING, start=[["stderr", "x", 1 << 18], ["stderr", "the last words\n", 1]]))
    server.open()
    assert server.ask().answer is Answer.COMPLETE
    assert server.server.stderr_tail.endswith("xthe last words\n")
    assert len(server.server.stderr_tail) == 8192


@pytest.mark.parametrize("own_session", [False, True])
def test_what_it_forked_ends_with_it(play: Play, own_session: bool) -> None:
    server = play(pulls([["child", own_session], ["items", []]]))
    server.open()
    server.ask()
    server.wait(lambda: any("child" in entry for entry in server.log()))
    pids = [
        entry.get("child") or entry.get("pid") for entry in server.log() if {"child", "pid"} & entry.keys()
    ]
    server.server.stop()
    server.wait(lambda: not any(alive(pid) for pid in pids))


def test_who_waits_is_told_of_its_end(play: Play) -> None:
    server = play(pulls([["exit", 3]]))
    server.open()
    answered = server.ask()
    assert answered.answer is Answer.UNAVAILABLE
    assert answered.note == "ended twice: it ended with exit code 3"


def test_a_child_that_keeps_its_output_open_hides_no_end(play: Play) -> None:
    server = play(pulls([["child", False], ["kill", 9]]))
    server.open()
    assert server.ask().note == "ended twice: it was ended by SIGKILL"


def test_a_request_that_takes_too_long_is_taken_back(play: Play) -> None:
    server = play(pulls([]))
    server.open()
    assert server.ask(SHORT).answer is Answer.TIMED_OUT
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.server.change(FILE, "other\n")
    server.wait(lambda: server.sent("$/cancelRequest"))
    asked = server.sent("textDocument/diagnostic")[0]["id"]
    assert server.sent("$/cancelRequest")[0]["params"] == {"id": asked}


def test_files_have_encoded_names_and_are_compared_without(play: Play) -> None:
    path = "a b%20c/ü#?.py"
    server = play(script(PUSH))
    server.open(path=path)
    server.wait(lambda: server.sent("textDocument/didOpen"))
    uri = server.sent("textDocument/didOpen")[0]["params"]["textDocument"]["uri"]
    assert uri == f"file://{server.folder}/a%20b%2520c/%C3%BC%23%3F.py"
    other = (
        uri.replace("%C3%BC", "%c3%bc").replace("/a%20", "/%61%20").replace("file:///", "file://localhost/")
    )
    published = {"uri": other, "diagnostics": [item("found")]}
    again = play(
        script(PUSH, {"textDocument/didOpen": [[["send", {"method": PUBLISH, "params": published}]]]})
    )
    again.open(path=path)
    assert [problem.path for problem in again.ask(path=path).items] == [path]


PUBLISH = "textDocument/publishDiagnostics"


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 9), ("utf-16", 6)])
def test_columns_are_letters_whatever_the_server_counts(play: Play, encoding: object, character: int) -> None:
    place = {"start": {"line": 1, "character": character}, "end": {"line": 1, "character": character + 1}}
    found = item() | {"range": place}
    server = play(
        script(PULL | {"positionEncoding": encoding}, {"textDocument/diagnostic": [[["items", [found]]]]})
    )
    server.open('x\n"🙂ü" y\n')
    (problem,) = server.ask().items
    assert (problem.line, problem.column, problem.end_column, problem.snippet) == (2, 6, 7, '"🙂ü" y')


def test_a_saved_file_is_told_to_those_that_want_to_know(play: Play) -> None:
    wants = script(PULL | {"textDocumentSync": {"change": 2, "save": {"includeText": True}}})
    wants_not = script(PULL | {"textDocumentSync": {"change": 2}})
    one, other = play(wants), play(wants_not)
    for server in (one, other):
        server.open("text\n")
        server.ask()
        server.server.save(FILE)
        server.server.close_file(FILE)
        server.wait(lambda server=server: server.sent("textDocument/didClose"))
    assert one.sent("textDocument/didSave")[0]["params"]["text"] == "text\n"
    assert not other.sent("textDocument/didSave")


def test_files_on_disk_are_told_to_those_that_want_to_know(play: Play) -> None:
    """But not that one changed which is open: what it was sent counts, and ty would be asked twice for it."""
    watch = [[["send", registers("workspace/didChangeWatchedFiles")]]]
    server = play(script(PULL, {"initialized": watch, "textDocument/diagnostic": [NOTHING]}))
    server.open()
    server.ask()
    server.wait(server.answers)
    server.server.files_changed({FILE: "changed"})
    server.server.files_changed(
        {"new.py": "created", "old.py": "deleted", FILE: "changed", "other.py": "changed"}
    )
    server.wait(lambda: server.sent("workspace/didChangeWatchedFiles"))
    (state,) = server.sent("workspace/didChangeWatchedFiles")
    assert [(change["uri"].rpartition("/")[2], change["type"]) for change in state["params"]["changes"]] == [
        ("new.py", 1),
        ("old.py", 3),
        ("other.py", 2),
    ]


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
