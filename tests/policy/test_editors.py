"""The published schema in an editor's language server: what it completes, what it marks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.policy.read_policy import EDITOR_LINE
from tests.docs.test_docs import blocks
from tests.support.npm import installed

pytestmark = pytest.mark.node

SCHEMA = Path(__file__).parents[2] / "docs" / "agent.schema.json"
FIRST_LINE = f"# yaml-language-server: $schema={SCHEMA.as_uri()}\n"


class Server:
    """yaml-language-server over its standard streams, one document at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._asked = 0
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self._send({"method": "initialized", "params": {}})
        settings = {"yaml": {"validate": True, "completion": True, "schemaStore": {"enable": False}}}
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": settings}})

    def open(self, name: str, text: str) -> str:
        uri = f"file:///{name}.yml"
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": FIRST_LINE + text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def marked(self, uri: str) -> list[dict[str, Any]]:
        """What it marks in a document, once it has looked at it."""
        while True:
            message = self._next()
            about = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics" and about["uri"] == uri:
                return list(about["diagnostics"])

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self._asked and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def completed(self, uri: str, line: int, character: int) -> set[str]:
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return {item["label"] for item in self.ask("textDocument/completion", place)["items"]}

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has gone"
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        if "method" in message and "id" in message:
            nothing = [None] * len(message.get("params", {}).get("items", []))
            self._send({"id": message["id"], "result": nothing})
        return message


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    program = installed("yaml-language-server", "1.20.0") / "bin" / "yaml-language-server"
    with subprocess.Popen(
        ["node", str(program), "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        yield Server(process)
        process.kill()


def test_a_policy_is_marked_where_it_is_wrong(server: Server) -> None:
    uri = server.open("wrong", "version: 1\nbudget:\n  usd: lots\nreveiw: {}\n")
    marked = {(one["range"]["start"]["line"], one["message"].splitlines()[0]) for one in server.marked(uri)}
    assert marked == {(3, 'Incorrect type. Expected "number".'), (4, "Property reveiw is not allowed.")}


def test_keys_and_values_are_completed(server: Server) -> None:
    uri = server.open("keys", "version: 1\nreview:\n  \nforks: \n")
    assert {"drafts", "max_findings", "on", "request_changes"} <= server.completed(uri, 3, 2)
    assert {"suggestions", "pull_request", "push"} <= server.completed(uri, 4, 7)


def test_a_key_says_what_it_is_for(server: Server) -> None:
    uri = server.open("hover", "push_to_head: false\n")
    place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 3}}
    assert "onto its own branch" in server.ask("textDocument/hover", place)["contents"]["value"]


def test_the_pages_own_example_is_not_marked(server: Server) -> None:
    example, *_ = blocks(SCHEMA.with_name("policy.md"), "yaml")
    assert example.startswith(EDITOR_LINE)
    assert server.marked(server.open("page", example.removeprefix(EDITOR_LINE))) == []
