"""Language servers as the tool host asks them: wrong answers, the time to the first, what an edit waits.

Every server of `SERVERS` that is beside this Python or on PATH is measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.memory import processors_ms
from benchmarks.table import Row
from bot.contracts.evidence import Answer
from bot.toolhost.lsp.codecs import Codec, LspCodec, TsserverCodec
from bot.toolhost.lsp.process import FileDiagnostics, ServerConfig, Timeouts
from bot.toolhost.lsp.registry import TSSERVER
from bot.toolhost.lsp.server import LanguageServer
from bot.toolhost.lsp.server_loop import ServerLoop

EDITS = 20
FIRST_MS = 500.0
EDIT_MS = 150.0
CAP = 3.0
"""Seconds that an edit waits at most, as in a run."""

FIRST_CAP = 60.0
_CLEAN_EVERY = 5
LARGE_FILE = "github/Repository.py"
"""Of a package that is installed, since we depend on it."""

_PYTHON = ("ruff", "ty")


@dataclass(frozen=True)
class Measured:
    """A server, and a file in which one name decides what it has to say."""

    name: str
    command: tuple[str, ...]
    path: str
    language: str
    text: str
    clean: str
    """The text with nothing wrong in it; `text` uses a NAME that there is not."""

    files: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    """How `--version` begins, where that decides."""

    options: object = None
    """Of `initialize`."""

    codec: Callable[[int], Codec] = LspCodec


_TYPESCRIPT = {"tsconfig.json": '{"compilerOptions": {"strict": true}, "include": ["*.ts"]}'}
_PYTHON_FILE = ("a.py", "python", "\n\nprint(NAME)\n", "x = 1\n")
_SCRIPT_FILE = ("a.js", "javascript", "export {};\n\nNAME();\n", "export const x = 1;\n")
_TYPESCRIPT_FILE = ("a.ts", "typescript", "export {};\n\nNAME();\n", "export const x = 1;\n")

SERVERS = (
    Measured("ruff", ("ruff", "server"), *_PYTHON_FILE),
    Measured("ty", ("ty", "server"), *_PYTHON_FILE),
    Measured("pyrefly", ("pyrefly", "lsp"), *_PYTHON_FILE, {"pyrefly.toml": ""}),
    Measured("basedpyright", ("basedpyright-langserver", "--stdio"), *_PYTHON_FILE),
    Measured("typescript", ("tsc", "--lsp", "--stdio"), *_TYPESCRIPT_FILE, _TYPESCRIPT, version="Version 7"),
    Measured("tsserver", ("tsserver", *TSSERVER), *_TYPESCRIPT_FILE, _TYPESCRIPT, codec=TsserverCodec),
    Measured("tsls", ("typescript-language-server", "--stdio"), *_TYPESCRIPT_FILE, _TYPESCRIPT),
    Measured("vtsls", ("vtsls", "--stdio"), *_TYPESCRIPT_FILE, _TYPESCRIPT),
    Measured(
        "gopls", ("gopls",), "main.go", "go", "package main\n\nfunc main() { NAME() }\n",
        "package main\n\nfunc main() {}\n", {"go.mod": "module a\n\ngo 1.21\n"},
    ),
    Measured(
        "clangd", ("clangd", "--background-index=false"), "a.c", "c", "int f(void) {\n  return NAME;\n}\n",
        "int f(void) { return 1; }\n",
    ),
    Measured(
        "biome", ("biome", "lsp-proxy"), *_SCRIPT_FILE,
        {"biome.json": '{"linter": {"rules": {"correctness": {"noUndeclaredVariables": "error"}}}}'},
    ),
    Measured(
        "oxlint", ("oxlint", "--lsp"), *_SCRIPT_FILE, {".oxlintrc.json": '{"rules": {"no-undef": "error"}}'}
    ),
    Measured(
        "bash", ("bash-language-server", "start"), "a.sh", "shellscript",
        '#!/bin/bash\n\nx=1\necho "$NAME" "$x"\n', '#!/bin/bash\nx=1\necho "$x"\n',
    ),
    Measured("yaml", ("yaml-language-server", "--stdio"), "a.yaml", "yaml", "a: 1\n\nb: !NAME 1\n", "a: 1\n"),
    Measured(
        "json", ("vscode-json-language-server", "--stdio"), "a.json", "json",
        '{\n"$schema": "./schema.json",\n\n"NAME": 1}\n', '{"$schema": "./schema.json"}\n',
        {"schema.json": '{"properties": {"$schema": {}}, "additionalProperties": false}'},
        options={"handledSchemaProtocols": ["file"]},
    ),
)  # fmt: skip


@dataclass
class Judged:
    """The answers to the edits of one server. `late` did not come in time, and say so."""

    stale: int = 0
    early: int = 0
    late: int = 0
    waits: list[float] = field(default_factory=list)

    def judge(self, answered: FileDiagnostics, name: str, waited: float) -> None:
        """`name` is what the file has that there is not, empty for a clean one."""
        self.waits.append(waited * 1000)
        words = " ".join(problem.message for problem in answered.items)
        if answered.answer is not Answer.COMPLETE:
            self.late += 1
        elif words.replace(name or "\0", "").count("name_"):
            self.stale += 1
        elif name and name not in words:
            self.early += 1


def language_servers(
    folder: Path, edits: int, runs: int, names: Sequence[str], large_file: str, say: Callable[[str], None]
) -> Iterator[Row]:
    """`names` are those to measure; all where it is empty."""
    yield from _python(folder / "python", edits, runs, large_file)
    for measured in SERVERS:
        if (not names or measured.name in names) and (argv := _found(measured)):
            say(f"language servers, {measured.name}")
            yield _double_edits(measured, argv, folder / measured.name, edits)
            with _hogs(2 * (os.cpu_count() or 1)) as load:
                yield _double_edits(measured, argv, folder / f"{measured.name}-{load}", edits, load)


@contextmanager
def _hogs(number: int) -> Iterator[int]:
    """So many processes beside that do nothing but take the processor."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield number
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def _double_edits(measured: Measured, argv: tuple[str, ...], folder: Path, edits: int, load: int = 0) -> Row:
    """Two edits at once, the first of which must never be seen in the answer."""
    folder.mkdir(parents=True)
    for name, text in measured.files.items() | {(measured.path, measured.clean)}:
        (folder / name).write_text(text)
    loop, judged = ServerLoop(), Judged()
    try:
        server = _start(loop, measured, argv, folder)
        server.open(measured.path, measured.clean, measured.language)
        first = server.diagnostics([measured.path], FIRST_CAP)[measured.path]
        if first.answer is not Answer.COMPLETE:
            raise RuntimeError(f"{measured.name}: {first.note} {server.stderr_tail[-300:]}")
        for number in range(edits):
            name = "" if number % _CLEAN_EVERY == 4 else f"name_{number}_b"
            server.change(
                measured.path, "\n" * (number % 3) + measured.text.replace("NAME", f"name_{number}_a")
            )
            server.change(measured.path, measured.text.replace("NAME", name) if name else measured.clean)
            began = time.monotonic()
            answered = server.diagnostics([measured.path], CAP)[measured.path]
            judged.judge(answered, name, time.monotonic() - began)
        use = server.use()
    finally:
        loop.stop()
    wrong = judged.stale + judged.early + judged.late
    return Row(
        f"{edits} double edits, {measured.name} {use.version}".rstrip()
        + (f", {load} hogs beside" if load else ""),
        f"{judged.stale} stale, {judged.early} early, {judged.late} late",
        f"{median(judged.waits):.0f} ms, the most {max(judged.waits):.0f} ms; {use.memory >> 20} MiB",
        "",
        "none",
        wrong == 0,
    )


