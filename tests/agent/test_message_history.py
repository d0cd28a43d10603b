"""The history refuses whatever would leave a call unanswered, answered twice, or out of order.
The calls of a journal have their results."""

from pathlib import Path

import pytest

from bot.agent.message_history import HistoryError, MessageHistory
from bot.agent.recorded_calls import submitted
from bot.contracts.journal import Response, Result
from bot.contracts.messages import Message, Text, Thinking, ToolCall, ToolResult
from bot.contracts.tools import ToolSpec
from tests.support.sessions import journal_of


def asking(*ids: str) -> MessageHistory:
    history = MessageHistory()
    history.add_user("go")
    history.add_assistant(Message("assistant", tuple(ToolCall(name, "ls", "{}") for name in ids)), 1)
    return history


def results(*ids: str) -> list[ToolResult]:
    return [ToolResult(name, "ls", "ok") for name in ids]


@pytest.mark.parametrize("given", [(), ("a",), ("b", "a"), ("a", "a"), ("a", "b", "b"), ("a", "x")])
def test_only_one_answer_to_each_call_in_order_is_taken(given: tuple[str, ...]):
    with pytest.raises(HistoryError):
        asking("a", "b").add_results(results(*given))


def test_nothing_is_sent_or_said_while_a_call_waits():
    history = asking("a")
    with pytest.raises(HistoryError, match="a request"):
        history.view()
    with pytest.raises(HistoryError, match="a user message"):
        history.add_user("well?")
    with pytest.raises(HistoryError, match="an assistant message"):
        history.add_assistant(Message("assistant", (Text("hm"),)), 2)
    history.add_results(results("a"))
    assert [message.role for message in history.view()] == ["user", "assistant", "tool"]


def test_a_message_without_parts_is_not_kept():
    history = MessageHistory()
    history.add_user("go")
    history.add_assistant(Message("assistant", ()), 1)
    assert len(history.view()) == 1


@pytest.mark.parametrize("thoughts", [True, False])
def test_what_stands_behind_a_summary_keeps_its_thinking_only_if_that_is_wanted(thoughts: bool):
    history = asking("a")
    history.add_results(results("a"))
    history.add_assistant(Message("assistant", (Thinking("hm", "s"), Text("two"))), 2)
    history.shorten("the summary", 3, thoughts=thoughts)
    assert [message.text for message in history.view()] == ["go", "the summary", "two"]
    assert len(history.view()[2].parts) == 1 + thoughts


def test_the_size_is_the_vendors_count_and_an_estimate_of_what_came_since():
    history = MessageHistory(100)
    history.add_user("a" * 4_000)
    assert history.tokens == 1_108
    asked = Message("assistant", (Text("a" * 4_000), ToolCall("i", "ls", "{}")))
    history.add_assistant(asked, 1, 5_000)
    assert history.tokens == 5_000
    history.add_results([ToolResult("i", "ls", "a" * 4_000)])
    assert history.tokens == 6_008
    history.add_assistant(Message("assistant", (Text("a" * 4_000),)), 2)
    assert history.tokens == 7_016
    history.shorten("a" * 4_000, 4)
    assert history.tokens == 100 + 2 * 1_008, "an older count means nothing"


BASH = ToolSpec("bash", "", {"type": "object", "properties": {"command": {"type": "string"}}})
TURN_1 = Response(
    1,
    (ToolCall("c1", "bash", '{"command": "x"}'), ToolCall("c2", "edit", '{"path": "a.py"}')),
    "tool_use",
    "",
)
RESULTS = (Result(1, "c1", "bash", "ok"), Result(1, "c2", "edit", "edited"))


def test_the_calls_of_one_tool_come_in_order_with_their_results(tmp_path: Path):
    second = Response(2, (ToolCall("c1", "bash", '{"command": "y"}'),), "tool_use", "")
    result = Result(2, "c1", "bash", "done")
    calls = submitted(journal_of(tmp_path, TURN_1, *RESULTS, second, result), BASH)
    assert list(calls) == [({"command": "x"}, RESULTS[0]), ({"command": "y"}, result)]


@pytest.mark.parametrize(
    "result", [(), (Result(1, "c1", "bash", "no", is_error=True),)], ids=["died", "refused"]
)
def test_a_call_without_a_good_result_submitted_nothing(tmp_path: Path, result: tuple[Result, ...]):
    assert list(submitted(journal_of(tmp_path, TURN_1, *result, RESULTS[1]), BASH)) == []
