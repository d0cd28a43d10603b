"""Checkers of one text: parsers of the standard library, and programs that read a text from standard input. The text
before a change is checked by the same."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bot.contracts.evidence import Answer, Problem, Severity
from bot.contracts.plain_text import printable
from bot.toolhost import syntax
from bot.toolhost.context import Context
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import TEXT_CHECKED, Location, is_shell
from bot.toolhost.programs import run_program

MAX_PROBLEMS = 1000
"""Problems per file."""

_MAX_OUTPUT = 8 << 20
_YAML_PROGRAM = Path(__file__).with_name("yaml_program.py")
_POSITION = re.compile(r"line (\d+)(?:,? column (\d+))?")
_BASH_ERROR = re.compile(r"^.*?: line (\d+): (.*)$", re.MULTILINE)

Check = Callable[[Context, str, str, float], FileDiagnostics]
"""`check(context, path, text, seconds)` returns the problems of a text within that time."""


@dataclass(frozen=True, slots=True)
class TextChecker:
    """`find` returns the check at a location, or why there is none. It runs only if all of `replaces` are
    missing. `program` is the program that it starts, for shell scripts."""

    name: str
    find: Callable[[Location], Check | str]
    replaces: tuple[str, ...] = ()
    program: str = ""

    def accepts(self, path: str, text: str) -> bool:
        if self.program:
            return is_shell(path, text)
        return syntax.language(PurePosixPath(path)) in TEXT_CHECKED[self.name]


def _by_library(name: str) -> Callable[[Location], Check | str]:
    def check(context: Context, path: str, text: str, seconds: float) -> FileDiagnostics:
        error = syntax.first_error(PurePosixPath(path), text)
        if not error:
            return FileDiagnostics(Answer.COMPLETE)
        match = _POSITION.search(error)
        line, column = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
        return _complete(
            [
                _problem(
                    name,
                    path,
                    text,
                    line,
                    column,
                    code="syntax",
                    message=f"no valid {syntax.language(PurePosixPath(path))}: {error}",
                )
            ]
        )

    return lambda location: check


def _yaml(location: Location) -> Check | str:
    folder = location.bundled("yaml")
    if not folder:
        return "there is no PyYAML to read it with"

    def check(context: Context, path: str, text: str, seconds: float) -> FileDiagnostics:
        argv = [sys.executable, "-I", "-S", str(_YAML_PROGRAM), folder]
        output = _output(context, argv, text, seconds)
        if isinstance(output, FileDiagnostics):
            return output
        fault = json.loads(output)
        if not fault:
            return FileDiagnostics(Answer.COMPLETE)
        message = f"no valid YAML: {fault['message']}"
        return _complete(
            [_problem("yaml", path, text, fault["line"], fault["column"], code="syntax", message=message)]
        )

    return check


def _shellcheck(location: Location) -> Check | str:
    program = location.anywhere("shellcheck")
    if not program:
        return "it is not installed"
    severity = "warning" if location.above(".shellcheckrc") or location.uses("shellcheck") else "error"

    def check(context: Context, path: str, text: str, seconds: float) -> FileDiagnostics:
        dialect = ["-s", "bash"] if not text.startswith("#!") else []
        argv = [program, "-f", "json1", "-S", severity, *dialect, "-"]
        output = _output(context, argv, text, seconds, folder=str(PurePosixPath(path).parent))
        if isinstance(output, FileDiagnostics):
            return output
        return _complete(list(_shellcheck_problems(json.loads(output)["comments"], path, text)))

    return check


def _shellcheck_problems(comments: Sequence[Mapping[str, Any]], path: str, text: str) -> Iterator[Problem]:
    for comment in comments[:MAX_PROBLEMS]:
        severity = {"error": Severity.ERROR, "warning": Severity.WARNING}.get(str(comment["level"]))
        if severity is not None:
            position = int(comment["line"]), int(comment["column"])
            yield _problem(
                "shellcheck",
                path,
                text,
                *position,
                code=f"SC{comment['code']}",
                message=str(comment["message"]),
                severity=severity,
            )


def _bash(location: Location) -> Check | str:
    def check(context: Context, path: str, text: str, seconds: float) -> FileDiagnostics:
        output = _output(context, ["bash", "--norc", "-n"], text, seconds, errors=True)
        if isinstance(output, FileDiagnostics):
            return output
        match = _BASH_ERROR.search(output.decode("utf-8", "replace"))
        problems = (
            [_problem("bash", path, text, int(match[1]), 0, code="syntax", message=match[2])] if match else []
        )
        return _complete(problems)

    return check


TEXT_CHECKERS: tuple[TextChecker, ...] = (
    TextChecker("python", _by_library("python"), replaces=("ty", "ruff")),
    TextChecker("json", _by_library("json")),
    TextChecker("toml", _by_library("toml")),
    TextChecker("yaml", _yaml),
    TextChecker("shellcheck", _shellcheck, program="shellcheck"),
    TextChecker("bash", _bash, replaces=("shellcheck",), program="bash"),
)


def run_check(run: Check, context: Context, path: str, text: str, until: float) -> FileDiagnostics:
    """Run a check until `until`. Output in an unexpected form makes it unavailable."""
    try:
        return run(context, path, text, until - time.monotonic())
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        note = f"it answered with something else than problems ({type(error).__name__})"
        return FileDiagnostics(Answer.UNAVAILABLE, note=note)


def _output(
    context: Context,
    argv: Sequence[str],
    text: str,
    seconds: float,
    *,
    folder: str = "",
    errors: bool = False,
) -> bytes | FileDiagnostics:
    """The output of a program for a text on its standard input; else the result if there is none."""
    if seconds <= 0:
        return FileDiagnostics(Answer.TIMED_OUT)
    cwd = context.root / folder
    result = run_program(
        argv,
        cwd=cwd if os.path.isdir(cwd) else context.root,
        environment=context.environment,
        timeout=seconds,
        cap=_MAX_OUTPUT,
        cancelled=context.cancelled,
        stdin=text.encode("utf-8", "replace"),
        start=context.monitor.start_beside,
    )
    if result.timed_out or result.cancelled:
        return FileDiagnostics(Answer.TIMED_OUT)
    return result.errors if errors else result.output


def _problem(
    tool: str,
    path: str,
    text: str,
    line: int,
    column: int,
    *,
    code: str,
    message: str,
    severity: Severity = Severity.ERROR,
) -> Problem:
    lines = text.split("\n")
    snippet = lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""
    return Problem(
        tool, path, line, column, severity, code, printable(message), snippet=printable(snippet)[:300]
    )


def _complete(problems: list[Problem]) -> FileDiagnostics:
    first = sorted(problems[:MAX_PROBLEMS], key=lambda problem: (problem.line, problem.column))
    return FileDiagnostics(Answer.COMPLETE, tuple(first), dropped=max(0, len(problems) - MAX_PROBLEMS))
