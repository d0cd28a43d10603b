"""Every provider by its name: where its requests go, with which key, and what is peculiar to its server."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.agent.message_history import MessageHistory
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.messages import Message, Thinking, ToolCall, ToolResult
from bot.contracts.model import Complete, Failed
from bot.providers.connect import connect
from bot.providers.vendors import VENDORS
from tests.support.aws_events import chunk, exception, of_sse
from tests.support.model_script import Call, Raw, Say, Script, Step, Think, Turn, messages_frames
from tests.support.model_server import ModelServer, Received
from tests.support.provider_runs import NO_DELAY, ask, completed, failed, sse, user, without_extras
from tests.support.provider_runs import chunk as chat_chunk

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def asked(
    model: str, script: list[Step] | Script, *messages: Message, **environment: str
) -> tuple[Complete | Failed, list[Received]]:
    """The response to `messages`, and what the server was sent. `{url}` in a value is the server's."""
    with ModelServer(script) as server:
        filled = {name: value.format(url=server.url) for name, value in environment.items()}
        provider = connect(model, filled, policy=NO_DELAY)
        try:
            end = provider.respond(ask(*messages), CancelToken())
        finally:
            provider.close()
        return end, server.requests


def chunks(*deltas: Mapping[str, Any], finish: str = "stop") -> Raw:
    """A body of Chat Completions with these deltas."""
    return sse(*(chat_chunk(**delta) for delta in deltas), chat_chunk(finish), done=True)


@pytest.mark.parametrize(
    ("model", "environment", "path", "key"),
    [
        ("azure/my-gpt", {"AZURE_OPENAI_ENDPOINT": "{url}"}, "/openai/v1/chat/completions",
         "AZURE_OPENAI_API_KEY"),
        ("openrouter/anthropic/claude-sonnet-5-5", {"OPENROUTER_BASE_URL": "{url}/api/v1"},
         "/api/v1/chat/completions", "OPENROUTER_API_KEY"),
        ("gemini/gemini-3-pro", {"GEMINI_BASE_URL": "{url}/v1beta/openai"},
         "/v1beta/openai/chat/completions", "GEMINI_API_KEY"),
        ("ollama/qwen3-coder:30b", {"OLLAMA_BASE_URL": "{url}"}, "/v1/chat/completions", "OLLAMA_API_KEY"),
        ("vllm/Qwen/Qwen3-Coder", {"VLLM_BASE_URL": "{url}/v1"}, "/v1/chat/completions", "VLLM_API_KEY"),
        ("openai-responses/gpt-6.2-sol", {"OPENAI_BASE_URL": "{url}/v1"}, "/v1/responses", "OPENAI_API_KEY"),
        ("openai-chat/gpt-6.2-sol", {"OPENAI_BASE_URL": "{url}/v1"}, "/v1/chat/completions",
         "OPENAI_API_KEY"),
        ("openai/gpt-6.2-sol", {"OPENAI_BASE_URL": "{url}/v1"}, "/v1/chat/completions", "OPENAI_API_KEY"),
    ],
)  # fmt: skip
def test_requests_go_where_the_preset_says_with_its_key_and_the_name_as_given(
    model: str, environment: dict[str, str], path: str, key: str
):
    end, requests = asked(model, [Say("ok")], **environment, **{key: "the-key"})
    assert completed(end).message.text == "ok"
    assert requests[0].path == path
    assert requests[0].headers["authorization"] == "Bearer the-key"
    assert requests[0].json["model"] == model.partition("/")[2]


@pytest.mark.parametrize(
    ("model", "path"),
    [("openai/gpt-6.2-sol", "/v1/responses"), ("openai-chat/gpt-6.2-sol", "/v1/chat/completions")],
)
def test_openai_itself_is_asked_for_responses(model: str, path: str):
    with ModelServer([Say("ok")]) as proxy:
        environment = {
            "OPENAI_BASE_URL": "http://api.openai.com/v1",
            "OPENAI_API_KEY": "k",
            "HTTP_PROXY": proxy.url,
        }
        provider = connect(model, environment)
        request = ask()._replace(session="s-1", allowed=("bash",))
        completed(provider.respond(request, CancelToken()))
        provider.close()
        assert proxy.requests[0].path == f"http://api.openai.com{path}"
        assert proxy.requests[0].json["prompt_cache_key"] == "s-1"
        assert proxy.requests[0].json["tool_choice"]["type"] == "allowed_tools"


def test_a_server_that_only_speaks_alike_gets_no_field_that_it_may_refuse():
    with ModelServer([Say("ok")]) as server:
        provider = connect("openai/gpt-6.2-sol", server.environment())
        completed(provider.respond(ask()._replace(session="s-1", allowed=("bash",)), CancelToken()))
        provider.close()
        assert server.requests[0].json.keys() == {"model", "stream", "stream_options", "tools", "messages"}


