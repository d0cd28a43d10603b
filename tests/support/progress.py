"""Lines of a journal as a view is told them."""

import json
from collections.abc import Mapping
from typing import Any

from bot.agent.todo_list import Item, Status, render_list
from bot.cli.terminal.viewer import styled_lines
from bot.contracts.journal import BudgetChanged, CallStarted, RequestSent, Response, Result
from bot.contracts.messages import FinishReason, Text, ToolCall, Usage
from bot.contracts.progress import Event, Written
from bot.contracts.request import RunLimits
from tests.support.sessions import header

STARTED = Written(header(limits=RunLimits(turns=80, cost_usd=5.0, minutes=30.0)))


def requested(turn: int, agent: str = "") -> Written:
    return Written(RequestSent(turn, 1), b"", agent)


def answered(turn: int, text: str) -> Written:
    return Written(Response(turn, (Text(text),), FinishReason.END_TURN, ""))


def spent(turn: int, tokens: int, usd: float) -> Written:
    return Written(BudgetChanged(turn, Usage(output=tokens), usd))


def begun(tool: str, subject: str, turn: int = 1) -> Written:
    return Written(CallStarted(turn, "c1", tool), b"", "", _call(tool, {"command": subject}))


def called(
    tool: str,
    subject: str = "",
    text: str = "",
    *,
    turn: int = 1,
    failed: bool = False,
    denied: bool = False,
    agent: str = "",
    arguments: Mapping[str, Any] | None = None,
) -> Written:
    """A call with its result; `subject` is its command unless it has other arguments."""
    result = Result(turn, "c1", tool, text, failed, True, denied)
    return Written(result, b"", agent, _call(tool, {"command": subject} if arguments is None else arguments))


def listed(*items: tuple[str, Status]) -> Written:
    """The model's to-do list."""
    return called("todo", text=render_list([Item(*item) for item in items]), arguments={})


def plain_lines(event: Event, *, verbose: bool = False) -> list[str]:
    return [line for line, _ in styled_lines(event, verbose=verbose)]


def _call(tool: str, arguments: Mapping[str, Any]) -> ToolCall:
    return ToolCall("c1", tool, json.dumps(arguments))
