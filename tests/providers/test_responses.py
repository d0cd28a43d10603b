"""What is the Responses API's alone: items that belong together, encrypted reasoning, ids, ends of a response."""

import json
from typing import Any

import pytest

from bot.contracts.messages import FinishReason, Message, Text, Thinking, ToolCall, ToolResult, Usage
from bot.providers.retry import RetryPolicy
from tests.support.model_script import Call, Say, Think, Tokens, Turn
from tests.support.provider_runs import MODELS, ask, completed, failed, run, sse, user, without_extras

MODEL = MODELS[2]
LOOP = Turn(
    (
        Think("Look first.", "enc+/=="),
        Say("I look.", phase="commentary"),
        Think("", "enc2"),
        Call("bash", '{"z":1, "a":2}', "call_1"),
    ),
    pieces=3,
)


def sent(*messages: Message) -> list[dict[str, Any]]:
    """The input items of the request for these messages."""
    _, requests = run(MODEL, [Say("ok")], ask(*messages))
    items: list[dict[str, Any]] = json.loads(requests[0].body)["input"]
    return items


def answered(turn: Turn = LOOP) -> Message:
    return completed(run(MODEL, [turn])[0]).message


def test_reasoning_calls_and_text_go_back_as_they_came():
    results = Message("tool", (ToolResult("call_1", "bash", "hi"),))
    items = sent(user("q"), answered(), results)
    assert items[1:] == [
        {
            "id": "rs_0_0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Look first."}],
            "encrypted_content": "enc+/==",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
            "id": "msg_0_1",
            "status": "completed",
            "phase": "commentary",
        },
        {"id": "rs_0_2", "type": "reasoning", "summary": [], "encrypted_content": "enc2"},
        {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": '{"z":1, "a":2}', "id": "fc_0_3"},
        {"type": "function_call_output", "call_id": "call_1", "output": "hi"},
    ]  # fmt: skip


@pytest.mark.parametrize("after", [(), (Text(" \n"),)])
def test_reasoning_without_the_item_it_led_to_is_left_out(after: tuple[Text, ...]):
    said = Message("assistant", (answered().parts[0], *after))
    assert [item["type"] for item in sent(user("q"), said, user("go on"))] == ["message"] * 2


@pytest.mark.parametrize("signature", ["", "c2ln", "[", "null", '{"type":"reasoning","id":"rs_1"}'])
def test_reasoning_without_its_content_or_of_another_format_is_left_out(signature: str):
    """With nothing stored at the server, an id alone points nowhere."""
    said = Message("assistant", (Thinking("hm", signature), Text("Yes.")))
    assert [item["type"] for item in sent(user("q"), said, user("x"))] == ["message"] * 3


def test_another_models_items_lose_reasoning_and_ids():
    other = completed(run("openai-responses/gpt-5", [LOOP])[0]).message
    results = Message("tool", (ToolResult("call_1", "bash", "hi"),))
    items = sent(user("q"), other, results)
    assert [item["type"] for item in items] == ["message", "message", "function_call", "function_call_output"]
    assert not any("id" in item for item in items)
    assert items[2]["call_id"] == items[3]["call_id"] == "call_1"


def test_nothing_is_stored_and_reasoning_is_asked_for_only_of_models_that_reason():
    for name, included in (("gpt-6.2-sol", True), ("gpt-4.1", False), ("model-of-next-year", True)):
        _, requests = run(f"openai-responses/{name}", [Say("ok")])
        body = json.loads(requests[0].body)
        assert body["store"] is False
        assert ("include" in body) is included
        assert "previous_response_id" not in body


@pytest.mark.parametrize(
    ("stop", "finish", "raw"),
    [
        ("", FinishReason.END_TURN, "completed"),
        ("max_output_tokens", FinishReason.MAX_TOKENS, "max_output_tokens"),
        ("content_filter", FinishReason.ERROR, "content_filter"),
        ("a_reason_of_next_year", FinishReason.END_TURN, "a_reason_of_next_year"),
        ("cancelled", FinishReason.ERROR, "cancelled"),
    ],
)
def test_the_end_of_a_response_is_read_from_status_and_details(stop: str, finish: FinishReason, raw: str):
    end = completed(run(MODEL, [Turn((Say("Hm."),), stop=stop)])[0])
    assert (end.finish, end.raw_reason) == (finish, raw)


@pytest.mark.parametrize("event", ["error", "failed"])
def test_a_response_that_failed_is_a_failure_with_its_part_and_its_usage(event: str):
    error = {"type": "server_error", "message": "the model fell over"}
    turn = Turn((Say("Half"),), error=error, error_event=event, tokens=Tokens(7, 3))
    end, requests = run(MODEL, [turn], policy=RetryPolicy(attempts=1))
    end = failed(end)
    assert "the model fell over" in end.message
    assert (end.status, len(requests)) == (500, 1)
    assert end.partial is not None
    assert end.partial.text == "Half"
    assert end.usage == (Usage(7, output=3) if event == "failed" else Usage())


def test_a_server_that_streams_no_deltas_is_read_from_its_items():
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": "{}"}
    text = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Look."}]}
    done = {"id": "r", "status": "completed", "output": [text, item], "usage": None}
    for script in (
        sse({"type": "response.completed", "response": done}),
        sse(
            {"type": "response.output_item.done", "output_index": 0, "item": text},
            {"type": "response.output_item.done", "output_index": 1, "item": item},
            {"type": "response.completed", "response": done},
        ),
    ):
        end, _ = run(MODEL, [script])
        assert without_extras(completed(end).message) == (Text("Look."), ToolCall("c1", "bash", "{}"))


def test_where_the_deltas_and_the_whole_item_differ_the_item_counts():
    """A delta was lost on its way, so that the call would do something else: half a path is a path."""
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "view",
        "arguments": '{"path":"ab"}',
    }
    text = {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Look there."}]}
    end, _ = run(
        MODEL,
        [
            sse(
                {"type": "response.output_item.added", "output_index": 0, "item": {**text, "content": []}},
                {"type": "response.output_text.delta", "output_index": 0, "delta": "Look"},
                {"type": "response.output_item.done", "output_index": 0, "item": text},
                {"type": "response.output_item.added", "output_index": 1, "item": {**item, "arguments": ""}},
                {
                    "type": "response.function_call_arguments.delta",
                    "output_index": 1,
                    "delta": '{"path":"a"}',
                },
                {"type": "response.output_item.done", "output_index": 1, "item": item},
                {"type": "response.completed", "response": {"status": "completed"}},
            )
        ],
    )
    assert without_extras(completed(end).message) == (
        Text("Look there."),
        ToolCall("c1", "view", '{"path":"ab"}'),
    )


def test_sections_of_a_summary_are_parted():
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    at = {"type": "response.reasoning_summary_text.delta", "output_index": 0}
    end, _ = run(
        MODEL,
        [
            sse(
                {"type": "response.output_item.added", "output_index": 0, "item": item},
                {**at, "summary_index": 0, "delta": "One."},
                {**at, "summary_index": 1, "delta": "Two."},
                {"type": "response.completed", "response": {"status": "completed"}},
            )
        ],
    )
    thinking = completed(end).message.parts[0]
    assert isinstance(thinking, Thinking)
    assert thinking.text == "One.\n\nTwo."


def test_a_call_that_the_server_calls_incomplete_is_not_whole_although_it_parses():
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": '{"a":1}'}
    response = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": {**item, "status": "incomplete"}}
    end, _ = run(MODEL, [sse(done, {"type": "response.incomplete", "response": response})])
    assert [call.complete for call in completed(end).message.calls] == [False]
