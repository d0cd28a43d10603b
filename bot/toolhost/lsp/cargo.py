"""`cargo check` as a checker of Rust: one run over the whole project as it is on disk, or over the base commit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bot.contracts.evidence import Problem, Severity
from bot.contracts.plain_text import printable
from bot.toolhost.context import Context
from bot.toolhost.programs import Cancellation, run_program

_LOCK = "Cargo.lock"
_TIMEOUT = 300.0
"""Seconds of one run."""

_MAX_OUTPUT = 16 << 20
_MAX_PROBLEMS = 1000
_LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING}

ProblemsByFile = dict[str, tuple[Problem, ...]]


class CargoCheck:
    """`argv` is the program with what comes before `check`; `folder` holds the Cargo.lock; `refusal` is called before
    each run; `export` writes the base commit to a folder. `cancel` ends a run from any thread."""

    def __init__(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        context: Context,
        folder: Path,
        *,
        refusal: Callable[[], str],
        export: Callable[[Path], bool],
    ) -> None:
        self._argv = [*argv, "check", "--quiet", "--message-format=json", "--offline", "--locked"]
        self._environment = environment
        self._context = context
        self._folder = folder
        self._refusal = refusal
        self._export = export
        self._cancelled = Cancellation()

    def cancel(self) -> None:
        self._cancelled.set()

    def run(self) -> ProblemsByFile | str:
        """The problems by path relative to the root; else why the project cannot be checked."""
        return self._check(self._folder)

    def run_on_base(self) -> ProblemsByFile | str:
        folder = self._context.tmp / "cargo-base"
        if not self._export(folder):
            return "a file was changed before it had looked at the project"
        project = folder / self._folder.relative_to(self._context.real_root)
        if not os.path.exists(project / _LOCK) and (lock := read_text(self._folder / _LOCK)):
            project.mkdir(parents=True, exist_ok=True)
            (project / _LOCK).write_text(lock)  # one that is not in git
        return self._check(project)

    def _check(self, folder: Path) -> ProblemsByFile | str:
        if reason := self._refusal():
            return reason
        try:
            result = run_program(
                self._argv,
                cwd=folder,
                environment=self._environment,
                timeout=_TIMEOUT,
                cap=_MAX_OUTPUT,
                cancelled=self._cancelled,
                start=self._context.monitor.start_beside,
            )
        except OSError as error:
            return f"it could not be run: {error.strerror}"
        if result.timed_out:
            return f"it took more than {_TIMEOUT:g} s"
        problems = _parse(result.output, self._folder.relative_to(self._context.real_root))
        if result.exit_code != 0 and not any(problems.values()):
            stderr = printable(result.errors.decode("utf-8", "replace"))
            lines = [line for line in stderr.split("\n") if line.strip()]
            return f"it could not check the project: {lines[0][:200] if lines else 'it said nothing'}"
        return problems


def read_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None


def _parse(output: bytes, folder: Path) -> ProblemsByFile:
    problems: dict[str, list[Problem]] = {}
    count = 0
    for line in output.splitlines():
        try:
            event = json.loads(line)
            problem = _problem(event["message"], folder) if event["reason"] == "compiler-message" else None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            continue  # output of a build script
        if problem is not None and count < _MAX_PROBLEMS:
            count += 1
            problems.setdefault(problem.path, []).append(problem)
    return {
        path: tuple(sorted(set(some), key=lambda problem: (problem.line, problem.column)))
        for path, some in problems.items()
    }


def _problem(message: Mapping[str, Any], folder: Path) -> Problem | None:
    severity = _LEVELS.get(message["level"])
    span = next((span for span in message["spans"] if span["is_primary"]), None)
    if severity is None or span is None:
        return None
    code = message["code"]
    text = span["text"][0]["text"] if span["text"] else ""
    return Problem(
        "cargo",
        str(folder / str(span["file_name"])),
        int(span["line_start"]),
        int(span["column_start"]),
        severity,
        str(code["code"]) if code else "",
        printable(str(message["message"])).partition("\n")[0][:1000],
        snippet=printable(str(text))[:300],
    )
