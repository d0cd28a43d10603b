"""Events of a running run, for a terminal and for programs, and questions to the person at the terminal.

`--json-events` prints each event as one JSON object a line; `docs/cli.md` has the table. Within one `SCHEMA`
events and fields are only added. All text of a run is redacted, but untrusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from bot.contracts.cancel import CancelToken

SCHEMA = 1


class BeginEvent(NamedTuple):
    """The first event: program version and verb."""

    schema: int
    version: str
    verb: str


class NoteEvent(NamedTuple):
    """One line for people."""

    text: str


class WaitEvent(NamedTuple):
    """The run waits for a check or a checker. `limit` is in seconds, `None` for none. `skippable`: the person
    at the terminal may skip the wait."""

    text: str
    limit: float | None = None
    skippable: bool = False


class OutputEvent(NamedTuple):
    """The last line of output so far of the process that the run waits for."""

    line: str


class StartEvent(NamedTuple):
    """The first model request is about to be sent. A limit is `None` if there is none."""

    model: str
    sandbox: str
    commit: str
    turns: int | None = None
    usd: float | None = None
    minutes: float | None = None


class RequestEvent(NamedTuple):
    """A model request is sent. `agent` is the subagent's name, here and below; empty for the run's own."""

    turn: int
    agent: str = ""


class TextEvent(NamedTuple):
    """The first lines of a response's text."""

    turn: int
    text: str
    agent: str = ""


class CallEvent(NamedTuple):
    """A tool call begins. `subject` is its main argument: the command, the path, the pattern."""

    turn: int
    id: str
    tool: str
    subject: str
    agent: str = ""


class ResultEvent(NamedTuple):
    """A tool call has a result; `text` is its first lines. Calls that were never executed have one too."""

    turn: int
    id: str
    tool: str
    subject: str
    failed: bool
    denied: bool
    seconds: float
    text: str
    agent: str = ""


class TodoEvent(NamedTuple):
    """The model's whole to-do list; each item with `pending`, `in_progress` or `completed`."""

    items: tuple[tuple[str, str], ...]


class UsageEvent(NamedTuple):
    """The run's usage so far, subagents included."""

    turn: int
    tokens: int
    usd: float


class AgentEvent(NamedTuple):
    """A call started a subagent."""

    agent: str
    turn: int


class CheckEvent(NamedTuple):
    """A check ended; `state` as in the outcome."""

    name: str
    phase: str
    state: str
    seconds: float


class ProblemsEvent(NamedTuple):
    """Diagnostics after the call `id`: the number of problems new since the run began."""

    turn: int
    id: str
    new: int


class EndEvent(NamedTuple):
    """The last event. `result` is what `--json` prints; if it is `None`, `error` says why."""

    exit_code: int
    result: Mapping[str, Any] | None = None
    error: str = ""


Event = (
    BeginEvent
    | NoteEvent
    | WaitEvent
    | OutputEvent
    | StartEvent
    | RequestEvent
    | TextEvent
    | CallEvent
    | ResultEvent
    | TodoEvent
    | UsageEvent
    | AgentEvent
    | CheckEvent
    | ProblemsEvent
    | EndEvent
)

EVENTS: Mapping[str, type[Event]] = {
    "began": BeginEvent,
    "note": NoteEvent,
    "waiting": WaitEvent,
    "printed": OutputEvent,
    "started": StartEvent,
    "request": RequestEvent,
    "said": TextEvent,
    "call": CallEvent,
    "result": ResultEvent,
    "todo": TodoEvent,
    "spent": UsageEvent,
    "agent": AgentEvent,
    "check": CheckEvent,
    "problems": ProblemsEvent,
    "ended": EndEvent,
}
"""Event types by the `event` of each line."""

ProgressSink = Callable[[Event], None]
"""Accepts an event from any thread; returns quickly and raises nothing."""


class Inquiry(NamedTuple):
    """A question to the person at the terminal: may this call proceed? For a write, `files` are paths with
    their actions and `diff` the change; for a command, `subject` is the command. `remembered` describes what
    the answer `session` would allow from then on."""

    tool: str
    subject: str
    rule: str
    reason: str
    files: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    remembered: str = ""
    agent: str = ""
    question: str = ""
    """One of the model's own, about no call: only words answer it."""


class Reply(NamedTuple):
    """The person's answer. `words` are for the model; `gone`: nobody can answer, or the time is over."""

    answer: Literal["once", "session", "no", "words", "gone"]
    words: str = ""


Person = Callable[[Inquiry, CancelToken], Reply]
"""Asks the person at the terminal and waits for the answer or the token."""


class View(Protocol):
    """Displays progress. `person` is `None` if nobody can be asked. `interrupted` reports a signal in one line;
    `None` if the caller may write to standard error."""

    @property
    def person(self) -> Person | None: ...

    @property
    def interrupted(self) -> Callable[[str], None] | None: ...

    def tell(self, event: Event) -> None: ...

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        """Set the action of the Enter key; `None` for none."""
        ...

    def cut_off(self, text: str) -> None:
        """Print `text` as the last output: the process is about to end."""
        ...
