"""Scripted language servers (`play_language_server.py`) and a client for each."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.ecosystems.language_server import Launch
from bot.toolhost.lsp.client import LanguageServer, SourceFile
from tests.support.workspaces import eventually

LONG = 60.0
"""A time-out in seconds that no test reaches."""

FILE = "a.py"
PLAYER = Path(__file__).with_name("play_language_server.py")

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


def start(argv: tuple[str, ...], folder: Path, name: str = "scripted") -> LanguageServer:
    """A server of this command on a folder."""
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return LanguageServer(name, folder, Launch(argv), process, threading.Condition())


class Scripted:
    """One server and the files that it checks."""

    def __init__(self, folder: Path, what: Mapping[str, Any]) -> None:
        self.folder = folder
        self._log = folder / f"{len(list(folder.iterdir()))}.log"
        written = self._log.with_suffix(".json")
        written.write_text(json.dumps(what))
        argv = (sys.executable, "-I", "-S", str(PLAYER), str(written), str(self._log))
        self.server = start(argv, folder)
        self.files: dict[str, SourceFile] = {}

    def edit(self, now: str = "new\n", path: str = FILE, before: str | None = "old\n") -> None:
        file = self.files.setdefault(path, SourceFile(path, before, now))
        file.now = now
        self.server.read(file, "python")

    def said(self, path: str = FILE) -> list[str]:
        """The messages of the problems now."""
        document = self.server.documents[path]
        self.wait(lambda: document.ready)
        return [problem.message for problem in document.problems or ()]

    def off(self) -> str:
        """Why it is off, once it is."""
        self.wait(lambda: self.server.off_reason)
        return self.server.off_reason

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
        assert eventually(lambda: bool(condition())), (self.server.off_reason, self.log())
