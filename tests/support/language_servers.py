"""Scripted language servers (`play_language_server.py`) and a client for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.toolhost.lsp.process import FileDiagnostics, ServerConfig, Timeouts
from bot.toolhost.lsp.server import LanguageServer
from bot.toolhost.lsp.server_loop import ServerLoop
from tests.support.workspaces import eventually

LONG = 60.0
"""A time-out in seconds that no test reaches."""

SHORT = 0.05
"""Seconds to wait for a response that never comes."""

FILE = "a.py"
PLAYER = Path(__file__).with_name("play_language_server.py")

QUICK = Timeouts(
    start=LONG, answer=LONG, registration=0.01, refresh=0.01, versioned=0.01, unversioned=0.01, first_open=0.01,
    stop=1.0,
)  # fmt: skip

PULL = {"textDocumentSync": 2, "diagnosticProvider": {}}
PUSH = {"textDocumentSync": 2}


def item(message: str = "wrong", line: int = 0, **more: object) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "severity": 1, "message": message} | more


def script(
    capabilities: Mapping[str, Any], on: Mapping[str, Any] | None = None, **more: object
) -> dict[str, Any]:
    answer = [[["reply", {"capabilities": capabilities, "serverInfo": {"name": "scripted", "version": "7"}}]]]
    return {"on": {"initialize": answer} | dict(on or {})} | more


def pulls(*answers: list[Any], **more: object) -> dict[str, Any]:
    """A server with pull diagnostics; each request gets the next list of actions."""
    return script(PULL, {"textDocument/diagnostic": list(answers)}, **more)


class Scripted:
    """One server and the file that it checks."""

    def __init__(self, loop: ServerLoop, folder: Path, what: Mapping[str, Any], **options: Any) -> None:
        self.folder = folder
        self._log = folder / f"{len(list(folder.iterdir()))}.log"
        written = self._log.with_suffix(".json")
        written.write_text(json.dumps(what))
        argv = (sys.executable, "-I", "-S", str(PLAYER), str(written), str(self._log))
        self.program = ServerConfig("scripted", argv, folder, {}, **({"timeouts": QUICK} | options))
        self.server: LanguageServer = loop.start(self.program)

    def open(self, text: str = "one\ntwo\n", path: str = FILE) -> None:
        self.server.open(path, text, "python")

    def ask(self, seconds: float = LONG, path: str = FILE) -> FileDiagnostics:
        return self.server.diagnostics([path], seconds)[path]

    def said(self, seconds: float = LONG) -> list[str]:
        """The messages of the reported problems."""
        return [problem.message for problem in self.ask(seconds).items]

    def log(self) -> list[dict[str, Any]]:
        text = self._log.read_text() if self._log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def sent(self, method: str) -> list[dict[str, Any]]:
        """All messages of that method that the server received."""
        return [message for message in self.log() if message.get("method") == method]

    def answers(self) -> dict[Any, dict[str, Any]]:
        """The responses that the server received, by id."""
        return {
            message["id"]: message for message in self.log() if "id" in message and "method" not in message
        }

    def wait(self, condition: Callable[[], object]) -> None:
        assert eventually(lambda: bool(condition())), self.log()
