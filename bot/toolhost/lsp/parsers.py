"""Whether files that need no server parse: Python by name, JSON and TOML by the standard library, YAML by a program."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from bot.contracts.evidence import Problem, Severity
from bot.contracts.plain_text import printable
from bot.toolhost import syntax
from bot.toolhost.context import Context
from bot.toolhost.programs import run_program

PARSERS: Mapping[str, str] = {
    syntax.PYTHON: "python",
    syntax.JSON: "json",
    syntax.JSON_WITH_COMMENTS: "json",
    syntax.TOML: "toml",
    syntax.YAML: "yaml",
}
"""The name of the parser of each language."""

_YAML_PROGRAM = Path(__file__).with_name("yaml_program.py")
_MAX_OUTPUT = 1 << 16
_POSITION = re.compile(r"line (\d+)(?:,? column (\d+))?")


def parser_of(name: str) -> str:
    """The parser of a file of this name; empty if there is none."""
    return PARSERS.get(syntax.language(PurePosixPath(name)), "")


def problems(context: Context, name: str, text: str, until: float) -> tuple[Problem, ...] | None:
    """The first error of a text; `None` if it could not be read in time, or with what there is."""
    if parser_of(name) == "yaml":
        found = _yaml_error(context, text, until - time.monotonic())
        if found is None:
            return None
        line, column, error = found
    else:
        error = syntax.first_error(PurePosixPath(name), text)
        match = _POSITION.search(error)
        line, column = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
    if not error:
        return ()
    lines = text.split("\n")
    snippet = lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""
    language = syntax.language(PurePosixPath(name))
    message = printable(f"no valid {language}: {error}")
    return (
        Problem(
            parser_of(name),
            name,
            line,
            column,
            Severity.ERROR,
            "syntax",
            message,
            snippet=printable(snippet)[:300],
        ),
    )


def _yaml_error(context: Context, text: str, seconds: float) -> tuple[int, int, str] | None:
    folder = context.programs.get("yaml")
    if not folder or seconds <= 0:
        return None
    result = run_program(
        [sys.executable, "-I", "-S", str(_YAML_PROGRAM), folder],
        cwd=context.root,
        environment=context.environment,
        timeout=seconds,
        cap=_MAX_OUTPUT,
        cancelled=context.cancelled,
        stdin=text.encode("utf-8", "replace"),
        start=context.monitor.start_beside,
    )
    try:
        line, column, message = json.loads(result.output)
    except ValueError:
        return None
    return int(line), int(column), str(message)
