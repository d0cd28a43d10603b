"""What the adapters put on the wire: golden bodies, the byte prefix, cache marks, pictures, what is repaired on the
way."""

import itertools
import json
import os
import re
import sys
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.connect import connect
from bot.providers.endpoint import Endpoint
from bot.providers.models import model_info
from bot.providers.vendors import VENDORS
from tests.support.model_script import Call, Say, Think, Turn
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
from tests.support.provider_runs import MODELS, ask, completed, raw_values, run, user

MESSAGES, CHAT, RESPONSES = MODELS
ROOT = Path(__file__).parents[2]
MARK = {"type": "ephemeral"}


def assistant(*parts: Any) -> Message:
    return Message("assistant", parts)


def results(*parts: ToolResult) -> Message:
    return Message("tool", parts)


def sent(model: str, *messages: Message, **options: Any) -> dict[str, Any]:
    """The body of the request for these messages."""
    _, requests = run(model, [Say("ok")], ask(*messages, **options))
    body: dict[str, Any] = json.loads(requests[0].body)
    return body


def session(model: str, turns: int) -> list[bytes]:
    """The bodies of a session in which every answer and its results were appended."""
    script = [
        Turn((Think("hm", signature=f"s{n}"), Say(f"step {n}"), Call("bash", {"n": n}))) for n in range(turns)
    ]
    messages = [user("go")]
    with ModelServer(script) as server:
        provider = connect(model, server.environment())
        for _ in range(turns):
            end = completed(provider.respond(ask(*messages), CancelToken()))
            answers = tuple(ToolResult(call.id, call.name, "hi\n") for call in end.message.calls)
            messages += [end.message, Message("tool", answers)]
        provider.close()
        return [request.body for request in server.requests]


TOOL = {"name": "bash", "description": "Run a command."}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": []}


def test_the_first_messages_request():
    _, requests = run(MESSAGES, [Say("ok")], ask(user("hello")))
    assert requests[0].path == "/v1/messages"
    assert requests[0].json == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 128000,
        "stream": True,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "tools": [{**TOOL, "input_schema": SCHEMA}],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello", "cache_control": MARK}]}],
    }


def test_the_first_chat_request():
    _, requests = run(CHAT, [Say("ok")], ask(user("hello")))
    assert requests[0].path == "/v1/chat/completions"
    assert requests[0].json == {
        "model": "gpt-6.2-sol",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {**TOOL, "parameters": SCHEMA}}],
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
    }


def test_the_first_responses_request():
    request = ask(user("hello"))._replace(session="session-1")
    _, requests = run(RESPONSES, [Say("ok")], request)
    assert requests[0].path == "/v1/responses"
    assert requests[0].json == {
        "model": "gpt-6.2-sol",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "session-1",
        "tools": [{"type": "function", **TOOL, "parameters": SCHEMA, "strict": False}],
        "instructions": "Be brief.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
    }


@pytest.mark.parametrize("model", MODELS)
def test_every_request_without_its_marks_extends_the_one_before(model: str):
    """Byte for byte, as the provider's prompt cache needs it."""
    bodies = [body.replace(b',"cache_control":{"type":"ephemeral"}', b"") for body in session(model, 6)]
    growing = "input" if model == RESPONSES else "messages"
    for earlier, later in ((raw_values(one), raw_values(two)) for one, two in itertools.pairwise(bodies)):
        assert later.pop(growing).startswith(earlier.pop(growing).removesuffix("]"))
        assert list(later.items()) == list(earlier.items())


def _packages_headers(model: str) -> Mapping[str, str]:
    """The headers of a streamed request that the vendor's own package sends."""
    import anthropic
    import openai

    with ModelServer([Say("ok")]) as server:
        if model == MESSAGES:
            anthropic.Anthropic(api_key="test-key", base_url=server.url).messages.create(
                model="m", max_tokens=1, messages=[{"role": "user", "content": "q"}], stream=True
            ).close()
        else:
            client = openai.OpenAI(api_key="test-key", base_url=f"{server.url}/v1")
            if model == CHAT:
                client.chat.completions.create(model="m", messages=[], stream=True).close()
            else:
                client.responses.create(model="m", input="q", stream=True).close()
        return server.requests[0].headers


@pytest.mark.parametrize("model", MODELS)
def test_the_headers_are_those_of_the_vendors_own_package(model: str):
    _, requests = run(model, [Say("ok")])
    ours, theirs = requests[0].headers, _packages_headers(model)
    named = {"accept", "content-type", "authorization", "anthropic-version"}
    assert {name: ours.get(name) for name in named} == {name: theirs.get(name) for name in named}
    telemetry = {name for name in theirs if name.startswith("x-stainless-")}
    assert set(theirs) - telemetry <= set(ours)


