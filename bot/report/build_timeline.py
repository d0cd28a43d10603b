"""Build the timeline of a journal, complete or cut: assign each line to its turn and call, and collect the versions of
each file."""

import re
import shlex
from collections.abc import Mapping

from bot.agent.journal import JournalFile
from bot.agent.versions import BASE, OUTSIDE, Version, versions
from bot.contracts.journal import (
    AgentStarted,
    AttachedFile,
    CallStarted,
    CompactionRecord,
    DiagnosticsRecord,
    FilesChanged,
    ModelChanged,
    Note,
    PermissionDecision,
    ProviderRetry,
    Question,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
    UserText,
    WriteProposed,
)
from bot.contracts.messages import Text, Thinking, ToolCall, Usage
from bot.contracts.plain_text import quoted
from bot.report.timeline import (
    Agent,
    Call,
    FileRow,
    TextEntry,
    Timeline,
    Turn,
    VersionRow,
    changed_path,
    fields_of,
    is_bytecode,
)

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")


def build_timeline(journal: JournalFile) -> Timeline:
    """Return the timeline of a journal, with those of subagents below the calls that started them."""
    builder = _TimelineBuilder(journal)
    agents = {"": builder}
    for name in dict.fromkeys(line.agent for line in journal.everything if line.agent):
        lines = journal.of(name)
        started = next(lines.records(AgentStarted), None)
        if started is None:
            continue
        agents[name] = own = _TimelineBuilder(lines, f"{_NOT_IN_A_NAME.sub('-', name)}-")
        own.finish()
        agent = Agent(started.name, started.system, started.prompt, own.timeline)
        builder.call_of(started.turn, started.call_id, agent.timeline.seconds).agents.append(agent)
        builder.spent(agent.timeline.usage, agent.timeline.cost)
    builder.finish()
    places: dict[str, dict[str, int]] = {}
    for path, history in versions(journal).items():
        if not is_bytecode(path):
            tools = dict.fromkeys(one.by for one in history if one.by not in (BASE, OUTSIDE))
            added, removed = sum(one.additions for one in history), sum(one.removals for one in history)
            rows = [
                _row(one, agents[one.agent].steps if one.agent in agents else {}, places) for one in history
            ]
            builder.timeline.files[path] = FileRow(path, list(tools), added, removed, versions=rows)
    return builder.timeline


