"""A conversation of the loop with a scripted model and tools that are plain functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.agent.conversation_context import ConversationContext, Hooks, LoopEnd
from bot.agent.journal import Journal, JournalFile, read_journal
from bot.agent.loop import run_loop
from bot.agent.recorded_calls import ResultTool
from bot.agent.toolbox import CallExecution, Masking, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import SCHEMA_VERSION, Header, Record
from bot.contracts.messages import Image, Message, ToolCall, ToolResult
from bot.contracts.request import Actor, Request, RunLimits, Tier
from bot.contracts.tools import ToolOutcome, ToolSpec
from tests.support.scripted import INFO, ScriptedProvider, Turn

Run = Callable[[Mapping[str, Any], CancelToken], ToolOutcome]

SYSTEM = "You are a test."


def spec(name: str, properties: Mapping[str, Any] | None = None, required: Sequence[str] = ()) -> ToolSpec:
    schema = {"type": "object", "properties": dict(properties or {}), "required": list(required)}
    return ToolSpec(name, f"The tool {name}.", schema)


def header(**changes: Any) -> Header:
    values: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "version": "0.0.0",
        "started_at": "2026-01-01T00:00:00Z",
        "model": "scripted/model",
        "info": INFO,
        "base_sha": "0" * 40,
        "request": Request("fix", "mend it", Actor("ann", 1, Tier.MAINTAINER), "o/r", "main", "file:///r"),
        "system": SYSTEM,
        "tools": (spec("echo", {"text": {"type": "string"}}),),
        "limits": RunLimits(),
    }
    return Header(**{**values, **changes})


@dataclass
class Bench:
    """Runs a conversation. `ran` is every call that reached a handler."""

    script: Sequence[Turn]
    folder: Path
    tools: Mapping[str, Run] = field(default_factory=dict)
    deny: frozenset[str] = frozenset()
    limits: RunLimits = field(default_factory=RunLimits)
    hooks: Hooks = field(default_factory=Hooks)
    stop_on_denial: bool = False
    redact: Callable[[str], str] = str
    cancel: CancelToken = field(default_factory=CancelToken)
    clock: Callable[[], float] = lambda: 0.0
    model: Callable[[Sequence[Turn]], ScriptedProvider] = ScriptedProvider
    masking: Masking = lambda state: None
    writing: Sequence[str] = ()
    start_time: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)
    ran: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.provider = self.model(self.script)
        self.path = self.folder / "journal.jsonl"

    def run(self, first: str = "do it", images: Sequence[Image] = ()) -> LoopEnd:
        specs = [spec("echo", {"text": {"type": "string"}}), *(spec(name) for name in self.tools)]
        specs = [one._replace(writes=one.name in self.writing) for one in specs]
        with Journal(self.path, self.redact) as journal:
            self.open_journal = journal
            journal.write(header(tools=tuple(specs)))
            toolbox = Toolbox(specs, {item.name: self._handler(item.name) for item in specs}, self._permit)
            context = ConversationContext(
                self.provider,
                SYSTEM,
                toolbox,
                journal,
                self.limits,
                self.cancel,
                self.hooks,
                self.stop_on_denial,
                clock=self.clock,
                masking=self.masking,
                start_time=self.start_time,
                **self.more,
            )
            return run_loop(context, first, images)

    def journal(self) -> JournalFile:
        return read_journal(self.path)

    def results(self) -> list[ToolResult]:
        """Every tool result in the last request to the model."""
        return [part for message in self.provider.requests[-1] for part in results_of(message)]

    def _handler(self, name: str) -> Run:
        inner = self.tools.get(name, lambda arguments, cancel: ToolOutcome(arguments.get("text", "")))

        def handler(arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
            self.ran.append((name, arguments))
            return inner(arguments, cancel)

        return handler

    def _permit(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        if tool in self.deny:
            return Permission(False, f"no-{tool}", "take another way")
        return Permission(True)


def results_of(message: Message) -> tuple[ToolResult, ...]:
    return tuple(part for part in message.parts if isinstance(part, ToolResult))


def execute(tool: ResultTool, **arguments: Any) -> CallExecution:
    """A call of `tool` with these arguments, by a toolbox that has nothing else."""
    toolbox = Toolbox([tool.spec], {tool.spec.name: tool}, lambda name, values: Permission(True))
    return toolbox.execute(ToolCall("a", tool.spec.name, json.dumps(arguments)), CancelToken())


def journal_of(folder: Path, *records: Record, redact: Callable[[str], str] = str) -> JournalFile:
    """A journal with these lines, as it is read again."""
    path = folder / "journal.jsonl"
    with Journal(path, redact) as writer:
        writer.write(header())
        for record in records:
            writer.write(record)
    return read_journal(path)
