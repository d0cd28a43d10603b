"""Progress of a run for people, masked as the journal is: events made from its records, single lines, and what it waits
for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bot.agent.conversation_context import TurnInfo
from bot.contracts import journal as lines
from bot.contracts import progress
from bot.contracts.cancel import CancelToken
from bot.contracts.idle import IdleReporter
from bot.contracts.messages import Text, ToolCall
from bot.contracts.model import (
    Complete,
    Failed,
    ModelInfo,
    ModelRequest,
    OnRetry,
    Provider,
    Retrying,
    unreported,
)
from bot.contracts.plain_text import printable_name
from bot.contracts.progress import Event, OutputEvent, ProgressSink, WaitEvent
from bot.policy.rule import patched_paths
from bot.verbs.record import TODO

if TYPE_CHECKING:
    from bot.session.context.run import Run

Value = TypeVar("Value")

_LINES = 6
_CHARACTERS = 1_000
"""How much of a result is told."""

_MARGIN = 1_000
"""Characters beyond a cut that are masked too: a secret that lies across it is whole there."""


class ProgressReporter:
    """Makes events of journal records as they are written, from any thread."""

    def __init__(
        self, tell: ProgressSink, mask: Callable[[str], str], failed: Callable[[str], None] = lambda why: None
    ) -> None:
        """`failed` is told why a display broke: that ends no run."""
        self._tell: ProgressSink | None = tell
        self._mask = mask
        self._on_failure = failed
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._problems: dict[tuple[str, str], progress.ProblemsEvent] = {}

    def __call__(self, record: lines.Record, agent: str = "") -> None:
        try:
            for event in self._events(record, agent):
                if self._tell is not None:
                    self._tell(masked(event, self._mask))
        except Exception as error:  # noqa: BLE001  whatever a terminal or a bug of ours does to it
            self._tell = None
            self._on_failure(f"What goes on is not shown any more: {type(error).__name__}: {error}")

    def _events(self, record: lines.Record, agent: str) -> Iterator[Event]:
        match record:
            case lines.Header():
                limits = record.limits
                yield progress.StartEvent(
                    record.model,
                    record.sandbox,
                    record.base_sha,
                    limits.turns,
                    limits.cost_usd,
                    limits.minutes,
                )
            case lines.RequestSent():
                yield progress.RequestEvent(record.turn, agent)
            case lines.Response():
                yield from self._response(record, agent)
            case lines.CallStarted():
                subject = subject_of(self._call(agent, record.call_id))
                yield progress.CallEvent(record.turn, record.call_id, record.name, subject, agent)
            case lines.Result():
                yield from self._result(record, agent)
            case lines.BudgetChanged() if not agent:
                yield progress.UsageEvent(record.turn, record.usage.total, record.cost)
            case lines.AgentStarted():
                yield progress.AgentEvent(agent or record.name, record.turn)
            case lines.CheckRecord():
                run = record.run
                yield progress.CheckEvent(record.name, record.phase, run.state.value, run.duration)
            case lines.CompactionRecord():
                yield progress.NoteEvent(_shortened(record, agent))
            case lines.DiagnosticsRecord():
                # Recorded before the result that it belongs to, and told after it.
                problems = progress.ProblemsEvent(record.turn, record.call_id, record.new_count)
                self._problems[agent, record.call_id] = problems
            case _:
                pass

    def _response(self, record: lines.Response, agent: str) -> Iterator[Event]:
        calls = [part for part in record.parts if isinstance(part, ToolCall)]
        for call in calls:
            self._calls[agent, call.id] = call
        text = "\n".join(part.text for part in record.parts if isinstance(part, Text)).strip()
        if text:
            yield progress.TextEvent(record.turn, self._first_lines(text), agent)

    def _result(self, record: lines.Result, agent: str) -> Iterator[Event]:
        call = self._call(agent, record.call_id)
        self._calls.pop((agent, record.call_id), None)
        yield progress.ResultEvent(
            record.turn,
            record.call_id,
            record.name,
            subject_of(call),
            record.is_error,
            record.denied,
            round(record.duration, 3),
            self._first_lines(record.content),
            agent,
        )
        if problems := self._problems.pop((agent, record.call_id), None):
            yield problems
        if record.name == TODO and not record.is_error and not agent:
            yield from _listed(call)

    def _call(self, agent: str, call_id: str) -> ToolCall:
        return self._calls.get((agent, call_id)) or ToolCall(call_id, "", "")

    def _first_lines(self, text: str) -> str:
        """The first lines, masked before they are cut: half a secret is not recognised."""
        text = text.strip("\n")
        near = self._mask(text[: _CHARACTERS + _MARGIN])
        first_lines = "\n".join(near.split("\n")[:_LINES])
        more = text.count("\n") + 1 - _LINES
        if len(first_lines) > _CHARACTERS:
            return f"{first_lines[: _CHARACTERS - 1]}…"
        return f"{first_lines}\n… {more} more" if more > 0 else first_lines


def _shortened(record: lines.CompactionRecord, agent: str) -> str:
    whose = f"{agent}'s conversation" if agent else "the conversation"
    if record.failure:
        return f"{whose} does not fit the model's window, and could not be summed up: {record.failure}"
    return f"{whose} was summed up to fit the model's window: about {record.before:,} tokens are {record.after:,} now"


def masked(value: Value, mask: Callable[[str], str]) -> Value:
    """`value` with every text in it masked; it consists of tuples, named tuples and dataclasses."""
    clean: Any = value
    if type(clean) is str:
        clean = mask(clean) if clean else clean
    elif type(clean) is tuple:
        clean = tuple(masked(item, mask) for item in clean)
    elif isinstance(clean, tuple):
        clean = type(clean)(*(masked(item, mask) for item in clean))
    elif is_dataclass(clean) and not isinstance(clean, type):
        clean = replace(clean, **{one.name: masked(getattr(clean, one.name), mask) for one in fields(clean)})
    return cast(Value, clean)


def _listed(call: ToolCall) -> Iterator[Event]:
    """The todo list that the model gave; the tool has validated it."""
    try:
        items = json.loads(call.arguments)["items"]
        yield progress.TodoEvent(tuple((str(item["text"]), str(item["status"])) for item in items))
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # the toolbox mended the arguments; the next list will do


_WIDTH = 100
_SUBJECTS = ("command", "pattern", "path", "title", "prompt")


def while_read(say: Callable[[str], None]) -> Callable[[str], None]:
    """A function that calls `say` until its reader goes away or its disk is full, and then does nothing: the run
    continues."""
    failed = False

    def speak(line: str) -> None:
        nonlocal failed
        if failed:
            return
        try:
            say(line)
        except OSError:
            failed = True

    return speak


def turn_lines(info: TurnInfo, safe: Callable[[str], str] = str) -> Iterator[str]:
    """The model's text, then a line for each tool call with its subject and whether it failed or was denied. `safe`
    masks text before it is cut: half a secret is not recognised."""
    if info.text.strip():
        yield text_line(info.turn, safe(info.text))
    for call, result in zip(info.calls, info.results, strict=True):
        status = "denied" if call.id in info.denied else "failed" if result.is_error else ""
        yield call_line(info.turn, safe(call.name), safe(subject_of(call)), status)


def call_line(turn: int, tool: str, subject: str, status: str) -> str:
    """A line for one call; `status` is `failed`, `denied` or empty."""
    mark = f" ({status})" if status else ""
    return _cut(f"{turn:3d}  {tool} {subject}".rstrip(), _WIDTH - len(mark)) + mark


def text_line(turn: int, text: str) -> str:
    """The first paragraph of the model's text, on one line."""
    first = text.strip().split("\n\n", 1)[0]
    return _cut(f"{turn:3d}  {' '.join(first.split())}", 2 * _WIDTH)


