"""The provider that plays recorded responses."""

from __future__ import annotations

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Text, Thinking, ToolCall, Usage
from bot.contracts.model import ArgumentsDelta, Complete, TextDelta, ThinkingDelta, ToolEnd, ToolStart
from bot.providers.replay import ReplayProvider
from tests.support.provider_runs import INFO, ask, failed

RESPONSE = Complete(
    Message(
        "assistant",
        (Thinking("hm"), Text("Look:"), ToolCall("a", "ls", "{}"), ToolCall("b", "ls", '{"p', False)),
    ),
    FinishReason.TOOL_USE,
    "tool_use",
    Usage(1, 2, 3, 4),
)


def test_a_recorded_response_is_played_as_the_same_grammar() -> None:
    events = list(ReplayProvider([RESPONSE], INFO).stream(ask(), CancelToken()))
    assert events == [
        ThinkingDelta("hm"),
        TextDelta("Look:"),
        ToolStart(0, "a", "ls"),
        ArgumentsDelta(0, "{}"),
        ToolEnd(0),
        ToolStart(1, "b", "ls"),
        ArgumentsDelta(1, '{"p'),
        RESPONSE,
    ]


def test_beyond_the_recording_a_request_fails_and_says_so() -> None:
    provider = ReplayProvider([RESPONSE], INFO)
    list(provider.stream(ask(), CancelToken()))
    assert "the recording has 1 responses" in failed(list(provider.stream(ask(), CancelToken()))).message


def test_a_canceled_run_plays_nothing() -> None:
    cancel = CancelToken()
    cancel.fire("signal")
    assert failed(list(ReplayProvider([RESPONSE], INFO).stream(ask(), cancel))).canceled
