"""`try_suggestion`: a review's suggestion put into a file in memory and parsed; nothing is written.

The supervisor's own question and no tool of the model's: the code is a stranger's, so it is parsed here, behind
the wall. Where the file did not parse before, the suggestion cannot be blamed and counts as applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import arguments as given
from bot.workshop.host.context import Context, ToolFailure
from bot.workshop.host.files import load
from bot.workshop.host.paths import resolve

# Characters over which a file is not parsed: it takes seconds, and such files are made by programs.
_LARGEST = 1_000_000


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    asked = given.text(arguments, "path")
    first = given.integer(arguments, "first", 1, 1, 1 << 40)
    last = given.integer(arguments, "last", first, first, 1 << 40)
    file = load(context, resolve(context, asked), asked)
    content = file.text.content
    changed = _applied(content, first, last, str(arguments["text"]), str(arguments["suggestion"]))
    if changed is None:
        raise ToolFailure(
            f"The lines {first}-{last} of {file.name} say something else than the finding was made on."
        )
    language, parse = _PARSERS.get(file.path.suffix.lower(), ("", None))
    if parse is None or len(changed) > _LARGEST or _trouble(parse, content):
        return ToolOutcome("It applies.", metadata={"path": file.name, "parsed": ""})
    if trouble := _trouble(parse, changed):
        raise ToolFailure(f"With the suggestion {file.name} is no valid {language} any more: {trouble}.")
    return ToolOutcome("It applies, and parses.", metadata={"path": file.name, "parsed": language})


def _applied(content: str, first: int, last: int, text: str, suggestion: str) -> str | None:
    """`content` with `suggestion` for its lines, each with the file's line end; `None` where they are not `text`."""
    lines = content.split("\n")
    if last > len(lines) - content.endswith("\n"):
        return None
    old = lines[first - 1 : last]
    if [line.rstrip() for line in old] != [line.rstrip() for line in text.split("\n")]:
        return None
    end = "\r" if old[0].endswith("\r") else ""
    new = [line + end for line in suggestion.split("\n")] if suggestion else []
    return "\n".join([*lines[: first - 1], *new, *lines[last:]])


def _trouble(parse: Callable[[str], object], content: str) -> str:
    """Why the text does not parse; empty where it does."""
    try:
        parse(content)
    except (ValueError, SyntaxError) as error:
        # The message of a JSON or TOML error names the place itself.
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        return where[:200].rstrip(".")
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return ""


def _python(content: str) -> object:
    import ast  # these three only where a suggestion is made, and only the one that is needed
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)


def _json(content: str) -> object:
    import json

    return json.loads(content)


def _toml(content: str) -> object:
    import tomllib

    return tomllib.loads(content)


_PARSERS: Mapping[str, tuple[str, Callable[[str], object] | None]] = {
    ".py": ("Python", _python),
    ".pyi": ("Python", _python),
    ".json": ("JSON", _json),
    ".toml": ("TOML", _toml),
}