def _python(folder: Path, edits: int, runs: int, path: str) -> Iterator[Row]:
    """A real package, ours to hand since we depend on it; both servers side by side, as in a run."""
    package = Path(path).parts[0]
    source = Path(sysconfig.get_path("purelib")) / package
    shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / path).read_text()
    programs = [
        (measured, argv) for measured in SERVERS if measured.name in _PYTHON and (argv := _found(measured))
    ]
    firsts: list[float] = []
    waits: list[float] = []
    used: list[float] = []
    for _ in range(max(1, runs)):
        loop = ServerLoop()
        try:
            began, before = time.monotonic(), processors_ms(os.getpid())
            servers = [_start(loop, measured, argv, folder) for measured, argv in programs]
            for server in servers:
                server.open(path, text, "python")
            _all_complete(loop, servers, path)
            firsts.append((time.monotonic() - began) * 1000)
            started = processors_ms(os.getpid())
            used.append(started - before)
            pids = {server.name: server.process.client.pid for server in servers}
            theirs = {name: processors_ms(pid) for name, pid in pids.items()}
            if len(firsts) == max(1, runs):
                waits = [_edit(loop, servers, path, text, number) for number in range(edits)]
                used_by_edits = processors_ms(os.getpid()) - started
                theirs = {name: processors_ms(pid) - theirs[name] for name, pid in pids.items()}
        finally:
            loop.stop()
    lines = text.count("\n")
    shares = ", ".join(f"{name} {used / edits:.0f}" for name, used in theirs.items())
    yield Row(
        f"first diagnostics, {lines:,} lines of Python",
        f"{median(firsts):.0f} ms",
        f"the most {max(firsts):.0f} ms; {median(used):.0f} ms of CPU",
        "",
        f"at most {FIRST_MS:g} ms",
        median(firsts) <= FIRST_MS,
    )
    yield Row(
        f"an edit's wait, {lines:,} lines of Python",
        f"{median(waits):.0f} ms",
        f"the most {max(waits):.0f} ms; {used_by_edits / edits:.0f} ms of CPU ({shares})",
        "",
        f"at most {EDIT_MS:g} ms",
        median(waits) <= EDIT_MS,
    )


