"""The provider that plays recorded responses."""

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Text, Thinking, ToolCall, Usage
from bot.contracts.model import Complete
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


def test_a_recorded_response_is_played():
    assert ReplayProvider([RESPONSE], INFO).respond(ask(), CancelToken()) == RESPONSE


def test_beyond_the_recording_a_request_fails_and_says_so():
    provider = ReplayProvider([RESPONSE], INFO)
    provider.respond(ask(), CancelToken())
    assert "the recording has 1 responses" in failed(provider.respond(ask(), CancelToken())).message


def test_a_canceled_run_plays_nothing():
    cancel = CancelToken()
    cancel.fire("signal")
    assert failed(ReplayProvider([RESPONSE], INFO).respond(ask(), cancel)).canceled