def test_thinking_goes_back_as_it_came_signed_and_redacted():
    turn = Turn(
        (Think("Let me\nsee… ", "sig+/="), Think(redacted="opaque=="), Think("", "empty-text"), Say("So."))
    )
    end, _ = run(MESSAGES, [turn])
    body = sent(MESSAGES, user("q"), completed(end).message, user("go on"))
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me\nsee… ", "signature": "sig+/="},
        {"type": "redacted_thinking", "data": "opaque=="},
        {"type": "thinking", "thinking": "", "signature": "empty-text"},
        {"type": "text", "text": "So."},
    ]


def test_thinking_without_a_signature_is_dropped():
    body = sent(MESSAGES, user("q"), assistant(Thinking("cut short"), Text("So.")), user("go on"))
    assert body["messages"][1]["content"] == [{"type": "text", "text": "So."}]


def test_results_go_into_one_user_message_for_anthropic():
    calls = assistant(ToolCall("a", "bash", "{}"), ToolCall("b", "bash", "{}"))
    body = sent(
        MESSAGES,
        user("q"),
        calls,
        results(ToolResult("a", "bash", "one"), ToolResult("b", "bash", "two", True)),
    )
    assert body["messages"][2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True, "cache_control": MARK},
        ],
    }  # fmt: skip


def test_results_go_into_one_message_each_for_chat_with_errors_named():
    calls = assistant(ToolCall("a", "bash", "{}"), ToolCall("b", "bash", "{}"), ToolCall("c", "bash", "{}"))
    answers = results(
        ToolResult("a", "bash", "one"),
        ToolResult("b", "bash", "no such file", True),
        ToolResult("c", "bash", "error: unknown", True),
    )
    body = sent(CHAT, user("q"), calls, answers)
    assert body["messages"][3:] == [
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "c", "content": "error: unknown"},
    ]


@pytest.mark.parametrize(
    "raw", ['{"a": ', "[1]", "null", '"x"', '{"a": NaN}', '{"a": 1e999}', "{} {}", "[" * 100_000]
)
def test_broken_arguments_go_back_wrapped_beside_their_result(raw: str):
    history = (
        user("q"),
        assistant(ToolCall("a", "bash", raw)),
        results(ToolResult("a", "bash", "not JSON", True)),
    )
    block = sent(MESSAGES, *history)["messages"][1]["content"][0]
    assert block == {"type": "tool_use", "id": "a", "name": "bash", "input": {"INVALID_JSON": raw}}
    if raw == '{"a": 1e999}':
        return  # a number too large is JSON all the same, and goes back as the string it was
    function = sent(CHAT, *history)["messages"][2]["tool_calls"][0]["function"]
    assert json.loads(function["arguments"]) == {"INVALID_JSON": raw}


def test_whole_arguments_go_back_in_their_own_order_and_for_chat_to_the_byte():
    raw = '{"z" : 1, "a": {"y":2,"b":[1.0]}}'
    history = (user("q"), assistant(ToolCall("a", "bash", raw)), results(ToolResult("a", "bash", "ok")))
    _, requests = run(MESSAGES, [Say("ok")], ask(*history))
    assert b'"input":{"z":1,"a":{"y":2,"b":[1.0]}}' in requests[0].body
    assert sent(CHAT, *history)["messages"][2]["tool_calls"][0]["function"]["arguments"] == raw


@pytest.mark.parametrize("model", MODELS)
def test_lone_surrogates_and_nul_never_leave(model: str):
    bad = "a\ud800b\x00c\udfff"
    history = (
        user(bad),
        assistant(Text(bad), ToolCall("a", "bash", json.dumps({"x": bad, bad: ["\0"]}))),
        results(ToolResult("a", "bash", bad)),
    )
    _, requests = run(model, [Say("ok")], ask(*history, system=bad))
    text = requests[0].body.decode()
    if model == MESSAGES:
        assert "\\u0000" not in text
        assert "\\ud800" not in text
    assert "\0" not in text
    assert "a\ufffdb\ufffdc\ufffd" in text


