"""`task`: a subagent with a fresh conversation, for work that would fill the main one with reading
(S-114..S-121).

A type is data: a prompt and its tools. Only the last text is returned. A subagent cannot start others, and
shares the run's usage limits.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bot.agent.conversation_context import ConversationContext
from bot.agent.loop import LoopEnd, run_loop
from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import count_of, money
from bot.contracts.journal import AgentStarted
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import StopReason
from bot.contracts.plain_text import quoted_names
from bot.contracts.tools import ToolOutcome, ToolSpec

NAME = "task"
MAX_REPORT = 16_000
"""Characters of a subagent's last text that are returned; the full text is stored for the model."""

_MAX_FILES = 20


class AgentType(NamedTuple):
    """`prompt` names the system text. A `read_only` one has no tool that writes and no shell."""

    name: str
    prompt: str
    read_only: bool
    turns: int
    description: str


TYPES = (
    AgentType("explore", "agent_explore", True, 30, "searches"),
    AgentType("plan", "agent_plan", True, 30, "designs"),
    AgentType("code", "agent_code", False, 40, "changes"),
)


def task_spec(types: Sequence[AgentType]) -> ToolSpec:
    """Return the tool's specification for `types`."""
    kinds = "; ".join(f"`{one.name}` {one.description}" for one in types)
    return ToolSpec(
        name=NAME,
        description=(f"Give work to a subagent, which sees `prompt` alone and returns a text. {kinds}."),
        parameters=schema.record(
            ["prompt", "agent_type"],
            prompt=schema.text(),
            agent_type=schema.text(enum=[one.name for one in types]),
        ),
    )


Prepare = Callable[[str, AgentType, CancelToken], ConversationContext]
"""`prepare(name, type, cancel)` returns what a new subagent's conversation needs: it shares the run's usage and has
its own provider."""


class Subagents:
    """The toolbox handler. `current_call()` returns the turn and the id of the call that runs on this thread;
    `archive(text)` stores a long report and returns where the model finds it."""

    def __init__(
        self,
        types: Sequence[AgentType],
        prepare: Prepare,
        current_call: Callable[[], tuple[int, str]],
        archive: Callable[[str], str] = lambda text: "",
    ) -> None:
        self.spec = task_spec(types)
        self._types = {one.name: one for one in types}
        self._prepare = prepare
        self._current_call = current_call
        self._archive = archive
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """Run the subagent to its end; the arguments fit the schema already."""
        kind = self._types[str(arguments["agent_type"])]
        with self._lock:
            name = f"{kind.name}-{next(self._numbers)}"
        context = self._prepare(name, kind, cancel)
        prompt = str(arguments["prompt"])
        turn, call_id = self._current_call()
        context.journal.write(AgentStarted(turn, call_id, name, kind.name, context.system, prompt))
        try:
            return self._outcome(name, run_loop(context, prompt))
        finally:
            context.provider.close()

    def read_only(self, call: ToolCall) -> bool:
        """Whether `call` starts a read-only subagent; false for an invalid call."""
        if call.name != NAME:
            return False
        try:
            kind = self._types.get(json.loads(call.arguments).get("agent_type"))
        except (ValueError, AttributeError, TypeError, RecursionError):
            return False
        return kind is not None and kind.read_only

    def _outcome(self, name: str, end: LoopEnd) -> ToolOutcome:
        text = end.final_text or "(It ended without a word.)"
        if len(text) > MAX_REPORT:
            path = self._archive(text)
            more = f"; the whole report: {path}" if path else ""
            text = f"{text[:MAX_REPORT]}\n(cut here{more})"
        finished = end.stop is StopReason.END_TURN
        summary = f"{name}: {count_of(end.turns, 'turn')}, {end.usage.total} tokens, {money(end.cost)}"
        if end.files.changed:
            summary += f"; changed {quoted_names(end.files.changed, _MAX_FILES)}"
        if not finished:
            text = f"It did not come to its end: {end.reason}\n{text}"
        metadata = {
            "agent": name,
            "turns": end.turns,
            "tokens": end.usage.total,
            "cost": end.cost,
            "stop_reason": end.stop.value,
            "changed": list(end.files.changed),
            "read": list(end.files.read),
        }
        return ToolOutcome(f"{text}\n\n({summary})", is_error=not finished, metadata=metadata)