class _TimelineBuilder:
    """Assigns lines to turns and calls. Calls are indexed by turn and id, since a run may have ten thousand."""

    def __init__(self, journal: JournalFile, prefix: str = "") -> None:
        self.timeline = Timeline()
        self.steps: dict[tuple[int, str], Call] = {}
        self._prefix = prefix
        self._turns: dict[int, Turn] = {}
        self._latest: dict[str, Call] = {}
        self._current: Call | None = None
        for line in journal.lines:
            self.add_record(line.record, line.at)

    def add_record(self, record: object, at: float) -> None:
        timeline = self.timeline
        timeline.seconds = max(timeline.seconds, at)
        match record:
            case UserText():
                self.add_entry(TextEntry(at, record.origin, record.text, record.images))
            case Note():
                self.add_entry(TextEntry(at, "note", record.text))
            case ModelChanged():
                self.add_entry(TextEntry(at, "note", record.sentence))
            case AttachedFile():
                text = (
                    f"Attached file {quoted(record.name)}, {record.size:,} bytes, SHA-256 {record.sha256}, "
                )
                text += f"in {record.place}: fetched in {record.seconds:.1f} s, kept as {record.path}."
                self.add_entry(TextEntry(at, "note", text))
            case CompactionRecord():
                self.spent(record.usage, record.cost)
                if record.failure:
                    text = f"The conversation could not be made shorter. {record.failure}"
                    self.add_entry(TextEntry(at, "note", text))
                else:
                    used = record.before, record.after, record.cost, record.transcript
                    self.add_entry(TextEntry(at, "summary", record.text, (), *used))
            case RequestSent():
                self._turn(record.turn, at)
            case ProviderRetry():
                self._turn(record.turn, at).retries.append(record)
            case Response() | ResponseFailed():
                self._answer(record, at)
            case CallStarted():
                self._current = self._open_call(record.turn, record.call_id, record.name, at)
            case Question():
                if self._current is not None:
                    self._current.questions.append(record)
            case PermissionDecision():
                call = self._latest.get(record.call_id) if record.call_id else self._current
                if call is not None:
                    call.permissions.append(record)
            case Result():
                call = self._open_call(record.turn, record.call_id, record.name, at)
                call.result = record
                turn = self._turns[record.turn]
                turn.ended = max(turn.ended, at)
                if self._current is call:
                    self._current = None
            case FilesChanged():
                turn = self._turn(record.turn, at)
                call = self.steps.get((record.turn, record.call_id))
                changed = (changed_path(file) for file in record.files if not is_bytecode(file.path))
                (turn if call is None else call).files.extend(changed)
                if record.note and call is not None:
                    call.notes.append(record.note)
            case DiagnosticsRecord():
                self.call_of(record.turn, record.call_id, at).diagnosed.append(record)
            case WriteProposed():
                timeline.writes.append(record)
            case SessionEnded():
                timeline.session = record
            case RunEnded():
                timeline.run = record

    def add_entry(self, entry: TextEntry) -> None:
        entry.key = f"{self._prefix}message-{len(self.timeline.entries) + 1}"
        self.timeline.entries.append(entry)

    def spent(self, usage: Usage, cost: float) -> None:
        self.timeline.usage += usage
        self.timeline.cost += cost

    def finish(self) -> None:
        """Sum up usage and cost."""
        for turn in self.timeline.turns:
            self.spent(turn.usage, turn.cost)
            for index, call in enumerate(turn.calls, start=1):
                call.key = f"{turn.key}-call-{index}"

    def _turn(self, number: int, at: float) -> Turn:
        if number not in self._turns:
            self._turns[number] = turn = Turn(number, at, key=f"{self._prefix}turn-{number}")
            self.timeline.entries.append(turn)
        return self._turns[number]

    def call_of(self, number: int, call_id: str, at: float) -> Call:
        """Return the call of that id, with or without a result."""
        return self.steps.get((number, call_id)) or self._open_call(number, call_id, "task", at)

    def _open_call(self, number: int, call_id: str, name: str, at: float) -> Call:
        """Return the last call of that id in the turn if it has no result yet, else a new one."""
        turn = self._turn(number, at)
        known = self.steps.get((number, call_id))
        if known is None or known.result is not None:
            return self._add(turn, Call(call_id, name))
        return known

    def _add(self, turn: Turn, call: Call) -> Call:
        turn.calls.append(call)
        self.steps[turn.number, call.id] = self._latest[call.id] = call
        return call

    def _answer(self, record: Response | ResponseFailed, at: float) -> None:
        turn = self._turn(record.turn, at)
        turn.answered = at
        turn.usage += record.usage
        turn.cost += record.cost
        if isinstance(record, ResponseFailed):
            turn.failure = record
        else:
            vendor = "" if record.raw_reason in ("", record.finish) else f" ({record.raw_reason})"
            turn.finish = f"{record.finish}{vendor}"
        for part in record.parts:
            if isinstance(part, Text):
                turn.texts.append(part.text)
            elif isinstance(part, Thinking) and part.text:
                turn.thoughts.append(part.text)
            elif isinstance(part, ToolCall):
                self._add(turn, Call(part.id, part.name, fields_of(part.arguments), part.complete))


def _row(
    version: Version, steps: Mapping[tuple[int, str], Call], places: dict[str, dict[str, int]]
) -> VersionRow:
    """`steps` are the calls of the version's agent by turn and id; `places` collects the diffs of each by path."""
    path = shlex.quote(version.path)
    restore = f"slash-agent restore journal.jsonl --path {path} --version {version.number}"
    call = steps.get((version.turn, version.call_id)) if version.call_id else None
    if call is None:
        return VersionRow(version, restore=restore)
    if call.key not in places:
        changed = enumerate(call.changes, start=1)
        places[call.key] = {change.path: index for index, change in changed if change.diff}
    index = places[call.key].get(version.path)
    return VersionRow(version, call.key, f"{call.key}-diff-{index}" if index else "", restore)