@pytest.mark.parametrize("provider", ["azure", "openrouter", "gemini"])
def test_a_missing_key_or_address_is_named(provider: str):
    vendor = VENDORS[provider]
    missing = vendor.key_variable if vendor.default_url else vendor.url_variable
    with pytest.raises(UsageError, match=f"set {missing}"):
        connect(f"{provider}/x", {})


@pytest.mark.parametrize("provider", ["ollama", "vllm", "sglang", "llamacpp"])
def test_a_server_on_the_own_machine_needs_nothing(provider: str):
    opened = connect(f"{provider}/qwen", {})
    assert opened.info.input_price == 0
    opened.close()


def test_every_provider_and_each_of_its_variables_is_on_the_page():
    for name, vendor in VENDORS.items():
        for word in (f"`{name}/", f"`{vendor.url_variable}`", f"`{vendor.key_variable}`"):
            assert word in PAGE, word


def test_geminis_signature_goes_back_with_its_call():
    call = {
        "index": 0,
        "id": "",
        "function": {"name": "bash", "arguments": '{"command":"ls"}'},
        "extra_content": {"google": {"thought_signature": "sig=="}},
    }
    other = {"index": 1, "id": "", "function": {"name": "bash", "arguments": "{}"}}
    where = {"GEMINI_BASE_URL": "{url}/v1beta/openai", "GEMINI_API_KEY": "k"}
    model = "gemini/gemini-3-pro"
    end, _ = asked(model, [chunks({"tool_calls": [call, other]}, finish="tool_calls")], **where)
    history = MessageHistory()
    history.add_user("q")
    said = history.add_assistant(completed(end).message, 1)
    assert [call.id for call in said.calls] == ["call_1_0", "call_1_1"]
    results = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in said.calls))
    _, requests = asked(model, [Say("ok")], user("q"), said, results, **where)
    sent = requests[0].json["messages"][2]["tool_calls"]
    assert sent[0]["extra_content"] == {"google": {"thought_signature": "sig=="}}
    assert "extra_content" not in sent[1]
    # Another model's is replaced by the word for that, which Gemini 3 wants with the first call.
    _, requests = asked("gemini/gemini-4", [Say("ok")], user("q"), said, results, **where)
    first, second = requests[0].json["messages"][2]["tool_calls"]
    assert first["extra_content"]["google"]["thought_signature"] == "skip_thought_signature_validator"
    assert "extra_content" not in second
    _, requests = asked("gemini/gemini-2.5-pro", [Say("ok")], user("q"), said, results, **where)
    assert "extra_content" not in requests[0].json["messages"][2]["tool_calls"][0]


def test_openrouters_reasoning_goes_back_joined():
    def piece(**more: Any) -> dict[str, Any]:
        return {"reasoning_details": [{"type": "reasoning.text", "index": 0, "format": "f", **more}]}

    script = chunks(
        {"reasoning": "Let me ", **piece(text="Let me ")},
        {"reasoning": "see.", **piece(text="see.", signature="sig")},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "enc"}]},
        {"content": "Yes."},
    )
    where = {"OPENROUTER_BASE_URL": "{url}/api/v1", "OPENROUTER_API_KEY": "k"}
    end, _ = asked("openrouter/x/y", [script], **where)
    said = completed(end).message
    assert without_extras(said)[0] == Thinking("Let me see.")
    _, requests = asked("openrouter/x/y", [Say("ok")], user("q"), said, user("go on"), **where)
    assert requests[0].json["messages"][2]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "format": "f", "text": "Let me see.", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "enc"},
    ]


def test_a_name_that_each_piece_repeats_without_an_id_begins_no_call():
    pieces = ['{"comm', 'and":"ls"}']
    calls = [{"index": 0, "function": {"name": "bash", "arguments": piece}} for piece in pieces]
    script = chunks(*({"tool_calls": [call]} for call in calls), finish="tool_calls")
    end, _ = asked("ollama/qwen", [script], OLLAMA_BASE_URL="{url}")
    [call] = without_extras(completed(end).message)
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"command":"ls"}'


AWS = {
    "ANTHROPIC_BEDROCK_BASE_URL": "{url}",
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "the-secret-of-aws",
}
SONNET = "bedrock/us.anthropic.claude-sonnet-5-5-v1:0"


def binary(body: bytes) -> Raw:
    return Raw(body, "application/vnd.amazon.eventstream")


