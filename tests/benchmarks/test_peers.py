"""The peers' scripted model in each wire format, and one small agent measured as a peer would be."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers.catalogue import PEERS, Peer, Place, Started
from benchmarks.peers.install import NotInstalledError
from benchmarks.peers.measure import Figures, NotRunError, measure
from benchmarks.peers.wire import Script, conversation, fill
from benchmarks.session import ROOT
from benchmarks.subject import small_repository
from tests.support.model_server import ModelServer

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}

# An agent in a few lines: says each command that it was told to run, and ends when there is none.
AGENT = """
import json, sys, urllib.request
messages = [{"role": "user", "content": "hello"}]
function = {"name": "bash", "parameters": json.loads(sys.argv[2])}
while True:
    body = {"messages": messages, "tools": [{"type": "function", "function": function}]}
    request = urllib.request.Request(sys.argv[1], json.dumps(body).encode())
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(said)
    if not said.get("tool_calls"):
        break
    messages.append({"role": "tool", "content": said["tool_calls"][0]["function"]["arguments"]})
"""


def post(server: ModelServer, path: str, body: dict[str, Any]) -> bytes:
    request = urllib.request.Request(server.url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return bytes(answer.read())


def events(answer: bytes) -> list[Any]:
    lines = [line.removeprefix(b"data: ") for line in answer.splitlines() if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def test_responses_ends_with_the_call_in_a_completed_response() -> None:
    tool = {
        "type": "function",
        "name": "exec_command",
        "parameters": {"properties": {"cmd": {"type": "string"}}},
    }
    with ModelServer(Script(1)) as server:
        last = events(post(server, "/v1/responses", {"input": [], "tools": [tool]}))[-1]
    item = last["response"]["output"][0]
    assert (last["type"], item["type"], item["name"]) == (
        "response.completed",
        "function_call",
        "exec_command",
    )
    assert json.loads(item["arguments"]) == {"cmd": "echo hi # 0"}


@pytest.mark.parametrize("stream", [True, False])
def test_chat_completions_are_streamed_or_whole_as_asked(stream: bool) -> None:
    tool = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
    body = {"messages": [], "tools": [tool], "stream": stream}
    with ModelServer(Script(1)) as server:
        answer = post(server, "/v1/chat/completions", body)
    text = answer.decode() if stream else json.dumps(json.loads(answer)["choices"][0]["message"])
    assert "echo hi # 0" in text


def test_messages_are_streamed() -> None:
    tool = {"name": "bash", "input_schema": SCHEMA}
    with ModelServer(Script(1)) as server:
        said = events(post(server, "/v1/messages", {"messages": [], "tools": [tool]}))
    assert said[-1]["type"] == "message_stop"
    assert any(each.get("content_block", {}).get("name") == "bash" for each in said)


def test_gemini_is_streamed_with_its_arguments_as_an_object() -> None:
    declared = {"name": "run_shell_command", "parametersJsonSchema": SCHEMA}
    body = {"contents": [], "tools": [{"functionDeclarations": [declared]}]}
    with ModelServer(Script(1)) as server:
        answer = post(server, "/v1beta/models/scripted:streamGenerateContent?alt=sse", body)
    call = events(answer)[0]["candidates"][0]["content"]["parts"][0]["functionCall"]
    assert (call["name"], call["args"]) == ("run_shell_command", {"command": "echo hi # 0"})


def test_a_session_is_so_many_commands_then_the_last_one_then_words() -> None:
    tool = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
    with ModelServer(Script(2, "exit")) as server:
        said = [post(server, "/v1/chat/completions", {"messages": [], "tools": [tool]}) for _ in range(4)]
    texts = [json.loads(each)["choices"][0]["message"] for each in said]
    commands = [json.loads(each["tool_calls"][0]["function"]["arguments"])["command"] for each in texts[:3]]
    assert commands == ["echo hi # 0", "echo hi # 1", "exit"]
    assert texts[3]["content"] == "Done."


def test_a_request_without_a_shell_gets_words_and_is_not_counted() -> None:
    with ModelServer(Script(1)) as server:
        answer = json.loads(post(server, "/v1/chat/completions", {"messages": []}))
        assert answer["choices"][0]["message"]["content"] == "Shapes"
        assert json.loads(post(server, "/v1/telemetry", {})) == {"data": [], "models": [], "totalTokens": 1}


def test_required_arguments_are_filled_by_their_type() -> None:
    kinds = {"command": "array", "description": "string", "timeout": "INTEGER", "background": "boolean"}
    schema = {"properties": {name: {"type": kind} for name, kind in kinds.items()}, "required": list(kinds)}
    assert fill(schema, "ls") == {
        "command": ["bash", "-c", "ls"],
        "description": "Say hi",
        "timeout": 1000,
        "background": False,
    }


def test_a_moved_cache_mark_does_not_break_the_prefix_and_a_changed_word_does() -> None:
    def said(text: str, **mark: Any) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "text", "text": text, **mark}]}

    def talk(*messages: dict[str, Any]) -> Any:
        found = conversation("/v1/messages", {"messages": list(messages)})
        assert found is not None
        return found

    first = talk(said("one", cache_control={"type": "ephemeral"}))
    assert talk(said("one"), said("two")).continues(first)
    assert not talk(said("another"), said("two")).continues(first)


def small_agent(schema: dict[str, Any], *, code: str = AGENT) -> Peer:
    def start(place: Place) -> Started:
        argv = [sys.executable, "-c", code, f"{place.url}/v1/chat/completions", json.dumps(schema)]
        return Started(argv)

    return Peer("small", "Python", "1", "", (), start)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Path]:
    (tmp_path / "home").mkdir()
    return tmp_path, tmp_path / "home", small_repository(tmp_path / "repository")


@pytest.mark.slow
def test_a_peer_is_measured(places: tuple[Path, Path, Path]) -> None:
    found = measure(small_agent(SCHEMA), *places, turns=3, runs=1)
    assert found.prefix == "3/3"
    assert 0 < found.first_request < 30
    assert found.turn is not None and found.turn > 0
    assert found.peak_mib > 1
    assert found.first_bytes > 100


@pytest.mark.slow
def test_a_peer_that_breaks_says_its_last_words(places: tuple[Path, Path, Path]) -> None:
    with pytest.raises(NotRunError, match="it made 0 of 4 requests: no key"):
        measure(small_agent(SCHEMA, code="raise SystemExit('no key')"), *places, turns=3, runs=1)


def test_a_peer_that_cannot_be_had_is_a_row_that_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(peer: Peer) -> Path:
        raise NotInstalledError("npm is not here")

    monkeypatch.setattr(command, "install", refuse)
    out = tmp_path / "peers.json"
    assert command.main(["--only", "codex", "--json", str(out)]) == 0
    assert "| codex (Rust) | 0.169.0 | not measured: npm is not here |" in capsys.readouterr().out
    assert json.loads(out.read_text())["rows"][0]["why"] == "npm is not here"


def test_a_line_has_a_cell_for_each_column() -> None:
    found = Figures(first_request=1.234, turn=None, peak_mib=80.4, first_bytes=6867, prefix="50/50")
    assert command.line(PEERS[0], found)[2:] == ("1.23", "none", "80", "6,867", "50/50")


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer: Peer) -> None:
    pins = [package.rpartition("==" if peer.registry == "pypi" else "@")[2] for package in peer.packages]
    assert all(pin[:1].isdigit() for pin in pins)
    assert not peer.registry or pins[0] == peer.version


def test_the_page_shows_every_peer_in_its_pinned_version() -> None:
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [peer.name for peer in PEERS if f"| {peer.name} ({peer.language})" not in page] == []
    assert [peer.name for peer in PEERS if f"| {peer.version} " not in page] == []
