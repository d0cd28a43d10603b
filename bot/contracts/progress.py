"""Events of a running run, for a terminal and for programs, and questions to the person at the terminal.

`--json-events` prints each event as one JSON object a line; `docs/cli.md` has the table. Within one `SCHEMA`
events and fields are only added. All text of a run is redacted, but untrusted.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.journal import Note, Record
from bot.contracts.messages import ToolCall

SCHEMA = 2


class BeginEvent(NamedTuple):
    """The first event: program version and verb."""

    schema: int
    version: str
    verb: str


class WaitEvent(NamedTuple):
    """The run waits for a check or a checker. `limit` is in seconds, `None` for none. `skippable`: the person
    at the terminal may skip the wait."""

    text: str
    limit: float | None
    skippable: bool = False


class OutputEvent(NamedTuple):
    """The last line of output so far of the process that the run waits for."""

    line: str


class Written(NamedTuple):
    """A record of the journal, which is written as `line`. `agent` is the subagent's name, empty for the run itself;
    `call` is the tool call that the record belongs to, if any."""

    record: Record
    line: bytes = b""
    agent: str = ""
    call: ToolCall | None = None


class EndEvent(NamedTuple):
    """The last event. `result` is what `--json` prints; if it is `None`, `error` says why."""

    exit_code: int
    result: Mapping[str, Any] | None = None
    error: str = ""


Event = BeginEvent | Note | WaitEvent | OutputEvent | Written | EndEvent
"""A `Note` is one line for people."""

EVENTS: Mapping[type[tuple[Any, ...]], str] = {
    BeginEvent: "began",
    Note: "note",
    WaitEvent: "waiting",
    OutputEvent: "printed",
    EndEvent: "ended",
}
"""The `type` of each event that is no line of the journal."""


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


class View:
    """Displays progress, from any thread; this one displays nothing. `person` is `None` if nobody can be asked.
    `interrupted` reports a signal in one line; `None` if the caller may write to standard error."""

    person: Person | None = None
    interrupted: Callable[[str], None] | None = None

    def tell(self, event: Event) -> None:
        """Display an event, without delay."""

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        """Set the action of the Enter key; `None` for none."""

    def cut_off(self, text: str) -> None:
        """Print `text` as the last output: the process is about to end."""
