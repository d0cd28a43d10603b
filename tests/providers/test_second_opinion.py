"""Both adapters against an independent mock of the vendors' APIs, so that our own server is not the only judge."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Event
from bot.contracts.messages import Finish, Message, ToolResult
from bot.providers.connect import connect
from bot.providers.retry import Policy
from tests.support.npm import installed
from tests.support.provider_runs import MODELS, ask, completed, failed, user

pytestmark = pytest.mark.node

FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "limited"}, "response": {"error": {"message": "slow down"}, "status": 429}},
    {"match": {"userMessage": "cut"}, "response": {"content": "never whole " * 20}, "truncateAfterChunks": 2},
    {"match": {"userMessage": "long"}, "response": {"content": "too long", "finishReason": "length"}},
    {"match": {"userMessage": "tool", "hasToolResult": True}, "response": {"content": "The answer is hi."}},
    {
        "match": {"userMessage": "tool"},
        "response": {
            "content": "I will look.",
            "toolCalls": [
                {"name": "bash", "arguments": '{"command":"echo hi"}'},
                {"name": "view", "arguments": '{"path":"a.py"}'},
            ],
        },
    },
    {"match": {"userMessage": "hello"}, "response": {"content": "Hello from elsewhere."}},
]


@pytest.fixture(scope="module")
def mock_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("aimock")
    fixtures = folder / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    program = installed("@copilotkit/aimock", "1.43.0") / "dist" / "cli.js"
    command = ["node", str(program), "-p", "0", "-f", str(fixtures), "--strict", "--log-level", "info"]
    log = folder / "log"
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            yield _url(process, log)
        finally:
            process.terminate()


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://[\w.]+:(\d+)", log.read_text())
        if found:
            return f"http://127.0.0.1:{found[1]}"
        time.sleep(0.05)
    raise AssertionError(f"the mock did not start: {log.read_text()}")


def _stream(model: str, url: str, *messages: Message) -> list[Event]:
    environment = {
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": f"{url}/v1",
    }
    provider = connect(model, environment, policy=Policy(attempts=1))
    try:
        return list(provider.stream(ask(*messages), CancelToken()))
    finally:
        provider.close()


@pytest.mark.parametrize("model", MODELS)
def test_text_is_read(model: str, mock_url: str) -> None:
    end = completed(_stream(model, mock_url, user("hello")))
    assert (end.message.text, end.finish) == ("Hello from elsewhere.", Finish.END_TURN)


@pytest.mark.parametrize("model", MODELS)
def test_a_tool_loop_goes_round(model: str, mock_url: str) -> None:
    first = completed(_stream(model, mock_url, user("tool")))
    assert first.finish is Finish.TOOL_USE
    assert [(call.name, json.loads(call.arguments)) for call in first.message.calls] == [
        ("bash", {"command": "echo hi"}),
        ("view", {"path": "a.py"}),
    ]
    answers = Message("tool", tuple(ToolResult(call.id, call.name, "hi") for call in first.message.calls))
    second = completed(_stream(model, mock_url, user("tool"), first.message, answers))
    assert second.message.text == "The answer is hi."


@pytest.mark.parametrize("model", MODELS)
def test_the_token_limit_is_read(model: str, mock_url: str) -> None:
    assert completed(_stream(model, mock_url, user("long"))).finish is Finish.MAX_TOKENS


@pytest.mark.parametrize("model", MODELS)
def test_a_rate_limit_is_read(model: str, mock_url: str) -> None:
    assert failed(_stream(model, mock_url, user("limited"))).status == 429


@pytest.mark.parametrize("model", MODELS)
def test_a_truncated_stream_fails_with_its_part(model: str, mock_url: str) -> None:
    partial = failed(_stream(model, mock_url, user("cut"))).partial
    assert partial is None or partial.text.startswith("never whole")
