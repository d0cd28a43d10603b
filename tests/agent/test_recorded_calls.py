"""The recorded calls of a journal, each with its result."""

from pathlib import Path

from bot.agent.recorded_calls import recorded_calls
from bot.contracts.journal import Response, Result
from bot.contracts.messages import ToolCall
from tests.support.sessions import journal_of

TURN_1 = Response(
    1,
    (ToolCall("c1", "bash", '{"command": "x"}'), ToolCall("c2", "edit", '{"path": "a.py"}')),
    "tool_use",
    "",
)
RESULTS = (Result(1, "c1", "bash", "ok"), Result(1, "c2", "edit", "edited"))


def test_calls_come_in_order_with_their_results(tmp_path: Path) -> None:
    calls = recorded_calls(journal_of(tmp_path, TURN_1, *RESULTS))
    assert [(call.call.id, call.result) for call in calls] == [("c1", RESULTS[0]), ("c2", RESULTS[1])]


def test_a_call_during_which_the_run_died_has_no_result(tmp_path: Path) -> None:
    _, second = recorded_calls(journal_of(tmp_path, TURN_1, RESULTS[0]))
    assert second.result is None
    assert not second.handed_over


def test_calls_with_the_same_id_in_two_turns_keep_their_own_results(tmp_path: Path) -> None:
    turns = [Response(n, (ToolCall("c", "bash", "{}"),), "tool_use", "") for n in (1, 2)]
    results = [Result(n, "c", "bash", f"result {n}") for n in (1, 2)]
    calls = recorded_calls(journal_of(tmp_path, turns[0], results[0], turns[1], results[1]))
    assert [call.result for call in calls] == results
