"""ruff and ty as the tool host asks them, side by side: the time to the first answer, and what an edit waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.table import Row
from bot.ecosystems.language_server import Launch
from bot.toolhost.lsp.client import LanguageServer, SourceFile

EDITS = 20
FIRST_MS = 500.0
EDIT_MS = 150.0
LARGE_FILE = "github/Repository.py"
"""Of a package that is installed, since we depend on it."""

_NAMES = ("ruff", "ty")
_LIMIT = 60.0
"""Seconds for an answer."""


def language_servers(folder: Path, edits: int, runs: int, path: str) -> Iterator[Row]:
    package = Path(path).parts[0]
    source = Path(sysconfig.get_path("purelib")) / package
    shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / path).read_text()
    firsts: list[float] = []
    waits: list[float] = []
    for _ in range(max(1, runs)):
        began, changed = time.monotonic(), threading.Condition()
        servers = [_start(name, folder, changed) for name in _NAMES]
        _answer(servers, changed, path, text)
        firsts.append((time.monotonic() - began) * 1000)
        waits = [_edit(servers, changed, path, text, number) for number in range(edits)]
        for server in servers:
            server.end()
    lines = text.count("\n")
    for name, times, target in (("first diagnostics", firsts, FIRST_MS), ("an edit's wait", waits, EDIT_MS)):
        yield Row(
            f"{name}, {lines:,} lines of Python",
            f"{median(times):.0f} ms",
            f"the most {max(times):.0f} ms",
            "",
            f"at most {target:g} ms",
            median(times) <= target,
        )


def _start(name: str, folder: Path, changed: threading.Condition) -> LanguageServer:
    argv = (str(Path(sys.executable).with_name(name)), "server")
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return LanguageServer(name, folder, Launch(argv), process, changed)


def _edit(
    servers: Sequence[LanguageServer], changed: threading.Condition, path: str, text: str, number: int
) -> float:
    """Milliseconds until both servers report an undefined name in the middle of the file."""
    lines = text.splitlines(keepends=True)
    first_class = next(index for index, line in enumerate(lines) if line.startswith("class "))
    lines.insert(first_class, f"print(name_{number})\n")
    began = time.monotonic()
    _answer(servers, changed, path, "".join(lines))
    waited = time.monotonic() - began
    for server in servers:
        problems = server.documents[path].problems or ()
        if not any(f"name_{number}" in problem.message for problem in problems):
            raise RuntimeError(f"{server.name} did not see the edit")
    return waited * 1000


def _answer(servers: Sequence[LanguageServer], changed: threading.Condition, path: str, text: str) -> None:
    for server in servers:
        file = server.documents[path].file if path in server.documents else SourceFile(path, None, text)
        file.now = text
        server.read(file, "python")
    with changed:
        if not changed.wait_for(lambda: all(server.is_done([path]) for server in servers), _LIMIT):
            raise RuntimeError("; ".join(server.off_reason or "no answer" for server in servers))