def _edit(loop: ServerLoop, servers: Sequence[LanguageServer], path: str, text: str, number: int) -> float:
    """Milliseconds until both servers report an undefined name in the middle of the file."""
    lines = text.splitlines(keepends=True)
    lines.insert(_end_of_imports(lines), f"print(name_{number})\n")
    began = time.monotonic()
    for server in servers:
        server.change(path, "".join(lines))
    answers = _all_complete(loop, servers, path)
    waited = time.monotonic() - began
    if not all(any(f"name_{number}" in problem.message for problem in answer.items) for answer in answers):
        raise RuntimeError("a server did not see the edit")
    return waited * 1000


def _end_of_imports(lines: Sequence[str]) -> int:
    return next(number for number, line in enumerate(lines) if line.startswith("class "))


def _all_complete(loop: ServerLoop, servers: Sequence[LanguageServer], path: str) -> list[FileDiagnostics]:
    found = loop.diagnostics({server: [path] for server in servers}, FIRST_CAP)
    answers = [found[server][path] for server in servers]
    if any(answer.answer is not Answer.COMPLETE for answer in answers):
        raise RuntimeError("; ".join(answer.note for answer in answers if answer.note))
    return answers


def _start(loop: ServerLoop, measured: Measured, argv: tuple[str, ...], root: Path) -> LanguageServer:
    environment = {"PATH": _path(), "HOME": str(root.parent), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    patient = Timeouts(start=FIRST_CAP, answer=FIRST_CAP)
    return loop.start(
        ServerConfig(
            measured.name,
            argv,
            root,
            environment,
            options=measured.options,
            codec=measured.codec,
            timeouts=patient,
        )
    )


def _found(measured: Measured) -> tuple[str, ...] | None:
    """Its command line where it is installed."""
    program = shutil.which(measured.command[0], path=_path())
    if program is None:
        return None
    if measured.version:
        output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        if not output.startswith(measured.version):
            return None
    return (program, *measured.command[1:])


def _path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
