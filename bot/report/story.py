"""A journal as a story: turns with their calls, and what happened around them. Values only; the page shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.agent.journal import JournalFile
from bot.agent.transcript import as_text
from bot.agent.versions import Version, changed_files, versions
from bot.contracts.journal import (
    AgentStarted,
    CallOpened,
    CallStarted,
    Checked,
    Compacted,
    Delta,
    FilesChanged,
    Note,
    Permitted,
    Question,
    Recalled,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    Retried,
    RunEnded,
    SessionEnded,
    UserText,
)
from bot.contracts.messages import Message, Part, Text, Thinking, ToolCall, Usage
from bot.report.changes import ChangedPath, changed_path, counts

_LONGEST = 24_000


@dataclass(slots=True)
class Call:
    """A tool call with everything that was said about it."""

    id: str
    name: str
    arguments: str
    complete: bool = True
    permissions: list[Permitted] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    result: Result | None = None
    files: list[ChangedPath] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)

    @property
    def state(self) -> str:
        if self.result is None:
            return "no result: the run ended here"
        if self.result.denied:
            return "denied"
        if not self.result.executed:
            return "not run"
        return "error" if self.result.is_error else "ok"

    @property
    def diff(self) -> str:
        """What the call changed; nothing where it failed."""
        if self.result is None:
            return ""
        return "".join(str(file.get("diff", "")) for file in changed_files(self.result.metadata))

    @property
    def exit_code(self) -> int | None:
        value = self.result.metadata.get("exit_code") if self.result is not None else None
        return value if isinstance(value, int) else None


@dataclass(slots=True)
class Turn:
    """One request to the model, its answer, and the calls of the answer. `at` is in seconds."""

    number: int
    at: float
    thoughts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    retries: list[Retried] = field(default_factory=list)
    failure: ResponseFailed | None = None
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    files: list[ChangedPath] = field(default_factory=list)

    @property
    def cached(self) -> int:
        """How much of what was read came from the vendor's cache, in percent."""
        read = self.usage.input + self.usage.cache_read + self.usage.cache_write
        return 100 * self.usage.cache_read // read if read else 0


@dataclass(frozen=True, slots=True)
class Agent:
    """A subagent that a call started, with a story of its own."""

    name: str
    prompt: str
    story: Story


@dataclass(frozen=True, slots=True)
class Said:
    """A user message of the history, or what readers should know besides: `origin` "note"; "recalled" is the
    conversation that the run went on with, "summary" what stands for the part that was left out."""

    at: float
    origin: str
    text: str


@dataclass(slots=True)
class CheckRow:
    name: str
    command: str
    before: Checked | None = None
    after: Checked | None = None


@dataclass(slots=True)
class FileRow:
    """A file that edits or commands touched, with the tools that did, and what it was from step to step."""

    path: str
    tools: list[str] = field(default_factory=list)
    additions: int = 0
    removals: int = 0
    versions: Sequence[Version] = ()


@dataclass(slots=True)
class Story:
    timeline: list[Turn | Said] = field(default_factory=list)
    checks: dict[str, CheckRow] = field(default_factory=dict)
    files: dict[str, FileRow] = field(default_factory=dict)
    session: SessionEnded | None = None
    run: RunEnded | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def turns(self) -> list[Turn]:
        return [item for item in self.timeline if isinstance(item, Turn)]


def tell(journal: JournalFile) -> Story:
    """The story of a journal, complete or cut."""
    teller = _Teller()
    if recalled := [Message(line.role, line.parts) for line in journal.records(Recalled)]:
        teller.story.timeline.append(Said(0.0, "recalled", as_text(recalled)))
    for line in journal.lines:
        teller.hear(line.record, line.at)
    for line in journal.everything:
        if isinstance(line.record, AgentStarted) and line.agent:
            started = line.record
            own = tell(journal.of(line.agent)._replace(everything=()))
            teller.started(Agent(started.name, started.prompt, own), started.turn, started.call_id)
    teller.finish()
    for path, found in versions(journal).items():
        if path in teller.story.files:
            teller.story.files[path].versions = found
    return teller.story