@pytest.mark.slow
def test_bedrock_is_asked_signed_and_its_binary_stream_is_read():
    pytest.importorskip("boto3")
    turn = Turn((Think("hm", "sig"), Say("Look: ✓"), Call("bash", {"command": "ls"}, "toolu_1")), pieces=3)
    end, requests = asked(SONNET, [binary(of_sse(messages_frames(turn, 0)))], user("hello"), **AWS)
    end = completed(end)
    assert without_extras(end.message) == (
        Thinking("hm", "sig"),
        without_extras(end.message)[1]._replace(text="Look: ✓"),  # type: ignore[call-arg]  # it is a text
        ToolCall("toolu_1", "bash", '{"command": "ls"}'),
    )
    assert requests[0].path == "/model/us.anthropic.claude-sonnet-5-5-v1:0/invoke-with-response-stream"
    assert requests[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert "the-secret-of-aws" not in str(requests[0].headers)
    signed = requests[0].headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert set(signed) <= set(requests[0].headers), "what is signed must also leave"
    assert requests[0].json["anthropic_version"]
    assert not {"model", "stream"} & requests[0].json.keys()


@pytest.mark.slow
def test_bedrocks_own_key_goes_as_a_bearer_token():
    pytest.importorskip("boto3")
    environment = {**AWS, "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key"}
    _, requests = asked(SONNET, [binary(of_sse(messages_frames(Turn((Say("ok"),)), 0)))], **environment)
    assert requests[0].headers["authorization"] == "Bearer bedrock-key"


def test_bedrocks_exception_in_the_stream_and_a_cut_one_are_failures():
    pytest.importorskip("boto3")
    whole = of_sse(messages_frames(Turn((Say("ok"),)), 0))
    throttled = binary(exception("throttlingException", "Too many requests"))
    end, requests = asked(SONNET, [throttled, binary(whole)], **AWS)
    assert completed(end).message.text == "ok"
    assert len(requests) == 2
    end, requests = asked(SONNET, [binary(whole[:-400]), binary(whole)], **AWS)
    assert (completed(end).message.text, len(requests)) == ("ok", 2)
    end, _ = asked(SONNET, lambda _: binary(chunk("{}") + b"\0" * 64), **AWS)
    assert failed(end).partial is None


VERTEX = {
    "ANTHROPIC_VERTEX_BASE_URL": "{url}/v1",
    "CLOUD_ML_REGION": "global",
    "ANTHROPIC_VERTEX_PROJECT_ID": "my-project",
    "ANTHROPIC_VERTEX_ACCESS_TOKEN": "ya29.token",
}


def test_vertex_is_asked_with_project_region_and_token():
    body = messages_frames(Turn((Say("ok"),)), 0)
    end, requests = asked("vertex/claude-haiku-4-5@20251001", [Raw(body)], user("hello"), **VERTEX)
    assert completed(end).message.text == "ok"
    assert requests[0].path == (
        "/v1/projects/my-project/locations/global/publishers/anthropic/models/"
        "claude-haiku-4-5@20251001:streamRawPredict"
    )
    assert requests[0].headers["authorization"] == "Bearer ya29.token"
    assert requests[0].json["stream"] is True
    assert "model" not in requests[0].json


@pytest.mark.parametrize(
    ("model", "environment", "missing"),
    [
        (SONNET, AWS, "AWS_REGION"),
        (SONNET, AWS, "AWS_SECRET_ACCESS_KEY"),
        ("vertex/claude-opus-5-5", VERTEX, "CLOUD_ML_REGION"),
        ("vertex/claude-opus-5-5", VERTEX, "ANTHROPIC_VERTEX_PROJECT_ID"),
    ],
)
def test_what_a_cloud_needs_is_named(model: str, environment: dict[str, str], missing: str):
    if model == SONNET:
        pytest.importorskip("boto3")
    given = {
        name: value for name, value in environment.items() if name != missing and not name.endswith("_URL")
    }
    with pytest.raises(UsageError, match=missing):
        connect(model, given)


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        ("bedrock/anthropic.claude-opus-5-5", "boto3", "bedrock"),
        ("vertex/claude-opus-5-5", "google", "vertex"),
    ],
)
def test_without_its_extra_a_cloud_names_it(
    monkeypatch: pytest.MonkeyPatch, model: str, package: str, extra: str
):
    def find_spec(name: str, *more: Any) -> Any:
        return None if name.partition(".")[0] == package else real(name, *more)

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    environment = {"AWS_REGION": "x", "CLOUD_ML_REGION": "global", "ANTHROPIC_VERTEX_PROJECT_ID": "p"}
    with pytest.raises(UsageError, match=rf"slash-agent\[{extra}\].*`extras: {extra}`"):
        connect(model, environment)
