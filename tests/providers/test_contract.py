"""The contract of every adapter, against two servers: the project's own and an independent one (marked `node`).

One form of response, whatever the wire format; what only a server that misbehaves at will can play is in
`test_event_grammar.py`.
"""

import json
from collections.abc import Iterator

import pytest

from bot.contracts.messages import FinishReason, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.contracts.model import Complete, Failed, OnRetry, Retrying, unreported
from tests.support.model_cases import CASES, CaseServer, independent_server, own_server, stop_word
from tests.support.provider_runs import MODELS, ask, completed, failed, user, without_extras

pytestmark = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(scope="module", params=["own", pytest.param("independent", marks=pytest.mark.node)])
def door(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaseServer]:
    if request.param == "own":
        with own_server() as opened:
            yield opened
    else:
        with independent_server(tmp_path_factory.mktemp("aimock")) as opened:
            yield opened


def played(
    door: CaseServer, model: str, case: str, *more: Message, attempts: int = 1, retrying: OnRetry = unreported
) -> Complete | Failed:
    assert case in CASES
    return door.respond(model, ask(user(case), *more), attempts, retrying)


def without_thinking(message: Message) -> tuple[Part, ...]:
    """One of the servers thinks a little whenever it is asked how it does."""
    return tuple(part for part in without_extras(message) if not isinstance(part, Thinking))


def test_text(model: str, door: CaseServer) -> None:
    end = completed(played(door, model, "text"))
    assert without_thinking(end.message) == (Text("Hello from here."),)
    assert end.finish is FinishReason.END_TURN


def test_thinking(model: str, door: CaseServer) -> None:
    end = played(door, model, "thinking")
    thinking, text = completed(end).message.parts
    assert isinstance(thinking, Thinking)
    assert thinking.text == "Let me see."
    assert isinstance(text, Text)


def test_a_call_with_its_id_and_its_arguments_word_for_word(model: str, door: CaseServer) -> None:
    end = completed(played(door, model, "single"))
    assert without_thinking(end.message) == (ToolCall("call_a", "bash", '{"command":"ls"}'),)
    assert end.finish is FinishReason.TOOL_USE


def test_parallel_calls_and_the_loop_that_answers_them(model: str, door: CaseServer) -> None:
    first = completed(played(door, model, "parallel"))
    assert first.message.text == "I will look."
    assert [(call.id, call.name, json.loads(call.arguments)) for call in first.message.calls] == [
        ("c1", "bash", {"command": "one"}),
        ("c2", "bash", {"command": "two"}),
        ("c3", "view", {"path": "a.py"}),
    ]
    answers = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in first.message.calls))
    second = completed(played(door, model, "parallel", first.message, answers))
    assert second.message.text == "The answer is hi."


def test_a_tool_loop_with_reasoning_goes_round(model: str, door: CaseServer) -> None:
    first = completed(played(door, model, "reasoned"))
    assert isinstance(first.message.parts[0], Thinking)
    answers = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in first.message.calls))
    second = completed(played(door, model, "reasoned", first.message, answers))
    assert second.message.text == "It is there."


def test_the_token_limit(model: str, door: CaseServer) -> None:
    assert completed(played(door, model, "length")).finish is FinishReason.MAX_TOKENS


def mends(door: CaseServer, model: str) -> bool:
    """Whether the server cannot send arguments that are no JSON in this format."""
    return door.name == "independent" and model.startswith("anthropic")


def test_a_call_that_the_token_limit_cut_is_not_whole(model: str, door: CaseServer) -> None:
    if mends(door, model):
        pytest.skip("this server sends {} in place of arguments that are no JSON")
    end = completed(played(door, model, "clipped"))
    assert end.finish is FinishReason.MAX_TOKENS
    assert without_thinking(end.message) == (
        ToolCall("call_c", "write", '{"path": "a", "conte', complete=False),
    )


def test_a_call_that_is_no_json_comes_through_as_it_is(model: str, door: CaseServer) -> None:
    if mends(door, model):
        pytest.skip("this server sends {} in place of arguments that are no JSON")
    end = completed(played(door, model, "broken"))
    assert without_thinking(end.message) == (ToolCall("call_b", "bash", '{"command": "ls",}'),)


def test_a_filtered_answer_is_an_error(model: str, door: CaseServer) -> None:
    end = played(door, model, "filtered")
    # One of the servers says that such a response failed, which in the API's own words it did not.
    assert isinstance(end, Failed) or end.finish is FinishReason.ERROR


def test_a_whole_answer_with_an_unknown_reason_ends_the_turn(model: str, door: CaseServer) -> None:
    end = completed(played(door, model, "odd"))
    assert (end.finish, end.raw_reason) == (FinishReason.END_TURN, "a_reason_of_next_year")
    assert stop_word(model, "a_reason_of_next_year") == "a_reason_of_next_year"


def test_a_stream_cut_in_the_middle_is_sent_again_and_fails_with_its_part(
    model: str, door: CaseServer
) -> None:
    retries: list[Retrying] = []
    end = played(door, model, "severed", attempts=3, retrying=retries.append)
    assert [event.attempt for event in retries] == [1, 2]
    partial = failed(end).partial
    # What of it arrives before the connection breaks is up to the machine.
    assert partial is None or partial.text.startswith("never whole")
    assert partial is not None or door.name == "independent"


def test_a_rate_limit_is_waited_for_as_long_as_it_asks(model: str, door: CaseServer) -> None:
    end = failed(played(door, model, "throttled"))
    assert (end.status, end.overflow) == (429, False)
    assert "limits the rate" in end.message


def test_an_overload_is_tried_again_with_one_event_an_attempt(model: str, door: CaseServer) -> None:
    retries: list[Retrying] = []
    end = played(door, model, "overloaded", attempts=3, retrying=retries.append)
    assert [event.attempt for event in retries] == [1, 2]
    assert failed(end).status == 503


def test_a_conversation_that_is_too_long_is_known_as_that(model: str, door: CaseServer) -> None:
    end = failed(played(door, model, "overflow", attempts=3, retrying=pytest.fail))
    assert (end.overflow, end.status) == (True, 400)


def test_a_refused_key_is_final(model: str, door: CaseServer) -> None:
    assert failed(played(door, model, "no key", attempts=3, retrying=pytest.fail)).status == 401


def test_usage_counts_input_without_the_cache_and_output_whole(model: str, door: CaseServer) -> None:
    usage = completed(played(door, model, "counted")).usage
    assert (usage.input, usage.cache_read, usage.output) == (120, 0, 30)
