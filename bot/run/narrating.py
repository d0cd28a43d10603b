"""What is journalled of a run, told to whoever looks on: fewer things, shorter, masked as the journal is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from bot.contracts import journal as lines
from bot.contracts import progress
from bot.contracts.messages import Text, ToolCall
from bot.contracts.progress import Event, Tell
from bot.contracts.wording import count_of
from bot.run.lines import subject_of
from bot.run.profiles import TODO

Told = TypeVar("Told", bound=tuple[Any, ...])

_LINES = 6
_CHARACTERS = 1_000
"""How much of a result is told."""

_MARGIN = 1_000
"""Characters beyond a cut that are masked too: a secret that lies across it is whole there."""


class Narrator:
    """Takes each record as it is written, from any thread, and tells the events that it means."""

    def __init__(
        self, tell: Tell, mask: Callable[[str], str], failed: Callable[[str], None] = lambda why: None
    ) -> None:
        """`failed` hears in a sentence why nothing is told any more: a display that breaks ends no run."""
        self._tell: Tell | None = tell
        self._mask = mask
        self._failed = failed
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._found: dict[tuple[str, str], progress.Problems] = {}

    def __call__(self, record: lines.Record, agent: str = "") -> None:
        try:
            for event in self._events(record, agent):
                if self._tell is not None:
                    self._tell(masked(event, self._mask))
        except Exception as error:  # noqa: BLE001  whatever a terminal or a bug of ours does to it
            self._tell = None
            self._failed(f"What goes on is not shown any more: {type(error).__name__}: {error}")

    def _events(self, record: lines.Record, agent: str) -> Iterator[Event]:
        match record:
            case lines.Header():
                limits = record.limits
                yield progress.Started(
                    record.model, record.sandbox, record.base_sha, limits.turns, limits.cost_usd, limits.minutes
                )  # fmt: skip
            case lines.RequestSent():
                yield progress.Asking(record.turn, agent)
            case lines.Response():
                yield from self._response(record, agent)
            case lines.CallStarted():
                subject = subject_of(self._call(agent, record.call_id))
                yield progress.Calling(record.turn, record.call_id, record.name, subject, agent)
            case lines.Result():
                yield from self._result(record, agent)
            case lines.BudgetChanged() if not agent:
                yield progress.Spent(record.turn, record.usage.total, record.cost)
            case lines.AgentStarted():
                yield progress.AgentBegan(agent or record.name, record.kind, record.turn)
            case lines.Checked():
                run = record.run
                yield progress.CheckRan(record.name, record.phase, run.state.value, run.duration)
            case lines.Compacted():
                yield progress.Noted(_shortened(record, agent))
            case lines.Diagnosed():
                # Recorded before the result that it belongs to, and told after it.
                found = progress.Problems(record.turn, record.call_id, record.new_count, record.fixed)
                self._found[agent, record.call_id] = found
            case _:
                pass

    def _response(self, record: lines.Response, agent: str) -> Iterator[Event]:
        calls = [part for part in record.parts if isinstance(part, ToolCall)]
        for call in calls:
            self._calls[agent, call.id] = call
        said = "\n".join(part.text for part in record.parts if isinstance(part, Text)).strip()
        if said:
            yield progress.Said(record.turn, self._first_lines(said), agent)

    def _result(self, record: lines.Result, agent: str) -> Iterator[Event]:
        call = self._call(agent, record.call_id)
        self._calls.pop((agent, record.call_id), None)
        yield progress.Called(
            record.turn, record.call_id, record.name, subject_of(call), record.is_error, record.denied,
            round(record.duration, 3), self._first_lines(record.content), agent,
        )  # fmt: skip
        if found := self._found.pop((agent, record.call_id), None):
            yield found
        if record.name == TODO and not record.is_error and not agent:
            yield from _listed(call)

    def _call(self, agent: str, call_id: str) -> ToolCall:
        return self._calls.get((agent, call_id)) or ToolCall(call_id, "", "")

    def _first_lines(self, text: str) -> str:
        """Masked before it is cut: half a secret is found by nobody."""
        text = text.strip("\n")
        near = self._mask(text[: _CHARACTERS + _MARGIN])
        shown = "\n".join(near.split("\n")[:_LINES])
        more = text.count("\n") + 1 - _LINES
        if len(shown) > _CHARACTERS:
            return f"{shown[: _CHARACTERS - 1]}…"
        return f"{shown}\n… {more} more" if more > 0 else shown


def _shortened(record: lines.Compacted, agent: str) -> str:
    whose = f"{agent}'s conversation" if agent else "the conversation"
    if record.failure:
        return f"{whose} does not fit the model's window, and could not be summed up: {record.failure}"
    if record.dropped:
        results = count_of(len(record.dropped), "old result")
        return f"{results} left {whose} to make room: about {record.before:,} tokens are {record.after:,} now"
    return f"{whose} was summed up to fit the model's window: about {record.before:,} tokens are {record.after:,} now"


def masked(told: Told, mask: Callable[[str], str]) -> Told:
    """`told`, a named tuple, with every text in it masked."""
    clean: Told = type(told)(*(_plain(value, mask) for value in told))
    return clean


def _plain(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value) if value else value
    if isinstance(value, tuple):
        return tuple(_plain(item, mask) for item in value)
    return value


def _listed(call: ToolCall) -> Iterator[Event]:
    """The list as the model gave it. The tool took it, so it has the form that the tool wants."""
    try:
        items = json.loads(call.arguments)["items"]
        yield progress.Listed(tuple((str(item["text"]), str(item["status"])) for item in items))
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # the toolbox mended the arguments; the next list will do