def test_cache_marks_are_on_the_system_end_and_on_the_last_three_user_messages():
    body = json.loads(session(MESSAGES, 4)[3])
    marked = [
        (at, position)
        for at, message in enumerate(body["messages"])
        for position, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    assert body["system"][-1]["cache_control"] == MARK
    assert marked == [(2, 0), (4, 0), (6, 0)]
    assert "cache_control" not in json.dumps(body["tools"])


@pytest.mark.parametrize("model", MODELS)
def test_a_conversation_of_any_other_format_goes_on_in_this_one(model: str):
    """After a switch of models: calls and results stay pairs, nothing opaque comes along."""
    turn = Turn((Think("hm", "sig"), Say("So."), Call("bash", {"command": "ls"}, "id|with:odd signs " * 4)))
    for other in MODELS:
        said = completed(run(other, [turn])[0]).message
        answer = results(ToolResult(said.calls[0].id, "bash", "hi"))
        _, requests = run(model, [Say("ok")], ask(user("q"), said, answer))
        text = requests[0].body.decode()
        ids = set(re.findall(r'"(?:tool_use_id|tool_call_id|call_id)":"([^"]*)"', text))
        calls = set(re.findall(r'"(?:id|call_id)":"(call_[^"]*)"', text))
        assert len(ids) == 1
        assert ids <= calls
        assert ("sig" in text.replace("signs", "")) == (model == other and model != CHAT)


@pytest.mark.parametrize("model", MODELS)
def test_white_space_alone_is_no_message(model: str):
    _, requests = run(
        model, [Say("ok")], ask(user("q"), assistant(Text(" \n")), user("\t"), user("go on"), system="")
    )
    body = requests[0].json
    rows = body.get("messages") or body["input"]
    assert {row["role"] for row in rows} == {"user"}
    assert '"\\t"' not in requests[0].body.decode()
    assert '" \\n"' not in requests[0].body.decode()


def test_white_space_at_the_end_of_the_models_last_words_is_taken_off_for_messages():
    body = sent(MESSAGES, user("q"), assistant(Text("So. \n")))
    assert body["messages"][1]["content"][0]["text"] == "So."
    calls = assistant(Text("So. \n"), ToolCall("a", "bash", "{}"))
    body = sent(MESSAGES, user("q"), calls, results(ToolResult("a", "bash", "ok")))
    assert body["messages"][1]["content"][0]["text"] == "So. \n", "what is followed by a call stays as it was"


@pytest.mark.slow
def test_the_same_session_makes_the_same_bytes_in_another_process_with_another_seed():
    program = (
        "from tests.providers.test_requests import MODELS, session; import json, sys\n"
        "json.dump([[body.decode() for body in session(model, 2)] for model in MODELS], sys.stdout)"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    other = run_program(
        [sys.executable, "-c", program], check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}
    )
    bodies = dict(zip(MODELS, json.loads(other.stdout), strict=True))
    for model in MODELS:
        assert bodies[model] == [body.decode() for body in session(model, 2)], model


@pytest.mark.parametrize(("model", "longest"), [(MESSAGES, 64), (CHAT, 40), (RESPONSES, 64)])
def test_an_id_that_the_vendor_refuses_is_replaced_in_call_and_result_alike(model: str, longest: int):
    for odd in ("call|1 " * 20, "toolu_" + "x" * 70):
        history = (assistant(ToolCall(odd, "bash", "{}")), results(ToolResult(odd, "bash", "ok")))
        _, requests = run(model, [Say("ok")], ask(user("q"), *history))
        text = requests[0].body.decode()
        ids = re.findall(r'"(?:tool_use_id|tool_call_id|call_id|id)":"([^"]*)"', text)
        assert len(ids) == 2 and len({*ids}) == 1
        assert re.fullmatch(rf"\w{{1,{longest}}}", ids[0])


@pytest.mark.parametrize(
    ("model", "described"),
    [
        (MESSAGES, "anthropic.types.message_create_params.MessageCreateParamsStreaming"),
        (CHAT, "openai.types.chat.completion_create_params.CompletionCreateParamsStreaming"),
        (RESPONSES, "openai.types.responses.response_create_params.ResponseCreateParamsStreaming"),
    ],
)
def test_a_request_is_what_the_vendors_own_types_describe(model: str, described: str):
    adapter = TypeAdapter(resolve_name(described))
    for body in session(model, 3):
        adapter.validate_python(json.loads(body))


PNG = Image("image/png", b"\x89PNG\0bytes", "screenshot.png")
DATA = "iVBORwBieXRlcw=="
URL = f"data:image/png;base64,{DATA}"
BLIND = (
    "anthropic/model-of-next-year",
    "openai-chat/model-of-next-year",
    "openai-responses/model-of-next-year",
)
UNSEEN = "[image: screenshot.png, image/png; this model cannot see images]"


def rows(model: str, *messages: Message) -> list[dict[str, Any]]:
    _, requests = run(model, [Say("ok")], ask(*messages, system=""))
    body = json.loads(requests[0].body.replace(b',"cache_control":{"type":"ephemeral"}', b""))
    found: list[dict[str, Any]] = body.get("messages") or body["input"]
    return found


ASKED = Message("user", (Text("What is this?"), PNG))


@pytest.mark.parametrize(
    ("model", "text", "image"),
    [
        (
            MODELS[0],
            {"type": "text", "text": "What is this?"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        ),
        (MODELS[1], {"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": URL}}),
        (MODELS[2], {"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": URL}),
    ],
)  # fmt: skip
def test_a_persons_picture_is_in_their_message(model: str, text: object, image: object):
    assert rows(model, ASKED)[0]["content"] == [text, image]


@pytest.mark.parametrize("model", BLIND)
def test_a_model_that_cannot_see_gets_its_name_in_words(model: str):
    sent = json.dumps(rows(model, ASKED))
    assert sent.count(UNSEEN) == 1
    assert DATA not in sent


def test_a_name_that_is_hostile_stays_text():
    odd = Image("image/png", b"x", 'a"\n\ud800\0.png')
    for model in BLIND:
        assert 'a\\"\\n\\ufffd\\ufffd.png' in json.dumps(rows(model, Message("user", (odd,))))


LOOK_BACK = 20
MOST_MARKS = 4


class Cache:
    """Anthropic's: a mark keeps the prefix up to its block; a lookup begins at each mark and walks back at most 20
    blocks. Whatever was read once is read again from it."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def read(self, body: dict[str, Any]) -> tuple[int, int]:
        """How many blocks of the request are served, and how many have to be; then keep what is marked."""
        blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
        marked = [at for at, block in enumerate(blocks) if block.pop("cache_control", None)]
        assert len(marked) <= MOST_MARKS
        for at in marked:
            assert blocks[at]["type"] not in ("thinking", "redacted_thinking")
            assert blocks[at].get("text") or blocks[at].get("content") or blocks[at].get("source")
        prefixes = list(accumulate(map(json.dumps, blocks)))
        served = 0
        for at in marked:
            for end in range(at, max(-1, at - LOOK_BACK), -1):
                if prefixes[end] in self._kept:
                    served = max(served, end + 1)
                    break
        self._kept |= {prefixes[at] for at in marked}
        return served, marked[-1] + 1


# One turn: how many calls, how much thinking, whether the host says something after it.
TURNS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


def grown(history: list[Message], at: int, turn: tuple[int, int, bool]) -> None:
    calls, thoughts, host = turn
    parts: list[Part] = [Thinking(f"t{at}.{n}", "sig") for n in range(thoughts)]
    parts.append(Text(f"step {at}"))
    parts += [ToolCall(f"c{at}_{n}", "bash", "{}") for n in range(calls)]
    history.append(Message("assistant", tuple(parts)))
    if calls:
        results = [ToolResult(f"c{at}_{n}", "bash", "" if n % 3 else "hi") for n in range(calls)]
        history.append(Message("tool", tuple(results)))
    if host or not calls:
        history.append(user(f"go on {at}"))


@settings(max_examples=30, deadline=None)
@given(TURNS)
def test_each_request_is_served_up_to_where_the_one_before_it_was_marked(turns: list[tuple[int, int, bool]]):
    wire = AnthropicMessages(
        Endpoint(VENDORS["anthropic"], "http://127.0.0.1:1", "k"), model_info("claude-sonnet-5-5")
    )
    cache, history = Cache(), [user("do it")]
    request = ask()
    before = 0
    for at, turn in enumerate(turns):
        body = json.loads(json.dumps(wire.params(ask(*history, tools=request.tools))))
        served, newest = cache.read(body)
        assert served >= before, "the marks left a gap that the lookup does not bridge"
        before = newest
        grown(history, at, turn)
    wire.close()


def test_a_request_that_failed_leaves_no_gap_behind_it():
    """Nothing of it was kept, and the next has one user message more."""
    wire = AnthropicMessages(
        Endpoint(VENDORS["anthropic"], "http://127.0.0.1:1", "k"), model_info("claude-sonnet-5-5")
    )
    cache, history = Cache(), [user("do it")]
    tools = ask().tools
    _, newest = cache.read(json.loads(json.dumps(wire.params(ask(*history, tools=tools)))))
    for at in range(2):
        grown(history, at, (25, 1, False))
    served, _ = cache.read(json.loads(json.dumps(wire.params(ask(*history, tools=tools)))))
    wire.close()
    assert served == newest
