"""Servers that answer garbage, never answer, flood, or die: each costs its diagnostics and nothing else, and what
nobody said is never a clean file."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.lsp.codecs import FrameError, LspCodec
from bot.toolhost.lsp.process import ServerConfig, TrafficLimits
from bot.toolhost.lsp.server_loop import ServerLoop
from tests.support.language_servers import (
    FILE,
    LONG,
    PULL,
    PUSH,
    QUICK,
    SHORT,
    Scripted,
    item,
    pulls,
    script,
)

Play = Callable[..., Scripted]
REPORT = {"id": 2, "result": {"kind": "full", "items": []}}
"""What would be taken for a clean file, were it believed: the first request after `initialize` is the second."""


def frame(message: object, says: int | None = None) -> str:
    body = message if isinstance(message, str) else json.dumps(message)
    return f"Content-Length: {len(body) if says is None else says}\r\n\r\n{body}"


GARBAGE = {
    "words": "Starting the server...\n\n\r\n\r\n" + frame(REPORT),
    "a head that does not end": "x" * 5000,
    "a head of many lines": "X-Filler: 1\r\n" * 1000,
    "no length": "Content-Type: x\r\n\r\n" + frame(REPORT),
    "a length below zero": frame(REPORT, -1) + frame(REPORT),
    "a length that is too short": frame(REPORT, 10) + frame(REPORT),
    "a length that is too long": frame(REPORT, 100) + frame(REPORT),
    "a length of a terabyte": frame(REPORT, 1 << 40),
    "a length above the most": frame(REPORT, (8 << 20) + 1),
    "two lengths": "Content-Length: 1\r\n" + frame(REPORT),
    "no JSON": frame("{]"),
    "no object": frame([REPORT]),
    "no number": frame('{"id": 2, "result": {"kind": "full", "items": [], "x": NaN}}'),
    "no UTF-8": frame('{"id": 2, "result": {"kind": "full", "items": [], "x": "\xff"}}'),
    "deep": frame('{"id": 2, "result": {"kind": "full", "items": ' + "[" * 100_000 + "]" * 100_000 + "}}"),
    "a large number": frame('{"id": 2, "result": {"kind": "full", "items": [], "x": ' + "9" * 10_000 + "}}"),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_message(name: str) -> None:
    frames = LspCodec(TrafficLimits().message)
    with pytest.raises(FrameError):
        for begin in range(0, len(GARBAGE[name]), 499):
            assert list(frames.feed(GARBAGE[name][begin : begin + 499].encode("latin-1"))) == []


@pytest.mark.parametrize("name", ["words", "a length that is too short", "deep"])
def test_garbage_ends_the_server_and_is_no_answer(play: Play, name: str) -> None:
    server = play(pulls([["raw", GARBAGE[name]]]))
    server.open()
    answered = server.ask()
    assert answered.answer is Answer.UNAVAILABLE
    assert answered.note.startswith("ended twice: it sent ")
    assert server.server.off_reason == answered.note


def test_an_answer_without_a_report_is_not_a_clean_file(play: Play) -> None:
    odd: list[Any] = [
        None,
        [],
        {"kind": "full"},
        {"kind": "unchanged", "resultId": "1"},
        {"items": {"0": item()}},
    ]
    server = play(pulls(*([["reply", one]] for one in odd)))
    server.open()
    for _ in odd:
        answered = server.ask()
        assert (answered.answer, answered.note) == (Answer.UNAVAILABLE, "answered with an error: no report")
    assert not server.server.off_reason


def test_an_error_for_an_answer_is_said(play: Play) -> None:
    server = play(pulls([["error", -32603]], [["items", []]]))
    server.open()
    assert server.ask().note == "answered with an error: as scripted"
    assert server.ask().answer is Answer.COMPLETE


def test_what_is_nobodys_answer_changes_nothing(play: Play) -> None:
    strangers = [
        {"id": identity, "result": REPORT["result"]} for identity in (True, "2", 2.0, None, 77, [2], {})
    ]
    wrong = [{"method": None, "params": 1}, {"method": 3, "id": 4}, {"id": [1], "method": "a"}, {}]
    params: list[Any] = [None, 1, [], {}, {"uri": 1}, {"uri": "file://%ff/"}, {"uri": "file:///%00"}]
    published = [{"method": "textDocument/publishDiagnostics", "params": one} for one in params]
    progress = [{"method": "$/progress", "params": {"token": [1], "value": one}} for one in params]
    sent = [*strangers, *wrong, *published, *progress]
    server = play(pulls([*(["send", one] for one in sent), ["items", [item("found")]]]))
    server.open()
    assert server.said() == ["found"]


def test_requests_with_odd_parameters_are_answered(play: Play) -> None:
    odd: list[Any] = [None, 1, [], {}, {"items": 1, "registrations": 1}]
    odd += [{"items": [None, 1, {"section": 1}, {"section": "."}], "registrations": [None, {"id": 1}, {}]}]
    version_argv = [
        ["send", {"id": f"{method} {number}", "method": method, "params": one}]
        for method in ("workspace/configuration", "client/registerCapability", "client/unregisterCapability")
        for number, one in enumerate(odd)
    ]
    server = play(pulls([*version_argv, ["items", [item("found")]]]))
    server.open()
    assert server.said() == ["found"]
    server.wait(lambda: len(server.answers()) == len(version_argv))
    assert all("result" in answer for answer in server.answers().values())


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            {"start": [["stderr", "no such\x1b[31m thing\n", 1], ["exit", 4]]},
            "it ended with exit code 4: no such thing",
        ),
        ({"on": {"initialize": [[["error", -32000]]]}}, "as scripted"),
        ({"on": {"initialize": [[]]}}, "its start took more than 0.1 s"),
        ({"start": [["close"], ["sleep", 3600]]}, "it closed its standard output"),
    ],
)
def test_one_that_does_not_start_is_off_and_says_why(play: Play, what: dict[str, Any], said: str) -> None:
    timeouts = replace(QUICK, start=0.1 if "took" in said else LONG)
    server = play(what, timeouts=timeouts)
    server.open()
    assert server.ask().answer is Answer.UNAVAILABLE
    assert server.server.off_reason == f"could not be started: {said}"
    assert sum("life" in entry for entry in server.log()) <= 1


@pytest.mark.parametrize("argv", [("/no/such/program",), ("a\0b",)])
def test_one_that_is_not_there_is_off(loop: ServerLoop, tmp_path: Path, argv: tuple[str, ...]) -> None:
    server = loop.start(ServerConfig("missing", argv, tmp_path, {}))
    server.open(FILE, "", "python")
    assert server.diagnostics([FILE], LONG)[FILE].answer is Answer.UNAVAILABLE
    assert server.off_reason.startswith("could not be started: ")
    assert (server.memory(), server.late_diagnostics(), server.version) == (0, {}, "")


def test_one_that_never_answers_is_unknown_begun_again_without_the_file_and_then_off(play: Play) -> None:
    server = play(pulls([], start=[]), timeouts=replace(QUICK, answer=SHORT))
    server.open()
    server.open("x", "small.py")
    server.wait(lambda: server.sent("textDocument/didOpen"))
    first = server.ask(SHORT)
    assert first.answer is Answer.TIMED_OUT
    assert first.items == ()
    assert not server.server.off_reason
    server.server.change(FILE, "other\n")
    server.ask(SHORT)
    assert (server.server.skipped, server.server.off_reason) == ((FILE,), "")
    server.open("another text\n")
    began = time.monotonic()
    assert server.ask(LONG).answer is Answer.UNAVAILABLE
    assert time.monotonic() - began < LONG / 2
    server.wait(lambda: server.ask(SHORT, "small.py") and server.server.off_reason)
    assert server.server.off_reason == "did not answer in time 2 times in a row"
    opened = [entry["params"]["textDocument"]["uri"] for entry in server.sent("textDocument/didOpen")]
    assert [uri.rpartition("/")[2] for uri in opened] == [FILE, "small.py", "small.py"]


def test_one_slow_file_is_left_out_and_the_others_are_looked_at(play: Play) -> None:
    found: list[Any] = [["items", [item("found")]]]
    server = play(pulls([], lives={"1": pulls(found)}), timeouts=replace(QUICK, answer=SHORT))
    server.open("large " * 100, "generated.py")
    server.open("small", "importer.py")
    server.wait(lambda: server.sent("textDocument/didOpen"))
    both = ["generated.py", "importer.py"]
    server.wait(lambda: server.server.diagnostics(both, SHORT) and server.server.skipped)
    assert server.server.skipped == ("generated.py",)
    answers = server.server.diagnostics(both, LONG)
    assert [answers[name].answer for name in both] == [Answer.UNAVAILABLE, Answer.COMPLETE]
    assert answers["importer.py"].items[0].message == "found"


def long_ago(server: Scripted) -> None:
    """As if it had been begun, and had answered, longer ago than anybody has answer."""
    language_server = server.server
    server.wait(lambda: language_server.process.started_at)
    language_server.process.started_at, language_server._last_answer = -2 * LONG, 0.0


def test_one_that_answered_a_moment_ago_has_time(play: Play) -> None:
    """Two edits close together need more of it than one: breaks bot/toolhost/lsp/server.py "or not had_time"."""
    server = play(pulls([["items", []]], []))
    server.open()
    assert server.said() == []
    for number in range(2):
        server.server.change(FILE, f"{number}\n")
        assert server.ask(SHORT).answer is Answer.TIMED_OUT
    assert not server.server.off_reason
    long_ago(server)
    server.ask(SHORT)
    assert server.server.skipped == (FILE,)


BUSY = [["progress", "t", "begin"]]


def test_one_that_says_it_is_busy_is_given_time_however_often_it_is_asked(play: Play) -> None:
    done = [["sleep", 0.2], ["progress", "t", "end"], ["items", [item("found")]]]
    server = play(
        script(PULL, {"initialized": [BUSY], "textDocument/diagnostic": [done]}),
        timeouts=replace(QUICK, answer=SHORT),
    )
    server.open()
    server.wait(lambda: server.sent("textDocument/didOpen"))
    server.wait(lambda: server.server.process.client.busy)
    for _ in range(3):
        assert server.ask(SHORT / 10).answer is Answer.TIMED_OUT
    assert server.said() == ["found"]
    assert not server.server.loading


def test_one_that_is_busy_for_too_long_is_not_waited_for(play: Play) -> None:
    server = play(
        script(PULL, {"initialized": [BUSY], "textDocument/diagnostic": [[]]}),
        timeouts=replace(QUICK, answer=SHORT, loading=SHORT),
    )
    server.open()
    server.wait(lambda: server.server.process.client.busy)
    for number in range(2):
        assert server.ask(SHORT).answer is Answer.TIMED_OUT
        server.server.change(FILE, f"{number}\n")
    assert server.server.skipped == (FILE,)


def test_deadlines_count_only_in_a_row(play: Play) -> None:
    answered: list[Any] = [["items", [item("found")]]]
    server = play(pulls(answered, [], answered, []), timeouts=replace(QUICK, refresh=0.0))
    server.open()
    for number in range(4):
        server.server.change(FILE, f"{number}\n")
        long_ago(server)
        server.ask(LONG if number % 2 == 0 else SHORT)
        server.wait(lambda number=number: len(server.sent("textDocument/diagnostic")) > number)
    assert not server.server.off_reason


def test_a_slow_first_answer_is_no_reason_to_give_up(play: Play) -> None:
    server = play(pulls([], [], [["items", [item("found")]]]))  # its answer is long
    server.open()
    for number in range(2):
        server.ask(SHORT)
        server.wait(lambda number=number: len(server.sent("textDocument/diagnostic")) > number)
        server.server.change(FILE, f"{number}\n")
    assert server.said() == ["found"]


def reply(identity: int, message: str) -> list[Any]:
    return ["send", {"id": identity, "result": {"kind": "full", "items": [item(message)]}}]


def test_what_comes_late_comes_with_the_next_result_and_once(play: Play) -> None:
    on = {"textDocument/diagnostic": [[]], "textDocument/didSave": [[reply(2, "late")]]}
    server = play(script(PULL, on))
    server.open()
    assert server.ask(SHORT).answer is Answer.TIMED_OUT
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    assert server.server.late_diagnostics() == {}
    server.server.save(FILE)
    found: dict[str, Any] = {}
    server.wait(lambda: found.update(server.server.late_diagnostics()) or found)
    assert [problem.message for problem in found[FILE].items] == ["late"]
    assert server.server.late_diagnostics() == {}


def test_what_comes_late_about_an_older_text_never_comes(play: Play) -> None:
    server = play(pulls([], [reply(2, "old"), ["items", [item("new")]]]))
    server.open()
    assert server.ask(SHORT).answer is Answer.TIMED_OUT
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    server.server.change(FILE, "other\n")
    assert server.said() == ["new"]
    assert server.server.late_diagnostics() == {}


def test_what_a_server_takes_back_comes_with_the_next_result(play: Play) -> None:
    save = [[["publish", [item("more")]]], [["publish", [item("more")]]], [["publish", [item("less")]]]]
    server = play(script(PUSH, {"textDocument/didOpen": [[["publish", []]]], "textDocument/didSave": save}))
    server.open()
    assert server.said() == []
    for words in ("more", "less"):
        server.server.save(FILE)
        found: dict[str, Any] = {}
        server.wait(lambda found=found: found.update(server.server.late_diagnostics()) or found)
        assert [problem.message for problem in found[FILE].items] == [words]
        if words == "more":
            server.server.save(FILE)
            server.wait(lambda: len(server.sent("textDocument/didSave")) == 2)
    assert server.server.late_diagnostics() == {}


def test_an_answer_that_was_too_early_is_put_right_with_the_next_result(play: Play) -> None:
    """A word that comes too late for the answer: the machine was busy."""
    refresh = ["send", {"id": 0, "method": "workspace/diagnostic/refresh"}]
    asked = {"textDocument/diagnostic": [[["items", []]], [["items", [item("more")]]]]}
    server = play(script(PULL, asked | {"textDocument/didSave": [[refresh]]}))
    server.open()
    assert server.said() == []
    server.server.save(FILE)
    found: dict[str, Any] = {}
    server.wait(lambda: found.update(server.server.late_diagnostics()) or found)
    assert [problem.message for problem in found[FILE].items] == ["more"]


def test_one_that_dies_is_started_once_more_with_all_open_files(play: Play) -> None:
    server = play(pulls([["exit", 1]], lives={"1": pulls([["items", [item("found")]]])}))
    server.open("first\n", "one.py")
    server.open("second\n")
    server.server.change(FILE, "third\n")
    assert server.said() == ["found"]
    assert not server.server.off_reason
    opened = [message["params"]["textDocument"] for message in server.sent("textDocument/didOpen")][-2:]
    assert {one["text"] for one in opened} == {"first\n", "third\n"}


def test_one_that_dies_amid_edits_costs_no_answer(play: Play) -> None:
    dies = {"textDocument/didChange": [[["kill", 9]]], "textDocument/diagnostic": [[["items", []]]]}
    server = play(script(PULL, dies) | {"lives": {"1": pulls([["items", [item("found")]]])}})
    server.open()
    server.ask()
    for number in range(20):
        server.server.change(FILE, f"{number}\n")
    assert server.said() == ["found"]
    assert server.sent("textDocument/didOpen")[-1]["params"]["textDocument"]["text"] == "19\n"


def test_a_second_death_is_the_last(play: Play) -> None:
    server = play(pulls([["stderr", "panic!\n", 1], ["exit", 1]]))
    server.open()
    assert server.ask().answer is Answer.UNAVAILABLE
    assert server.server.off_reason == "ended twice: it ended with exit code 1: panic!"
    assert sum("life" in entry for entry in server.log()) == 2


@pytest.mark.parametrize(
    "flood",
    [
        ["flood", {"method": "window/logMessage", "params": {"message": "x" * 1000}}],
        ["flood", {"method": "$/progress", "params": {"token": 1, "value": {"kind": "report"}}}],
        ["raw", frame({"method": "a", "params": "x" * (1 << 20)}), 8],
        ["stderr", "e" * (1 << 20), 8],
    ],
    ids=["messages", "progress", "bytes", "complaints"],
)
def test_a_flood_is_dammed(play: Play, flood: list[Any]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    server = play(pulls([flood]), limits=TrafficLimits(received=4 << 20, messages=300))
    server.open()
    assert "without a request" in server.ask().note
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


def test_a_server_that_asks_without_end_and_reads_nothing_is_ended(play: Play) -> None:
    limits = TrafficLimits(unread=1 << 18, messages=1 << 30, received=1 << 40)
    server = play(pulls([["flood", {"id": "x" * 1000, "method": "none/such"}]]), limits=limits)
    server.open()
    answered = server.ask()
    assert answered.note == "ended twice: it does not read what it is sent"


def test_one_that_does_not_read_holds_nobody_up(play: Play) -> None:
    server = play(pulls([["sleep", 3600]]), limits=TrafficLimits(unread=1 << 20))
    server.open()
    server.ask(SHORT)
    server.wait(lambda: server.sent("textDocument/diagnostic"))
    for number in range(9):
        server.server.change(FILE, str(number) * (1 << 18))
    server.wait(lambda: len([entry for entry in server.log() if "life" in entry]) == 2)


def test_ten_thousand_problems_are_kept_and_those_beyond_counted(play: Play) -> None:
    every = [item("x", line) for line in range(10_007)]
    server = play(pulls([["items", every]]))
    server.open("x\n" * 10_007)
    answered = server.ask()
    assert answered.answer is Answer.COMPLETE
    assert (len(answered.items), answered.dropped) == (10_000, 7)


def test_what_is_not_open_is_not_asked_for(play: Play) -> None:
    server = play(pulls([["items", []]]))
    server.open()
    assert server.ask(path="other.py").note == "not open"
    server.server.close_file(FILE)
    assert server.ask().note == "not open"
    assert not server.sent("textDocument/diagnostic")


def test_one_slow_server_takes_nothing_from_a_quick_one(play: Play, loop: ServerLoop) -> None:
    quick = play(pulls([["items", [item("found")]]]))
    slow = play(pulls([]), timeouts=replace(QUICK, answer=SHORT))
    for one in (quick, slow):
        one.open()
    found = loop.diagnostics({slow.server: [FILE], quick.server: [FILE]}, LONG)
    assert found[quick.server][FILE].answer is Answer.COMPLETE
    assert found[slow.server][FILE].answer is Answer.TIMED_OUT


def test_a_stop_is_never_waited_for_longer_than_it_may_take(tmp_path: Path) -> None:
    loop = ServerLoop()
    on = {"shutdown": [[["sleep", 3600]]]}
    servers = [
        Scripted(loop, tmp_path, script(PULL, on), timeouts=replace(QUICK, stop=0.1)) for _ in range(2)
    ]
    servers.append(Scripted(loop, tmp_path, {"on": {"initialize": [[]]}}))
    for one in servers:
        one.wait(lambda one=one: one.sent("initialize"))
    began = time.monotonic()
    loop.stop()
    loop.stop()
    assert time.monotonic() - began < LONG / 2
    for one in servers:
        assert (one.server.off_reason, one.server.memory()) == ("stopped", 0)
        assert one.server.process.client.connection.process.poll() is not None
        assert one.ask().note == "stopped"
