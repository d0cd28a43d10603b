"""Pure functions and a tape for replaying a journal; `bot/recovery` applies them.

The replay provider feeds the recorded responses to the loop, a `Tape` the recorded results. Edits are executed
again and compared with their recorded hashes; files that commands changed are restored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from bot.agent.compaction import CompactionFailure, CompactionInput, DroppedResults, Summary
from bot.agent.handover import ANSWER
from bot.agent.journal_file import JournalFile
from bot.agent.toolbox import FATAL_PREFIX
from bot.agent.versions import changed_files
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import (
    AgentStarted,
    CompactionRecord,
    FilesChanged,
    FileVersion,
    RecalledMessage,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
)
from bot.contracts.messages import Message, ToolCall, Usage
from bot.contracts.tools import ToolOutcome

_HASHES = ("before_hash", "after_hash", "moved_from")


class ReplayError(AgentError):
    """The replay differs from the recording; the message names the first difference."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One recorded call.

    `result` is `None` if the run died in it; `files` are the files that it changed, except by edits. `masked`
    is true if the redactor changed the model's turn or the result.
    """

    turn: int
    call: ToolCall
    result: Result | None
    files: tuple[FileVersion, ...] = ()
    masked: bool = False

    @property
    def name(self) -> str:
        """The name of the call in messages."""
        return f"turn {self.turn}, {self.call.name} ({self.call.id})"

    @property
    def handed_over(self) -> bool:
        """Whether the call handed over a result: not so a question that was answered during the run."""
        return self.result is not None and not self.result.is_error and ANSWER not in self.result.metadata

    @property
    def outcome(self) -> ToolOutcome:
        """The recorded result as a handler returns it."""
        if self.result is None:
            raise ReplayError(f"{self.name}: the recorded run died in this call, so it has no result.")
        return ToolOutcome(self.result.content, self.result.is_error, self.result.metadata)


def recorded_calls(journal: JournalFile) -> tuple[RecordedCall, ...]:
    """Return every call of the run in order, with its result and its file changes.

    Changes belong to the call that they name, else to the last call of their turn.
    """
    results: dict[tuple[int, str], tuple[Result, bool]] = {}
    files: dict[tuple[int, str], tuple[FileVersion, ...]] = {}
    for line in journal.lines:
        if isinstance(line.record, Result):
            results[line.record.turn, line.record.call_id] = (line.record, line.masked)
        elif isinstance(line.record, FilesChanged):
            key = (line.record.turn, line.record.call_id)
            files[key] = (*files.get(key, ()), *line.record.files)
    return tuple(_calls(journal, results, files))


def _calls(
    journal: JournalFile,
    results: dict[tuple[int, str], tuple[Result, bool]],
    files: dict[tuple[int, str], tuple[FileVersion, ...]],
) -> Iterator[RecordedCall]:
    for line in journal.lines:
        if not isinstance(line.record, Response):
            continue
        turn = line.record.turn
        calls = [part for part in line.record.parts if isinstance(part, ToolCall)]
        for index, call in enumerate(calls):
            result, masked = results.get((turn, call.id), (None, False))
            changed = files.get((turn, call.id), ())
            if index == len(calls) - 1:
                changed = (*changed, *files.get((turn, ""), ()))
            yield RecordedCall(turn, call, result, changed, line.masked or masked)


class RecordedAgent(NamedTuple):
    """A recorded subagent: its calls and its usage."""

    calls: tuple[RecordedCall, ...]
    requests: int
    usage: Usage
    cost: float


def recorded_agent(journal: JournalFile, call: RecordedCall) -> RecordedAgent | None:
    """Return the subagent that `call` started, or `None`."""
    name = next(
        (
            line.record.name
            for line in journal.everything
            if isinstance(line.record, AgentStarted)
            and (line.record.turn, line.record.call_id) == (call.turn, call.call.id)
        ),
        None,
    )
    if name is None:
        return None
    own = journal.of(name)
    records: list[Response | ResponseFailed | CompactionRecord] = [
        *own.records(Response),
        *own.records(ResponseFailed),
        *own.records(CompactionRecord),
    ]
    usage = sum((line.usage for line in records), Usage())
    requests = sum(1 for _ in own.records(RequestSent))
    return RecordedAgent(recorded_calls(own), requests, usage, sum(line.cost for line in records))


def recalled_messages(journal: JournalFile) -> tuple[Message, ...]:
    """Return the messages that the recorded run continued from."""
    return tuple(Message(line.role, line.parts) for line in journal.records(RecalledMessage))


class Tape:
    """Returns the recorded calls that reached a handler, in order, to the handlers of a replay."""

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        self._calls = [call for call in calls if call.result is None or call.result.executed]
        self._position = 0

    def take(self, tool: str) -> RecordedCall:
        """Return the next recorded call, which must be one of `tool`. Raises `ReplayError`."""
        if self._position == len(self._calls):
            raise ReplayError(f"The replay calls {tool} after the recording's last call.")
        recorded = self._calls[self._position]
        if recorded.call.name.strip().casefold() != tool.casefold():
            raise ReplayError(f"{recorded.name}: the replay calls {tool} instead.")
        self._position += 1
        return recorded


class RecordedCompactions:
    """Compacts the conversation exactly where and as the recording did."""

    def __init__(self, journal: JournalFile) -> None:
        self._recorded = {line.turn: line for line in journal.records(CompactionRecord)}

    def due(self, turn: int, tokens: int) -> bool:
        return turn in self._recorded

    def overflowed(self, turn: int, tokens: int) -> bool:
        return False

    def shorten(
        self, situation: CompactionInput, cancel: CancelToken
    ) -> Summary | DroppedResults | CompactionFailure:
        line = self._recorded[situation.turn]
        if line.dropped:
            return DroppedResults(line.dropped)
        if line.failure:
            return CompactionFailure(line.failure, line.usage, line.cost)
        return Summary(line.text, line.first_kept, line.usage, line.cost, line.transcript)


def edit_difference(recorded: RecordedCall, again: ToolOutcome) -> str:
    """Return the difference between a repeated edit and its recording in one sentence; empty for none."""
    before = recorded.outcome
    if before.is_error != again.is_error:
        outcome = "failed" if again.is_error else "succeeded"
        return f"{recorded.name}: it {outcome} this time{_because(recorded)}: {again.content[:200]}"
    old, new = changed_files(before.metadata), changed_files(again.metadata)
    paths = [[file["path"] for file in files] for files in (old, new)]
    if paths[0] != paths[1]:
        return f"{recorded.name}: it changed {paths[0]} and changes {paths[1]}{_because(recorded)}."
    for old_file, new_file in zip(old, new, strict=True):
        for key in _HASHES:
            was, now = old_file.get(key), new_file.get(key)
            if was != now:
                what = key if len(old) == 1 else f"{key} of {old_file['path']}"
                return f"{recorded.name}: {what} was {was} and is {now}{_because(recorded)}."
    return ""


def _because(recorded: RecordedCall) -> str:
    return " (a secret was masked in the recording)" if recorded.masked else ""


def file_problem(recorded: RecordedCall) -> str:
    """Return why the recorded files cannot be restored, naming the first; empty if they can."""
    for file in recorded.files:
        if file.after is None or file.link is not None:
            continue
        if file.content is None:
            return f"{recorded.name}: {file.path} was too large to record."
        if hashlib.sha256(file.content).hexdigest() != file.after:
            return f"{recorded.name}: the recorded {file.path} lacks what the redactor masked."
    return ""


def first_difference(recorded: JournalFile, again: JournalFile) -> str:
    """Return the first difference between two runs of the same recording in one sentence; empty for none.

    Compares results, the end of the session and the patch; not durations, costs or redacted texts.
    """
    for old, new in zip_longest(recorded_calls(recorded), recorded_calls(again)):
        if old is None or new is None:
            one, where = (new, "replay") if old is None else (old, "recording")
            return f"{one.name}: only the {where} has this call."
        difference = _call_difference(old, new)
        if difference:
            return difference
    for kind, fields in ((SessionEnded, ("stop_reason", "turns")), (RunEnded, ("patch_sha256",))):
        ends = [next(journal.records(kind), None) for journal in (recorded, again)]
        for name in fields if None not in ends else ():
            before, after = (getattr(end, name) for end in ends)
            if before != after:
                return f"At the end, {name} was {before} and is {after}."
    return ""


def _fatal_error(new: str, old: str) -> str:
    """Return the error that ended a call of the replay only, mostly a `ReplayError`; else empty."""
    return "" if new == old or not new.startswith(FATAL_PREFIX) else new.removeprefix(FATAL_PREFIX)


def _call_difference(old: RecordedCall, new: RecordedCall) -> str:
    if old.call != new.call and not (old.masked or new.masked):
        return f"{old.name}: the call itself differs."
    if old.result is None or new.result is None:
        return "" if old.result is new.result else f"{old.name}: only one of the runs has its result."
    if error := _fatal_error(new.result.content, old.result.content):
        return error if error.startswith(old.name) else f"{old.name}: {error}"
    if old.result.is_error != new.result.is_error:
        return f"{old.name}: is_error was {old.result.is_error} and is {new.result.is_error}."
    if old.result.content != new.result.content and not (old.masked or new.masked):
        return f"{old.name}: the result differs."
    return ""
