"""vLLM, SGLang, llama.cpp and Ollama: what each is sent, and what it answers in its own way (docs/models.md)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.messages import FinishReason, Message, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, Failed, ModelRequest, Provider
from bot.providers.connect import connect
from bot.providers.failures import is_overflow
from bot.providers.vendors import VENDORS
from tests.support.model_script import Raw, Say, Step
from tests.support.model_server import ModelServer
from tests.support.provider_runs import NO_DELAY, ask, chunk, completed, sse, user, without_extras

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


class Server(NamedTuple):
    """How a server streams the call `bash {"command":"ls"}` and then `ls {}`, after the reasoning "Hm."; and how it
    says that a conversation is too long."""

    reasoning: str
    calls: Sequence[Mapping[str, Any]]
    usage: Mapping[str, Any]
    too_long: Mapping[str, Any]


def piece(index: int, name: str = "", arguments: str = "", **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"index": index, "function": function, **more}


SERVERS = {
    "vllm": Server(
        "reasoning",
        [
            piece(0, "bash", id="chatcmpl-tool-1", type="function"),
            piece(0, arguments='{"command":', id=""),
            piece(0, arguments='"ls"}', id=""),
            piece(1, "ls", id="chatcmpl-tool-2", type="function"),
            piece(1, arguments="{}", id=""),
        ],
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": None},
        {
            "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
            "code": 400,
        },
    ),
    "sglang": Server(
        "reasoning_content",
        [
            piece(0, "bash", id="call_1", type="function"),
            piece(0, arguments='{"command":"ls"}', id="call_1", type="function"),
            piece(1, "ls", id="call_2", type="function"),
            piece(1, arguments="{}", id="call_2", type="function"),
        ],
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
        {
            "message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "code": 400,
        },
    ),
    "llamacpp": Server(
        "reasoning_content",
        [
            piece(0, "bash", '{"command":', id="a1", type="function"),
            piece(0, arguments='"ls"}'),
            piece(1, "ls", "{}", id="a2", type="function"),
        ],
        {"prompt_tokens": 20, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
        {
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_ctx": 8192,
        },
    ),
    "ollama": Server(
        "reasoning",
        [
            piece(0, "bash", '{"command":"ls"}', id="call_x", type="function"),
            piece(0, "ls", "{}", id="call_y", type="function"),
        ],
        {"prompt_tokens": 20, "completion_tokens": 5},
        {"message": "prompt too long; exceeded max context length by 4 tokens"},
    ),
}
each_server = pytest.mark.parametrize("name", SERVERS)


def connected(name: str, server: ModelServer) -> Provider:
    return connect(f"{name}/mine", {f"{name.upper()}_BASE_URL": server.url}, policy=NO_DELAY)


def sent(name: str, request: ModelRequest) -> dict[str, Any]:
    with ModelServer([Say("ok")]) as server:
        provider = connected(name, server)
        completed(provider.respond(request, CancelToken()))
        provider.close()
        return dict(server.requests[0].json)


def answer(name: str, step: Step) -> Complete | Failed:
    with ModelServer([step]) as server:
        provider = connected(name, server)
        end = provider.respond(ask(), CancelToken())
        provider.close()
        return end


def stream_of(server: Server) -> Raw:
    reasoning = (chunk(**{server.reasoning: text}) for text in ("H", "m."))
    calls = (chunk(tool_calls=[one]) for one in server.calls)
    return sse(*reasoning, *calls, chunk("tool_calls"), {"choices": [], "usage": server.usage}, done=True)


@each_server
def test_its_calls_reasoning_and_usage_are_read(name: str):
    end = completed(answer(name, stream_of(SERVERS[name])))
    assert end.finish is FinishReason.TOOL_USE
    thinking, bash, ls = without_extras(end.message)
    assert thinking == Thinking("Hm.")
    assert isinstance(bash, ToolCall)
    assert isinstance(ls, ToolCall)
    assert (bash.name, bash.arguments) == ("bash", '{"command":"ls"}')
    assert (ls.name, ls.arguments, ls.complete) == ("ls", "{}", True)
    cached = (SERVERS[name].usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    assert end.usage == Usage(20 - cached, cached, 0, 5)


@each_server
def test_its_reasoning_goes_back_under_its_own_name(name: str):
    said = completed(answer(name, stream_of(SERVERS[name]))).message
    results = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in said.calls))
    row = sent(name, ask(user("q"), said, results))["messages"][2]
    assert row[SERVERS[name].reasoning] == "Hm."
    assert [call["function"]["name"] for call in row["tool_calls"]] == ["bash", "ls"]


def test_no_other_server_or_model_gets_reasoning_that_it_did_not_write():
    said = completed(answer("vllm", stream_of(SERVERS["vllm"]))).message
    with ModelServer([Say("ok"), Say("ok")]) as server:
        where = {"OPENAI_BASE_URL": server.url, "VLLM_BASE_URL": server.url}
        for model in ("openai-chat/mine", "vllm/other"):
            provider = connect(model, where, policy=NO_DELAY)
            completed(provider.respond(ask(user("q"), said, user("go on")), CancelToken()))
            provider.close()
        assert all("reasoning" not in request.json["messages"][2] for request in server.requests)


@each_server
def test_a_single_tool_is_asked_for_as_the_server_can_be_told(name: str):
    """llama.cpp takes an object for `auto` without a word, so it is told at least that a call is wanted."""
    body = sent(name, ask()._replace(required=True, allowed=("bash",)))
    named = {"type": "function", "function": {"name": "bash"}}
    assert body["tool_choice"] == ("required" if name == "llamacpp" else named)
    assert body.get("parallel_tool_calls") == (True if name == "llamacpp" else None)


def cells(row: str) -> list[str]:
    """The cells of the table's row that begins so, the first one left out."""
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in line.strip("|").split("|")[1:]]


def test_the_table_says_what_is_done_for_each_server():
    assert cells("served by") == ["vLLM", "SGLang", "llama.cpp", "Ollama"]
    models = [f"`{name}/NAME`" for name in SERVERS]
    assert cells("named as") == models
    rows = ("reasoning", "too long", "one tool", "several calls")
    for name, reasoning, too_long, named, several in zip(SERVERS, *map(cells, rows), strict=True):
        dialect = VENDORS[name]
        assert f"`{SERVERS[name].reasoning}`" in reasoning
        assert ("`required` is sent" in named) is not dialect.named_choice
        assert ("`parallel_tool_calls` is sent" in several) is dialect.asks_parallel
        said = re.search(r'"(.+?)"', too_long)
        assert said is None or is_overflow(400, "", said[1])