def waiting_line(text: str) -> str:
    """A line on a step between two turns."""
    return _cut(f"     {' '.join(text.split())}", 2 * _WIDTH)


def subject_of(call: ToolCall) -> str:
    """The subject of a call on one line: the files of a patch, else the first of these arguments."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(arguments, dict):
        return ""
    if paths := patched_paths(arguments.get("patch")):
        return ", ".join(map(printable_name, paths))
    values = (arguments.get(name) for name in _SUBJECTS)
    text = next((value for value in values if isinstance(value, str)), None)
    number = arguments.get("id")  # of a command in the background
    return (
        printable_name(" ".join(text.split()))
        if text is not None
        else str(number)
        if type(number) is int
        else ""
    )


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


class WatchedProvider:
    """A provider whose silence is reported. `asking` is called before each request."""

    def __init__(
        self, provider: Provider, say: Callable[[str], None], asking: Callable[[], None] = lambda: None
    ) -> None:
        self._provider = provider
        self._say = say
        self._asking = asking

    @property
    def info(self) -> ModelInfo:
        return self._provider.info

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        self._asking()
        idle = IdleReporter("the provider", self._say)

        def report(event: Retrying) -> None:
            idle.reset(event.delay)
            retrying(event)

        with idle.waiting():
            return self._provider.respond(request, cancel, report)

    def close(self) -> None:
        self._provider.close()


class Waits:
    """Shows people what `run` waits for: its name, its time limit, and the last line of its output. At a terminal Enter
    skips it; in a log there is one line when the wait begins. After the run was stopped no further wait is shown."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def begin(self, text: str, limit: float | None = None, skip: Callable[[], None] | None = None) -> None:
        """`limit` is in seconds; `skip` is called if a person skips the wait."""
        view = self._run.view
        if self._run.stop.fired:
            return
        if view is None:
            self._run.say(text)
            return
        view.on_enter(skip)
        seconds = max(round(limit, 1), 1.0) if limit is not None else None
        can_skip = skip is not None and view.person is not None
        view.tell(WaitEvent(self._run.detector.masked(text), seconds, can_skip))

    def printed(self, line: str) -> None:
        if self._run.view is not None and line:
            self._run.view.tell(OutputEvent(self._run.detector.masked(line)))

    def end(self) -> None:
        """End the wait."""
        if self._run.view is not None:
            self._run.view.on_enter(None)
