"""When a server has said all: the strategy by itself, with a clock of the test's own, and against servers that publish
the way real ones do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.lsp.jsonrpc import ResponseError
from bot.toolhost.lsp.process import Timeouts
from bot.toolhost.lsp.protocol import DocumentState
from bot.toolhost.lsp.settling import RefreshCount, WorkDoneProgress, next_check_time, pull
from tests.support.language_servers import FILE, LONG, PULL, PUSH, QUICK, SHORT, Scripted, item, script

Play = Callable[..., Scripted]
PAUSES = Timeouts()
SENT = 100.0
DONE = 0


def state(*, opened: bool = False) -> DocumentState:
    """Of a file whose second text was sent."""
    return DocumentState(2, opened=opened)


def verdict(one: DocumentState, now: float, progress: WorkDoneProgress | None = None) -> float | None:
    found = next_check_time(one, progress or WorkDoneProgress(PAUSES), now, PAUSES)
    return None if found is None else round(found, 3)


def test_silence_is_never_an_answer() -> None:
    assert verdict(state(), SENT + 1000) is None


@pytest.mark.parametrize(
    ("version", "opened", "quiet"),
    [
        (2, False, 0.15),
        (3, False, 0.15),
        (None, False, 0.4),
        (2, True, 1.0),
        (None, True, 1.0),
        ("2", False, 0.4),
    ],
)
def test_what_was_published_stands_after_some_silence(version: object, opened: bool, quiet: float) -> None:
    one = state(opened=opened)
    assert one.publish(["x"], version, SENT + 1)
    assert verdict(one, SENT + 1) == round(SENT + 1 + quiet, 3)
    assert verdict(one, SENT + 1 + quiet - 0.01) == round(SENT + 1 + quiet, 3)
    assert verdict(one, SENT + 1 + quiet + 0.01) == DONE
    assert one.items == ["x"]


def test_each_word_begins_the_silence_again() -> None:
    one = state()
    for number in range(5):
        one.publish([number], 2, SENT + 0.1 * number)
        assert verdict(one, SENT + 0.1 * number + 0.14) == round(SENT + 0.1 * number + 0.15, 3)
    assert one.items == [4]


def test_what_is_of_an_older_text_is_not_heard() -> None:
    one = state()
    assert not one.publish(["stale"], 1, SENT + 1)
    assert (verdict(one, SENT + 9), one.items) == (None, None)


def test_what_was_published_before_the_edit_does_not_count() -> None:
    one = state()
    one.publish(["stale"], None, SENT + 1)
    one.change(3)
    assert verdict(one, SENT + 9) is None


def test_an_edit_elsewhere_is_waited_for_too() -> None:
    one = state()
    one.publish(["x"], 2, SENT + 1)
    one.stirred = SENT + 5
    assert verdict(one, SENT + 5) == SENT + 5.4
    assert verdict(one, SENT + 5.41) == DONE


def test_progress_holds_the_answer_back_until_it_ends() -> None:
    one, progress = state(), WorkDoneProgress(PAUSES)
    progress.update("load", "begin", SENT)
    one.publish([], 2, SENT + 0.1)
    assert verdict(one, SENT + 4, progress) == SENT + 10
    progress.update("load", "report", SENT + 4)
    assert verdict(one, SENT + 5, progress) == SENT + 14
    progress.update("load", "end", SENT + 6)
    assert verdict(one, SENT + 6, progress) == SENT + 6.15
    assert verdict(one, SENT + 6.2, progress) == DONE


def test_progress_that_is_not_heard_of_any_more_holds_nothing_up() -> None:
    one, progress = state(), WorkDoneProgress(PAUSES)
    progress.update(0, "begin", SENT)
    one.publish([], 2, SENT + 0.1)
    assert verdict(one, SENT + 10.1, progress) == DONE


def test_tokens_without_end_take_no_memory_and_odd_ones_are_none() -> None:
    progress = WorkDoneProgress(PAUSES)
    for number in range(1000):
        progress.update(number, "begin", SENT)
    for odd in (None, True, 1.5, [1], {}):
        progress.update(odd, "begin", SENT + 100)
    assert progress.busy_until(SENT + 11) == 0
    for number in range(1000):
        progress.update(number, "end", SENT)
    assert progress.busy_until(SENT) == 0


class Answers:
    """What a server that is asked does, one after the other; `refresh` before an answer says that others were wrong."""

    def __init__(self, *answers: object) -> None:
        self.left = list(answers)
        self.refreshes = RefreshCount()

    async def ask(self) -> object:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            asyncio.get_running_loop().call_later(0.001, self.refresh)
            return answer[0]
        return answer

    def refresh(self) -> None:
        self.refreshes.record()

    def run(self, pause: float = 0.02, *, first: bool = True) -> Any:
        timeouts = replace(PAUSES, refresh=pause)
        return asyncio.run(asyncio.wait_for(pull(self.ask, self.refreshes, timeouts, first=first), LONG))


@pytest.mark.parametrize(
    ("answers", "stands", "left"),
    [
        (["first", "second"], "first", 1),
        ([("too early",), "second", "third"], "second", 1),
        ([("1",), ("2",), ("3",), ("4",), "fifth"], "4", 1),
        ([ResponseError(-32801), ResponseError(-32802), "third"], "third", 0),
        ([("too early",), ResponseError(-32801), "third"], "third", 0),
    ],
)
def test_an_answer_stands_when_no_word_follows_that_it_was_too_early(
    answers: list[object], stands: str, left: int
) -> None:
    server = Answers(*answers)
    assert server.run() == stands
    assert len(server.left) == left


def test_a_later_answer_is_not_waited_upon() -> None:
    assert Answers("answer").run(2 * LONG, first=False) == "answer"


def test_a_later_answer_of_one_that_was_belated_before_is_waited_upon() -> None:
    server = Answers(("too early",), "second", ("too early again",), "fourth")
    assert server.run() == "second"
    assert server.run(first=False) == "fourth"


def test_what_is_taken_back_before_it_is_answered_is_asked_for_again_at_once() -> None:
    server = Answers("before the word", "after it")

    async def taken_back() -> object:
        if len(server.left) == 2:
            server.refresh()
        return server.left.pop(0)

    answer = asyncio.run(asyncio.wait_for(pull(taken_back, server.refreshes, PAUSES, first=False), LONG))
    assert answer == "after it"
    assert not server.refreshes.late


def test_a_clean_answer_before_the_settings_were_read_is_waited_upon(play: Play) -> None:
    """As oxlint answers on a busy machine, long after the usual pause."""
    version_argv = ["send", {"id": 0, "method": "workspace/configuration", "params": {"items": [{}]}}]
    refresh = ["send", {"id": 1, "method": "workspace/diagnostic/refresh"}]
    early = [["items", []], version_argv, ["sleep", 0.2], refresh]
    late = [["items", [item("right")]]]
    server = play(
        script(PULL, {"textDocument/diagnostic": [early, late]}), timeouts=replace(QUICK, unversioned=LONG)
    )
    server.open()
    assert server.said() == ["right"]


TSSERVER = {"textDocumentSync": 2, "executeCommandProvider": {"commands": ["typescript.tsserverRequest"]}}


def place(line: int, offset: int) -> dict[str, int]:
    return {"line": line, "offset": offset}


def test_typescript_s_own_server_is_asked_where_it_can_be(play: Play) -> None:
    """What is published meanwhile counts for nothing."""
    here = {"start": place(2, 1), "end": place(2, 4)}
    wrong = here | {"text": "Cannot find name 'two'.", "code": 2304, "category": "error"}
    hint = here | {"text": "it is never read", "code": 6133, "category": "suggestion"}
    odd = {"start": "nowhere", "text": "odd", "category": "warning"}
    bodies = ([], [wrong, hint, odd, "odd"])
    on: dict[str, Any] = {
        "textDocument/didOpen": [[["publish", [item("stale")]]]],
        "workspace/executeCommand": [[["reply", {"success": True, "body": body}]] for body in bodies],
    }
    server = play(script(TSSERVER, on))
    server.open("one\ntwo\n")
    odd_one, found = server.ask().items
    assert (found.line, found.column, found.end_column, found.code) == (2, 1, 4, "2304")
    assert (odd_one.message, odd_one.line) == ("odd", 0)
    asked = [message["params"]["arguments"] for message in server.sent("workspace/executeCommand")]
    path = str(server.folder / FILE)
    assert asked == [
        [name, {"file": path}] for name in ("syntacticDiagnosticsSync", "semanticDiagnosticsSync")
    ]


def test_what_is_no_answer_of_typescript_s_server_is_not_a_clean_file(play: Play) -> None:
    server = play(script(TSSERVER, {"workspace/executeCommand": [[["reply", {"success": False}]]]}))
    server.open()
    assert server.ask().answer is Answer.UNAVAILABLE


def test_any_other_error_is_the_askers() -> None:
    with pytest.raises(ResponseError):
        Answers(ResponseError(-32603), "second").run()


def test_an_answer_to_the_edit_before_is_not_the_answer(play: Play) -> None:
    """One with versions, whose word about the first of two edits comes after the second was sent."""
    changes = [[], [["publish", [item("stale")], -1], ["sleep", 0.05], ["publish", [item("right")], 0]]]
    opens = [[["publish", [], 0]]]
    server = play(script(PUSH, {"textDocument/didOpen": opens, "textDocument/didChange": changes}))
    server.open()
    server.ask()
    server.server.change(FILE, "first\n")
    server.server.change(FILE, "second\n")
    assert server.said() == ["right"]


def test_one_that_never_publishes_is_unknown(play: Play) -> None:
    server = play(script(PUSH))
    server.open()
    server.wait(lambda: server.sent("textDocument/didOpen"))
    assert server.ask(SHORT).answer is Answer.TIMED_OUT


def test_progress_is_waited_for(play: Play) -> None:
    opens = [["progress", 1, "begin"], ["publish", [], 0], ["sleep", 0.2], ["publish", [item("loaded")], 0]]
    server = play(script(PUSH, {"textDocument/didOpen": [[*opens, ["progress", 1, "end"]]]}))
    server.open()
    assert server.said() == ["loaded"]
