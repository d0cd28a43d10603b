"""What is said of a run while it goes on, a line at a time: the tool calls of each turn, and what is waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from bot.agent.loop import TurnInfo
from bot.contracts.messages import ToolCall
from bot.contracts.plain_text import named
from bot.policy.patches import patched_paths

_WIDTH = 100
_SUBJECTS = ("command", "pattern", "path", "title", "prompt")


def while_heard(say: Callable[[str], None]) -> Callable[[str], None]:
    """`say` until its reader goes away, as `head` does, or its disk is full; nothing after that: the run itself goes
    on."""
    gone = False

    def speak(line: str) -> None:
        nonlocal gone
        if gone:
            return
        try:
            say(line)
        except OSError:
            gone = True

    return speak


def turn_lines(info: TurnInfo, safe: Callable[[str], str] = str) -> Iterator[str]:
    """What the model said, then one line a tool call, with its subject and whether it failed or was denied. What the
    model wrote is made `safe` before it is cut: half a secret is found by nobody."""
    if info.text.strip():
        yield said_line(info.turn, safe(info.text))
    for call, result in zip(info.calls, info.results, strict=True):
        went = "denied" if call.id in info.denied else "failed" if result.is_error else ""
        yield call_line(info.turn, safe(call.name), safe(subject_of(call)), went)


def call_line(turn: int, tool: str, subject: str, went: str) -> str:
    """`went` is how it went, empty where well."""
    mark = f" ({went})" if went else ""
    return _cut(f"{turn:3d}  {tool} {subject}".rstrip(), _WIDTH - len(mark)) + mark


def said_line(turn: int, text: str) -> str:
    """The first paragraph of what the model said."""
    first = text.strip().split("\n\n", 1)[0]
    return _cut(f"{turn:3d}  {' '.join(first.split())}", 2 * _WIDTH)


def waiting_line(text: str) -> str:
    """What goes on between two turns, in line with them."""
    return _cut(f"     {' '.join(text.split())}", 2 * _WIDTH)


def subject_of(call: ToolCall) -> str:
    """What a call is about, on one line: the files of a patch, else the first of these arguments that it has."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    if paths := patched_paths(arguments.get("patch")):
        return ", ".join(map(named, paths))
    given = (arguments.get(name) for name in _SUBJECTS)
    text = next((value for value in given if isinstance(value, str)), None)
    number = arguments.get("id")  # of a command in the background
    return named(" ".join(text.split())) if text is not None else str(number) if type(number) is int else ""


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
