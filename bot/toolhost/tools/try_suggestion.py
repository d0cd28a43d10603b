"""`try_suggestion`: apply a review's suggestion to a file in memory and parse the result; nothing is written.

Called by the supervisor only: the code is untrusted, so it is parsed inside the sandbox. If the file did not parse
before, the suggestion counts as applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost import syntax
from bot.toolhost.context import Context, integer_argument, text_argument
from bot.toolhost.files import load, resolve


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    raw_path = text_argument(arguments, "path")
    first = integer_argument(arguments, "first", 1, 1, 1 << 40)
    last = integer_argument(arguments, "last", first, first, 1 << 40)
    file = load(context, resolve(context, raw_path), raw_path)
    content = file.text.content
    changed = _applied(content, first, last, str(arguments["text"]), str(arguments["suggestion"]))
    if changed is None:
        raise ToolFailure(
            f"The lines {first}-{last} of {file.name} say something else than the finding was made on."
        )
    language = syntax.language(file.path)
    if (
        language not in syntax.PARSERS
        or len(changed) > syntax.LARGEST
        or syntax.first_error(file.path, content)
    ):
        return ToolOutcome("It applies.", metadata={"path": file.name, "parsed": ""})
    if trouble := syntax.first_error(file.path, changed):
        raise ToolFailure(f"With the suggestion {file.name} is no valid {language} any more: {trouble}.")
    return ToolOutcome("It applies, and parses.", metadata={"path": file.name, "parsed": language})


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
