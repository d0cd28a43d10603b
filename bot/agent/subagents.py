"""`task`: a subagent with a fresh conversation, for work whose reading should not fill the main one (S-114..S-121).

What there is of types is data: a prompt and which tools it keeps. Only its last text comes back. It cannot start
others, and it spends from the same purse.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from bot.agent.loop import LoopEnd, run
from bot.agent.session import Session
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import AgentStarted
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import StopReason
from bot.contracts.plain_text import quoted_names
from bot.contracts.tools import ToolOutcome, ToolSpec
from bot.contracts.wording import count_of, money

NAME = "task"
LONGEST_REPORT = 16_000
"""Characters of a subagent's last text that come back; the rest is kept where the model can look it up."""

_MOST_FILES = 20


class AgentType(NamedTuple):
    """`prompt` names the system text. A `read_only` one is given no tool that writes and no shell."""

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
    """The tool, offering `types`."""
    kinds = "; ".join(f"`{one.name}` {one.description}" for one in types)
    return ToolSpec(
        name=NAME,
        description=(
            f"Give work to a subagent: it sees `prompt` alone, only its last text comes back. {kinds}."
        ),
        parameters={
            "type": "object",
            "properties": {
                "prompt": {"type": "string"},
                "agent_type": {"type": "string", "enum": [one.name for one in types]},
            },
            "required": ["prompt", "agent_type"],
        },
    )


Prepare = Callable[[str, AgentType, CancelToken], Session]
"""`prepare(name, type, cancel)`: the session of a new subagent called `name`, sharing the run's purse, with a provider
of its own: one is for one conversation."""


class Subagents:
    """The handler for the toolbox. `place()` is the turn and the id of the call that is running on this thread;
    `archive(text)` keeps a long report and says where the model finds it."""

    def __init__(
        self,
        types: Sequence[AgentType],
        prepare: Prepare,
        place: Callable[[], tuple[int, str]],
        archive: Callable[[str], str] = lambda text: "",
    ) -> None:
        self.spec = task_spec(types)
        self._types = {one.name: one for one in types}
        self._prepare = prepare
        self._place = place
        self._archive = archive
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        """Run the subagent to its end; the arguments fit the schema already."""
        kind = self._types[str(arguments["agent_type"])]
        with self._lock:
            name = f"{kind.name}-{next(self._numbers)}"
        session = self._prepare(name, kind, cancel)
        prompt = str(arguments["prompt"])
        turn, call_id = self._place()
        session.journal.write(AgentStarted(turn, call_id, name, kind.name, session.system, prompt))
        try:
            return self._reported(name, run(session, prompt))
        finally:
            session.provider.close()

    def read_only(self, call: ToolCall) -> bool:
        """Whether `call` is one of ours that only reads; a call that cannot be read is not."""
        if call.name != NAME:
            return False
        try:
            kind = self._types.get(json.loads(call.arguments).get("agent_type"))
        except (ValueError, AttributeError, TypeError, RecursionError):
            return False
        return kind is not None and kind.read_only

    def _reported(self, name: str, end: LoopEnd) -> ToolOutcome:
        text = end.final_text or "(It ended without a word.)"
        if len(text) > LONGEST_REPORT:
            kept = self._archive(text)
            more = f"; the whole report: {kept}" if kept else ""
            text = f"{text[:LONGEST_REPORT]}\n(cut here{more})"
        done = end.stop is StopReason.END_TURN
        said = f"{name}: {count_of(end.turns, 'turn')}, {end.usage.total} tokens, {money(end.cost)}"
        if end.files.changed:
            said += f"; changed {quoted_names(end.files.changed, _MOST_FILES)}"
        if not done:
            text = f"It did not come to its end: {end.reason}\n{text}"
        metadata = {
            "agent": name, "turns": end.turns, "tokens": end.usage.total, "cost": end.cost,
            "stop_reason": end.stop.value, "changed": list(end.files.changed), "read": list(end.files.read),
        }  # fmt: skip
        return ToolOutcome(f"{text}\n\n({said})", is_error=not done, metadata=metadata)