class _Teller:
    """Sorts lines into turns and calls. A line that refers to nothing known is kept as a note of its own."""

    def __init__(self) -> None:
        self.story = Story()
        self._turns: dict[int, Turn] = {}
        self._current: Call | None = None
        self._streamed: dict[int, list[Delta | CallOpened]] = {}

    def hear(self, record: object, at: float) -> None:
        story = self.story
        story.seconds = max(story.seconds, at)
        if isinstance(record, UserText):
            story.timeline.append(Said(at, record.origin, record.text))
        elif isinstance(record, Note):
            story.timeline.append(Said(at, "note", record.text))
        elif isinstance(record, Compacted):
            self._shortened(record, at)
        elif isinstance(record, RequestSent):
            self._turn(record.turn, at)
        elif isinstance(record, Delta | CallOpened):
            self._streamed.setdefault(record.turn, []).append(record)
        elif isinstance(record, Retried):
            self._turn(record.turn, at).retries.append(record)
        elif isinstance(record, Response | ResponseFailed):
            self._answer(record, at)
        elif isinstance(record, CallStarted):
            self._current = self._call(record.turn, record.call_id, record.name, at)
        elif isinstance(record, Question):
            if self._current is not None:
                self._current.questions.append(record)
        elif isinstance(record, Permitted):
            self._permitted(record)
        elif isinstance(record, Result):
            self._result(record, at)
        elif isinstance(record, FilesChanged):
            self._changed(record, at)
        elif isinstance(record, Checked):
            row = story.checks.setdefault(record.name, CheckRow(record.name, record.command))
            if record.phase == "before":
                row.before = record
            else:
                row.after = record
        elif isinstance(record, SessionEnded):
            story.session = record
        elif isinstance(record, RunEnded):
            story.run = record

    def started(self, agent: Agent, turn: int, call_id: str) -> None:
        """Put the subagent below the call that started it, and what it changed among the run's files."""
        self._call_of(turn, call_id, agent.story.seconds).agents.append(agent)
        story, own = self.story, agent.story
        story.usage, story.cost = story.usage + own.usage, story.cost + own.cost
        for row in own.files.values():
            for tool in row.tools:
                self._touched(row.path, tool, 0, 0)
            self._touched(row.path, row.tools[0], row.additions, row.removals)

    def finish(self) -> None:
        """Show what streamed of an answer that never became whole, and what the session came to."""
        for number, records in self._streamed.items():
            turn = self._turn(number, self.story.seconds)
            if turn.finish or turn.failure is not None:
                continue
            deltas = [record for record in records if isinstance(record, Delta)]
            for kind, into in (("thinking", turn.thoughts), ("text", turn.texts)):
                text = "".join(delta.text for delta in deltas if delta.kind == kind)
                if text:
                    into.append(text)
            for opened in (record for record in records if isinstance(record, CallOpened)):
                pieces = [delta.text for delta in deltas if delta.block == opened.block]
                turn.calls.append(Call(opened.call_id, opened.name, "".join(pieces), complete=False))
        for turn in self.story.turns:
            self.story.usage += turn.usage
            self.story.cost += turn.cost

    def _turn(self, number: int, at: float) -> Turn:
        if number not in self._turns:
            self._turns[number] = turn = Turn(number, at)
            self.story.timeline.append(turn)
        return self._turns[number]

    def _shortened(self, record: Compacted, at: float) -> None:
        story = self.story
        story.usage, story.cost = story.usage + record.usage, story.cost + record.cost
        if record.failure:
            story.timeline.append(
                Said(at, "note", f"The conversation could not be made shorter. {record.failure}")
            )
            return
        tokens = f"{record.before:,} tokens became {record.after:,}"
        story.timeline.append(Said(at, "note", f"The conversation was made shorter: {tokens}."))
        story.timeline.append(Said(at, "summary", record.text))

    def _call_of(self, number: int, call_id: str, at: float) -> Call:
        """The call of that id, whether it has its result or not."""
        calls = self._turn(number, at).calls
        return next((call for call in calls if call.id == call_id), None) or self._call(
            number, call_id, "task", at
        )

    def _call(self, number: int, call_id: str, name: str, at: float) -> Call:
        """The first call of that id in the turn that has no result yet, else a new one."""
        turn = self._turn(number, at)
        known = next((call for call in turn.calls if call.id == call_id and call.result is None), None)
        if known is None:
            known = Call(call_id, name, "")
            turn.calls.append(known)
        return known

    def _answer(self, record: Response | ResponseFailed, at: float) -> None:
        turn = self._turn(record.turn, at)
        turn.usage += record.usage
        turn.cost += record.cost
        if isinstance(record, ResponseFailed):
            turn.failure = record
        else:
            turn.finish = record.finish if record.raw_reason in ("", record.finish) else _both(record)
        _add_parts(turn, record.parts)

    def _permitted(self, record: Permitted) -> None:
        call = self._current
        if record.call_id:
            calls = [
                call for turn in self._turns.values() for call in turn.calls if call.id == record.call_id
            ]
            call = calls[-1] if calls else None
        if call is not None:
            call.permissions.append(record)

    def _result(self, record: Result, at: float) -> None:
        call = self._call(record.turn, record.call_id, record.name, at)
        call.result = record
        if self._current is call:
            self._current = None
        if record.is_error:
            return
        for file in changed_files(record.metadata):
            added, removed = counts(str(file.get("diff", "")))
            self._touched(file["path"], record.name, added, removed)

    def _changed(self, record: FilesChanged, at: float) -> None:
        turn = self._turn(record.turn, at)
        call = next((call for call in reversed(turn.calls) if call.id == record.call_id), None)
        shown = [changed_path(file) for file in record.files]
        (call.files if call is not None else turn.files).extend(shown)
        if record.note and call is not None:
            call.notes.append(record.note)
        for file in shown:
            added, removed = counts(file.diff)
            self._touched(file.path, call.name if call is not None else "command", added, removed)

    def _touched(self, path: str, tool: str, additions: int, removals: int) -> None:
        row = self.story.files.setdefault(path, FileRow(path))
        if tool not in row.tools:
            row.tools.append(tool)
        row.additions += additions
        row.removals += removals


def _both(record: Response) -> str:
    return f"{record.finish} ({record.raw_reason})"


def _add_parts(turn: Turn, parts: Sequence[Part]) -> None:
    for part in parts:
        if isinstance(part, Text):
            turn.texts.append(part.text)
        elif isinstance(part, Thinking):
            if part.text:
                turn.thoughts.append(part.text)
        elif isinstance(part, ToolCall):
            turn.calls.append(Call(part.id, part.name, _readable(part.arguments), part.complete))


def _readable(arguments: str) -> str:
    """The arguments as a person reads them: one key a line, texts of several lines as they are."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(value, dict):
        return arguments
    rows = []
    for key, item in value.items():
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        below = "\n" in text or text[:1].isspace()  # indentation is only seen at a line's start
        rows.append(f"{key}:\n{text}" if below else f"{key}: {text}")
    return "\n".join(rows)


def shortened(text: str) -> str:
    """A text that may be very long, with its middle left out and the number of characters said."""
    if len(text) <= _LONGEST:
        return text
    head, tail = text[: _LONGEST * 2 // 3], text[-_LONGEST // 3 :]
    missing = len(text) - len(head) - len(tail)
    return f"{head}\n… {missing:,} characters are left out here; the journal has them …\n{tail}"
