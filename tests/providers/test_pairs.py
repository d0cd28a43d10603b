"""Calls and results that do not pair, before they are sent."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.messages import Message, Part, Text, ToolCall, ToolResult
from bot.providers.encoding import NO_RESULT, pair_results
from tests.support.model_script import Say
from tests.support.provider_runs import MODELS, ask, completed, run, user


def calls(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(id, "bash", "{}") for id in ids))


def results(*ids: str) -> Message:
    return Message("tool", tuple(ToolResult(id, "bash", f"of {id}") for id in ids))


def shape(messages: list[Message]) -> list[str]:
    """`a` for a call, `=a` for its result, `a?` for one that says it was not kept, words in quotes."""
    rows = []
    for message in messages:
        words = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                words.append(part.id)
            elif isinstance(part, ToolResult):
                words.append(f"{part.call_id}?" if part.content == NO_RESULT else f"={part.call_id}")
            elif isinstance(part, Text):
                words.append(f"'{part.text}'")
        rows.append(" ".join(words))
    return rows


GO = user("go")


@pytest.mark.parametrize(
    ("history", "wanted"),
    [
        ([GO, calls("a", "b"), results("a", "b")], ["'go'", "a b", "=a =b"]),
        ([GO, calls("a", "b"), results("b")], ["'go'", "a b", "a? =b"]),
        ([GO, calls("a")], ["'go'", "a", "a?"]),
        ([GO, calls("a"), user("well?")], ["'go'", "a", "a?", "'well?'"]),
        ([GO, results("a"), calls("b"), results("b")], ["'go'", "b", "=b"]),
        ([GO, calls("a"), results("a", "x")], ["'go'", "a", "=a"]),
        ([GO, calls("a", "b"), results("b", "a")], ["'go'", "a b", "=a =b"]),
        ([GO, calls("a", "b"), results("a"), results("b")], ["'go'", "a b", "=a =b"]),
        ([GO, calls("a"), results("a", "a")], ["'go'", "a", "=a"]),
        ([GO, calls("a"), user("wait"), results("a")], ["'go'", "a", "=a", "'wait'"]),
        ([GO, calls("a", "a"), results("a", "a")], ["'go'", "a a_1", "=a =a_1"]),
        ([GO, calls("a"), results("a"), calls("a"), results("a")], ["'go'", "a", "=a", "a_1", "=a_1"]),
        ([GO, calls(""), results("")], ["'go'", "call_0", "=call_0"]),
        ([GO, calls("a"), calls("b"), results("a", "b")], ["'go'", "a", "a?", "b", "=b"]),
    ],
)
def test_every_call_has_its_one_result_right_behind_it(history: list[Message], wanted: list[str]) -> None:
    assert shape(pair_results(history)) == wanted


PARTS = st.lists(
    st.one_of(
        st.sampled_from("abc").map(lambda id: ToolCall(id, "bash", "{}")),
        st.sampled_from("abc").map(lambda id: ToolResult(id, "bash", "ok")),
        st.just(Text("x")),
    ),
    max_size=4,
)
HISTORIES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "tool"]), PARTS).map(
        lambda drawn: Message(drawn[0], tuple(drawn[1]))  # type: ignore[arg-type]  # one of the three
    ),
    max_size=8,
)


@given(HISTORIES)
def test_whatever_comes_in_what_goes_out_pairs_and_stays_when_seen_again(history: list[Message]) -> None:
    whole = pair_results(history)
    open_ids: list[str] = []
    seen: list[str] = []
    for message in whole:
        given_ids = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        assert given_ids == open_ids
        open_ids = [call.id for call in message.calls]
        seen += open_ids
    assert not open_ids
    assert len(set(seen)) == len(seen)
    assert pair_results(whole) == whole
    said: list[Part] = [part for message in history for part in message.parts if isinstance(part, Text)]
    assert [part for message in whole for part in message.parts if isinstance(part, Text)] == said


@pytest.mark.parametrize("model", MODELS)
def test_a_broken_conversation_leaves_whole(model: str) -> None:
    history = (GO, results("stray"), calls("a", "a"), results("a"), user("go on"))
    events, requests = run(model, [Say("ok")], ask(*history))
    assert completed(events).message.text == "ok"
    text = json.dumps(requests[0].json)
    assert "stray" not in text
    assert len(re.findall(r'"(?:tool_use_id|tool_call_id|call_id)": "a_1"', text)) >= 1
    assert NO_RESULT in text
