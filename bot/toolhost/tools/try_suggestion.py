"""`try_suggestion`: apply a review's suggestion to a file in memory and parse the result; nothing is written.

Called by the supervisor only: the code is untrusted, so it is parsed inside the sandbox. If the file did not parse
before, the suggestion counts as applied.
"""

import ast
import json
import tomllib
import warnings
from collections.abc import Callable, Mapping

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.files import load, resolve

_PARSERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".py": ("Python", ast.parse),
    ".pyi": ("Python", ast.parse),
    ".json": ("JSON", json.loads),
    ".toml": ("TOML", tomllib.loads),
}
_LARGEST = 1_000_000
"""Characters over which a file is not parsed: that takes seconds, and such files are generated."""


def run(context: Context, path: str, first: int, last: int, text: str, suggestion: str) -> ToolOutcome:
    file = load(context, resolve(context, path), path)
    content = file.text.content
    changed = _applied(content, first, last, text, suggestion)
    if changed is None:
        raise ToolFailure(
            f"The lines {first}-{last} of {file.name} say something else than the finding was made on."
        )
    language, parse = _PARSERS.get(file.path.suffix.lower(), ("", str))
    if not language or len(changed) > _LARGEST or _first_error(parse, content):
        return ToolOutcome("It applies.", metadata={"path": file.name, "parsed": ""})
    if trouble := _first_error(parse, changed):
        raise ToolFailure(f"With the suggestion {file.name} is no valid {language} any more: {trouble}.")
    return ToolOutcome("It applies, and parses.", metadata={"path": file.name, "parsed": language})


def _first_error(parse: Callable[[str], object], text: str) -> str:
    """Why `text` does not parse, as a clause; empty if it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse(text)
    except (ValueError, SyntaxError) as error:
        # The message of a JSON or TOML error names the place itself.
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
        return where[:200].rstrip(".")
    except (RecursionError, MemoryError):
        return "it is nested too deeply"
    return ""


def _applied(content: str, first: int, last: int, text: str, suggestion: str) -> str | None:
    """`content` with `suggestion` for its lines, each with the file's line end; `None` if they are not `text`."""
    lines = content.split("\n")
    if last > len(lines) - content.endswith("\n"):
        return None
    old = lines[first - 1 : last]
    if [line.rstrip() for line in old] != [line.rstrip() for line in text.split("\n")]:
        return None
    end = "\r" if old[0].endswith("\r") else ""
    new = [line + end for line in suggestion.split("\n")] if suggestion else []
    return "\n".join([*lines[: first - 1], *new, *lines[last:]])
