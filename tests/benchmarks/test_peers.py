"""The peers' scripted model in each wire format, and one small agent measured as a peer would be."""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers.catalogue import PEERS, Peer, Place, Started
from benchmarks.peers.install import NotInstalledError
from benchmarks.peers.measure import measure
from benchmarks.peers.wire import Script, conversation
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


@pytest.mark.parametrize("stream", [True, False])
def test_chat_completions_are_streamed_or_whole_as_asked(stream: bool) -> None:
    tool = {"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}
    body = {"messages": [], "tools": [tool], "stream": stream}
    with ModelServer(Script(1)) as server:
        answer = post(server, "/v1/chat/completions", body)
    text = answer.decode() if stream else json.dumps(json.loads(answer)["choices"][0]["message"])
    assert "echo hi # 0" in text


def test_gemini_is_streamed_with_its_arguments_as_an_object() -> None:
    declared = {"name": "run_shell_command", "parametersJsonSchema": SCHEMA}
    body = {"contents": [], "tools": [{"functionDeclarations": [declared]}]}
    with ModelServer(Script(1)) as server:
        answer = post(server, "/v1beta/models/scripted:streamGenerateContent?alt=sse", body)
    call = events(answer)[0]["candidates"][0]["content"]["parts"][0]["functionCall"]
    assert (call["name"], call["args"]) == ("run_shell_command", {"command": "echo hi # 0"})


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


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer: Peer) -> None:
    pins = [package.rpartition("==" if peer.registry == "pypi" else "@")[2] for package in peer.packages]
    assert all(pin[:1].isdigit() for pin in pins)
    assert not peer.registry or pins[0] == peer.version


def test_the_page_shows_every_peer_in_its_pinned_version() -> None:
    page = (ROOT / "docs" / "bench.md").read_text()
    assert [peer.name for peer in PEERS if f"| {peer.name} ({peer.language})" not in page] == []
    assert [peer.name for peer in PEERS if f"| {peer.version} " not in page] == []
