"""What is told of a run while it goes on, to people at a terminal and to programs, and what a person may be asked.

`--json-events` prints each of these as one JSON object a line; `docs/cli.md` has the table. Within one `SCHEMA` events
and fields are only added. Every text of a run is masked, and may have been written by anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol

SCHEMA = 1


class Began(NamedTuple):
    """The first event: the program, and what it was told to do."""

    schema: int
    version: str
    verb: str


class Noted(NamedTuple):
    """What takes its time or should be known, in a line."""

    text: str


class Waiting(NamedTuple):
    """Something of ours runs and is waited for: a check, a checker. `limit` is in seconds, `None` if there is none.
    `skippable`: the person at the terminal may go on without it."""

    text: str
    limit: float | None = None
    skippable: bool = False


class Printed(NamedTuple):
    """The last line so far of what is waited for."""

    line: str


class Started(NamedTuple):
    """The model is about to be asked for the first time. A limit is `None` where there is none."""

    model: str
    sandbox: str
    commit: str
    turns: int | None = None
    usd: float | None = None
    minutes: float | None = None


class Asking(NamedTuple):
    """A request goes to the model. `agent` is the subagent's name, here and below; empty for the run's own."""

    turn: int
    agent: str = ""


class Said(NamedTuple):
    """The model said something, beside the calls of the turn if there are any: the first lines."""

    turn: int
    text: str
    agent: str = ""


class Calling(NamedTuple):
    """A tool call begins. `subject` is what it is about: the command, the path, the pattern."""

    turn: int
    id: str
    tool: str
    subject: str
    agent: str = ""


class Called(NamedTuple):
    """A tool call is answered, `text` by its first lines. A call that was never begun is answered, too."""

    turn: int
    id: str
    tool: str
    subject: str
    failed: bool
    denied: bool
    seconds: float
    text: str
    agent: str = ""


class Listed(NamedTuple):
    """The model's list of what is to do, whole; each item with `pending`, `in_progress` or `completed`."""

    items: tuple[tuple[str, str], ...]


class Spent(NamedTuple):
    """What the run used so far, its subagents included."""

    turn: int
    tokens: int
    usd: float


class AgentBegan(NamedTuple):
    """A call started a subagent."""

    agent: str
    kind: str
    turn: int


class CheckRan(NamedTuple):
    """A check ran; `state` as in the outcome."""

    name: str
    phase: str
    state: str
    seconds: float


class Problems(NamedTuple):
    """What language servers said after the call `id`: how many problems are new since the run began, and how many of
    those that were there are gone."""

    turn: int
    id: str
    new: int
    fixed: int


class Ended(NamedTuple):
    """The last event. `result` is what `--json` prints, `None` where there is none, and then `error` says why."""

    exit_code: int
    result: Mapping[str, Any] | None = None
    error: str = ""


Event = (
    Began
    | Noted
    | Waiting
    | Printed
    | Started
    | Asking
    | Said
    | Calling
    | Called
    | Listed
    | Spent
    | AgentBegan
    | CheckRan
    | Problems
    | Ended
)

EVENTS: Mapping[str, type[Event]] = {
    "began": Began,
    "note": Noted,
    "waiting": Waiting,
    "printed": Printed,
    "started": Started,
    "request": Asking,
    "said": Said,
    "call": Calling,
    "result": Called,
    "todo": Listed,
    "spent": Spent,
    "agent": AgentBegan,
    "check": CheckRan,
    "problems": Problems,
    "ended": Ended,
}
"""The `event` of each line."""

Tell = Callable[[Event], None]
"""Takes an event, from any thread; quick, and raises nothing."""


class Inquiry(NamedTuple):
    """A question to the person at the terminal: may this call go on? Of a write `files` are the paths, each with what
    is done to it, and `diff` what it would write; of a command `subject` is the command. `remembered` says in words
    what the answer `session` would let pass from then on."""

    tool: str
    subject: str
    rule: str
    reason: str
    files: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    remembered: str = ""
    agent: str = ""


class Reply(NamedTuple):
    """What the person said. `words` are for the model; `gone`: there is nobody to answer, or no time left."""

    answer: Literal["once", "session", "no", "words", "gone"]
    words: str = ""


class Cancelled(Protocol):
    """As much of a cancel token as a question needs."""

    @property
    def fired(self) -> bool: ...

    def on_fire(self, callback: Callable[[], None]) -> Callable[[], None]: ...


Person = Callable[[Inquiry, Cancelled], Reply]
"""Asks the person at the terminal and waits: for the answer, or for the token."""


class View(Protocol):
    """Who looks on. `person` is `None` where nobody can be asked. `interrupted` says that a signal came, in a line;
    `None` where whoever hears it may write to standard error."""

    @property
    def person(self) -> Person | None: ...

    @property
    def interrupted(self) -> Callable[[str], None] | None: ...

    def tell(self, event: Event) -> None: ...

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        """What the Enter key does from now on, where somebody is at a keyboard; `None` for nothing."""
        ...

    def cut_off(self, text: str) -> None:
        """The process is about to end: `text` is the last that is said, whatever else goes on."""
        ...
