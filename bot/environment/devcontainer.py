"""Read the install commands of a devcontainer, for repositories without CI. Image and features are ignored."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from bot.environment.detection import Read, source_of
from bot.environment.workflows import Job, Script

_FILES = (".devcontainer/devcontainer.json", ".devcontainer.json")
_COMMANDS = ("onCreateCommand", "updateContentCommand", "postCreateCommand")
# An unterminated string or comment matches to the end of the text, which keeps matching linear.
_STRING = r'("(?:\\.|[^"\\])*+(?:"|\\?\Z))'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def read_devcontainer(read: Read) -> Job | None:
    """Return its preparation commands as one job."""
    for path in _FILES:
        if content := _parsed(read(path) or ""):
            scripts = (Script(text) for name in _COMMANDS for text in _lines(content.get(name)))
            return Job(source_of(path), "devcontainer", tuple(scripts), {})
    return None


def _parsed(text: str) -> dict[str, Any]:
    """Parse JSON with comments and trailing commas."""
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(lambda match: match[1] or " ", text)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _lines(command: object) -> Iterator[str]:
    """Yield shell lines of a command: a line, a list of words, or several of these by name."""
    if isinstance(command, dict):
        for one in command.values():
            yield from _lines(None if isinstance(one, dict) else one)
    elif isinstance(command, str):
        yield command
    elif isinstance(command, list) and all(isinstance(word, str) for word in command):
        yield shlex.join(command)
