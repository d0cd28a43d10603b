"""What is run over a changed file where no language server is asked: parsers of the standard library, and programs
that end by themselves. Each is given a text, so that the text before can be judged by the same."""

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

from bot.contracts.plain_text import printable
from bot.contracts.problems import Answer, Problem, Severity
from bot.workshop.host import syntax
from bot.workshop.host.context import Context
from bot.workshop.host.lsp.programs import Answered
from bot.workshop.host.lsp.registry import PARSED, Place, is_shell, uses
from bot.workshop.host.programs import run_program

MOST = 1000
"""Problems of one file that are looked at."""

_CAP = 8 << 20
_YAML_PROGRAM = Path(__file__).with_name("yaml_program.py")
_COMMENTED = re.compile(
    r"(^|/)([tj]sconfig[^/]*\.json|\.eslintrc\.json|\.(vscode|devcontainer)/[^/]*\.json)$"
)
"""JSON by their names, with comments by custom."""

_PLACE = re.compile(r"line (\d+)(?:,? column (\d+))?")
_BASH = re.compile(r"^.*?: line (\d+): (.*)$", re.MULTILINE)

Check = Callable[[Context, str, str, float], Answered]
"""`check(context, path, text, seconds)`: what is wrong with a text, in so much time."""


@dataclass(frozen=True, slots=True)
class Parser:
    """`find` says at a place how it is run, or why it cannot be; `instead` names those whose work it does where they
    are missing, and only then; `program` is what it starts that is not ours, for scripts of the shell."""

    name: str
    find: Callable[[Place], Check | str]
    instead: tuple[str, ...] = ()
    program: str = ""

    def takes(self, path: str, text: str) -> bool:
        if self.program:
            return is_shell(path, text)
        return PurePosixPath(path).suffix.lower() in PARSED[self.name]


def _parsed(name: str) -> Callable[[Place], Check | str]:
    def check(context: Context, path: str, text: str, seconds: float) -> Answered:
        if name == "json" and _COMMENTED.search(path):
            return Answered(Answer.COMPLETE)
        why = syntax.trouble(PurePosixPath(path), text)
        if not why:
            return Answered(Answer.COMPLETE)
        found = _PLACE.search(why)
        line, column = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
        return _complete(
            [_problem(name, path, text, line, column, "syntax", f"no valid {_WORD[name]}: {why}")]
        )

    return lambda place: check


_WORD = {"python": "Python", "json": "JSON", "toml": "TOML"}


def _yaml(place: Place) -> Check | str:
    folder = place.ours("yaml")
    if not folder:
        return "there is no PyYAML to read it with"

    def check(context: Context, path: str, text: str, seconds: float) -> Answered:
        argv = [sys.executable, "-I", "-S", str(_YAML_PROGRAM), folder]
        said = _said(context, argv, text, seconds, {})
        if isinstance(said, Answered):
            return said
        found = json.loads(said)
        if not found:
            return Answered(Answer.COMPLETE)
        message = f"no valid YAML: {found['message']}"
        return _complete([_problem("yaml", path, text, found["line"], found["column"], "syntax", message)])

    return check


def _shellcheck(place: Place) -> Check | str:
    program = place.anywhere("shellcheck")
    if not program:
        return "it is not installed"
    severity = "warning" if place.above(".shellcheckrc") or uses(place, "shellcheck") else "error"

    def check(context: Context, path: str, text: str, seconds: float) -> Answered:
        dialect = ["-s", "bash"] if not text.startswith("#!") else []
        argv = [program, "-f", "json1", "-S", severity, *dialect, "-"]
        said = _said(context, argv, text, seconds, {}, folder=str(PurePosixPath(path).parent))
        if isinstance(said, Answered):
            return said
        return _complete(list(_of_shellcheck(json.loads(said)["comments"], path, text)))

    return check


def _of_shellcheck(comments: Sequence[Mapping[str, Any]], path: str, text: str) -> Iterator[Problem]:
    for one in comments[:MOST]:
        severity = {"error": Severity.ERROR, "warning": Severity.WARNING}.get(str(one["level"]))
        if severity is not None:
            where = int(one["line"]), int(one["column"])
            yield _problem(
                "shellcheck", path, text, *where, f"SC{one['code']}", str(one["message"]), severity
            )


def _bash(place: Place) -> Check | str:
    def check(context: Context, path: str, text: str, seconds: float) -> Answered:
        said = _said(context, ["bash", "--norc", "-n"], text, seconds, {}, errors=True)
        if isinstance(said, Answered):
            return said
        found = _BASH.search(said.decode("utf-8", "replace"))
        problems = [_problem("bash", path, text, int(found[1]), 0, "syntax", found[2])] if found else []
        return _complete(problems)

    return check


PARSERS: tuple[Parser, ...] = (
    Parser("python", _parsed("python"), instead=("ty", "ruff")),
    Parser("json", _parsed("json")),
    Parser("toml", _parsed("toml")),
    Parser("yaml", _yaml),
    Parser("shellcheck", _shellcheck, program="shellcheck"),
    Parser("bash", _bash, instead=("shellcheck",), program="bash"),
)


def asked(run: Check, context: Context, path: str, text: str, until: float) -> Answered:
    """What is wrong with a text, by `until`. Whatever a program prints instead of what it should is no answer."""
    try:
        return run(context, path, text, until - time.monotonic())
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        note = f"it answered with something else than problems ({type(error).__name__})"
        return Answered(Answer.UNAVAILABLE, note=note)


def _said(
    context: Context,
    argv: Sequence[str],
    text: str,
    seconds: float,
    variables: Mapping[str, str],
    *,
    folder: str = "",
    errors: bool = False,
) -> bytes | Answered:
    """What a program prints of a text on its standard input; else why it does not."""
    if seconds <= 0:
        return Answered(Answer.TIMED_OUT)
    cwd = context.root / folder
    done = run_program(
        argv,
        cwd=cwd if os.path.isdir(cwd) else context.root,
        environment={**context.environment, **variables},
        timeout=seconds,
        cap=_CAP,
        cancelled=context.cancelled,
        stdin=text.encode("utf-8", "replace"),
        start=context.keepers.start_beside,
    )
    if done.timed_out or done.cancelled:
        return Answered(Answer.TIMED_OUT)
    return done.errors if errors else done.output


def _problem(
    tool: str,
    path: str,
    text: str,
    line: int,
    column: int,
    code: str,
    message: str,
    severity: Severity = Severity.ERROR,
) -> Problem:
    lines = text.split("\n")
    snippet = lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""
    return Problem(
        tool, path, line, column, severity, code, printable(message), snippet=printable(snippet)[:300]
    )


def _complete(problems: list[Problem]) -> Answered:
    found = sorted(problems[:MOST], key=lambda problem: (problem.line, problem.column))
    return Answered(Answer.COMPLETE, tuple(found), dropped=max(0, len(problems) - MOST))
