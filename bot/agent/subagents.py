"""`task`: a subagent with a fresh conversation, for work that would fill the main one with reading
(S-114..S-121).

It only reads, and only its last text is returned. A subagent cannot start others, and shares the run's usage limits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from bot.agent.conversation_context import ConversationContext, LoopEnd
from bot.agent.loop import run_loop
from bot.contracts import tool_schema as schema
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import count_of, money
from bot.contracts.journal import AgentStarted
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolOutcome, ToolSpec

TURNS = 30
MAX_REPORT = 16_000
"""Characters of a subagent's last text that are returned; the full text is stored for the model."""

TASK_SPEC = ToolSpec(
    name="task",
    description="Give a search or a design to a subagent, which only reads, sees `prompt` alone and returns a text.",
    parameters=schema.record(["prompt"], prompt=schema.text()),
)

Prepare = Callable[[str, CancelToken], ConversationContext]
"""`prepare(name, cancel)` returns what a new subagent's conversation needs: it shares the run's usage and has its own
provider."""


class Subagents:
    """The toolbox handler. `current_call()` returns the turn and the id of the call that runs on this thread;
    `archive(text)` stores a long report and returns where the model finds it."""

    spec = TASK_SPEC

    def __init__(
        self, prepare: Prepare, current_call: Callable[[], tuple[int, str]], archive: Callable[[str], str]
    ) -> None:
        self._prepare = prepare
        self._current_call = current_call
        self._archive = archive
        self._numbers = itertools.count(1)

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """Run the subagent to its end; the arguments fit the schema already."""
        name = f"explore-{next(self._numbers)}"
        context = self._prepare(name, cancel)
        prompt = str(arguments["prompt"])
        turn, call_id = self._current_call()
        context.write(AgentStarted(turn, call_id, name, context.system, prompt))
        try:
            return self._outcome(name, run_loop(context, prompt))
        finally:
            context.provider.close()

    def _outcome(self, name: str, end: LoopEnd) -> ToolOutcome:
        text = end.final_text or "(It ended without a word.)"
        if len(text) > MAX_REPORT:
            path = self._archive(text)
            more = f"; the whole report: {path}" if path else ""
            text = f"{text[:MAX_REPORT]}\n(cut here{more})"
        finished = end.stop is StopReason.END_TURN
        summary = f"{name}: {count_of(end.turns, 'turn')}, {end.usage.total} tokens, {money(end.cost)}"
        if not finished:
            text = f"It did not come to its end: {end.reason}\n{text}"
        metadata = {
            "agent": name,
            "turns": end.turns,
            "tokens": end.usage.total,
            "cost": end.cost,
            "stop_reason": end.stop.value,
        }
        return ToolOutcome(f"{text}\n\n({summary})", is_error=not finished, metadata=metadata)
