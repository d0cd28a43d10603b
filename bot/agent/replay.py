"""What replaying a journal needs to know, as pure functions and one tape; `bot/run` does the applying.

The recorded model turns are fed to the loop by the replay provider, the recorded results by a `Tape`. Edits
are made again and compared with their recorded hashes, files that commands changed are put in place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from bot.agent.compaction import Dropped, Shortened, Situation, Stuck
from bot.agent.journal_file import JournalFile
from bot.agent.toolbox import CANNOT_GO_ON
from bot.agent.versions import changed_files
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import (
    AgentStarted,
    Compacted,
    FilesChanged,
    FileVersion,
    Recalled,
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
    """The replay went another way than the recording; the message names the first difference."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call as recorded.

    `result` is `None` when the run died in it; `files` is what the call changed, edits apart.
    `masked` is true when the redactor changed something in the model's turn or in the result.
    """

    turn: int
    call: ToolCall
    result: Result | None
    files: tuple[FileVersion, ...] = ()
    masked: bool = False

    @property
    def name(self) -> str:
        """How messages name it."""
        return f"turn {self.turn}, {self.call.name} ({self.call.id})"

    @property
    def outcome(self) -> ToolOutcome:
        """The recorded result as a handler would give it back."""
        if self.result is None:
            raise ReplayError(f"{self.name}: the recorded run died in this call, so it has no result.")
        return ToolOutcome(self.result.content, self.result.is_error, self.result.metadata)


def recorded_calls(journal: JournalFile) -> tuple[RecordedCall, ...]:
    """Every call of the run in order, with its result and with the file changes that belong to it.

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
        for place, call in enumerate(calls):
            result, masked = results.get((turn, call.id), (None, False))
            changed = files.get((turn, call.id), ())
            if place == len(calls) - 1:
                changed = (*changed, *files.get((turn, ""), ()))
            yield RecordedCall(turn, call, result, changed, line.masked or masked)


class RecordedAgent(NamedTuple):
    """A subagent as recorded: its calls, and what it spent."""

    calls: tuple[RecordedCall, ...]
    requests: int
    usage: Usage
    cost: float


def recorded_agent(journal: JournalFile, call: RecordedCall) -> RecordedAgent | None:
    """The subagent that `call` started; `None` where it started none."""
    started = next(
        (
            line.record.name
            for line in journal.everything
            if isinstance(line.record, AgentStarted)
            and (line.record.turn, line.record.call_id) == (call.turn, call.call.id)
        ),
        None,
    )
    if started is None:
        return None
    own = journal.of(started)
    answers: list[Response | ResponseFailed | Compacted] = [
        *own.records(Response), *own.records(ResponseFailed), *own.records(Compacted)
    ]  # fmt: skip
    usage = sum((line.usage for line in answers), Usage())
    requests = sum(1 for _ in own.records(RequestSent))
    return RecordedAgent(recorded_calls(own), requests, usage, sum(line.cost for line in answers))


def recalled(journal: JournalFile) -> tuple[Message, ...]:
    """The messages that the recorded run went on from."""
    return tuple(Message(line.role, line.parts) for line in journal.records(Recalled))


class Tape:
    """Hands out the recorded calls that reached a handler, in order, to the handlers of a replay."""

    def __init__(self, calls: Sequence[RecordedCall]) -> None:
        self._calls = [call for call in calls if call.result is None or call.result.executed]
        self._place = 0

    def take(self, tool: str) -> RecordedCall:
        """The next recorded call, which must be one of `tool`. Raises `ReplayError`."""
        if self._place == len(self._calls):
            raise ReplayError(f"The replay calls {tool} after the recording's last call.")
        recorded = self._calls[self._place]
        if recorded.call.name.strip().casefold() != tool.casefold():
            raise ReplayError(f"{recorded.name}: the replay calls {tool} instead.")
        self._place += 1
        return recorded


class RecordedCompactions:
    """Makes the conversation shorter where the recording did, in the same words, and nowhere else."""

    def __init__(self, journal: JournalFile) -> None:
        self._recorded = {line.turn: line for line in journal.records(Compacted)}

    def due(self, turn: int, held: int) -> bool:
        return turn in self._recorded

    def overflowed(self, turn: int, held: int) -> bool:
        return False

    def shorten(self, situation: Situation, cancel: CancelToken) -> Shortened | Dropped | Stuck:
        line = self._recorded[situation.turn]
        if line.dropped:
            return Dropped(line.dropped)
        if line.failure:
            return Stuck(line.failure, line.usage, line.cost)
        return Shortened(line.text, line.first_kept, line.usage, line.cost, line.transcript)


def edit_difference(recorded: RecordedCall, again: ToolOutcome) -> str:
    """Where an edit made again differs from the recording, in one sentence; empty when it does not."""
    before = recorded.outcome
    if before.is_error != again.is_error:
        told = "failed" if again.is_error else "succeeded"
        return f"{recorded.name}: it {told} this time{_because(recorded)}: {again.content[:200]}"
    old, new = changed_files(before.metadata), changed_files(again.metadata)
    paths = [[file["path"] for file in files] for files in (old, new)]
    if paths[0] != paths[1]:
        return f"{recorded.name}: it changed {paths[0]} and changes {paths[1]}{_because(recorded)}."
    for was, now in zip(old, new, strict=True):
        for key in _HASHES:
            if was.get(key) != now.get(key):
                what = key if len(old) == 1 else f"{key} of {was['path']}"
                return (
                    f"{recorded.name}: {what} was {was.get(key)} and is {now.get(key)}{_because(recorded)}."
                )
    return ""


def _because(recorded: RecordedCall) -> str:
    return " (a secret was masked in the recording)" if recorded.masked else ""


def file_trouble(recorded: RecordedCall) -> str:
    """Why the recorded files cannot be put in place, naming the first; empty when they can."""
    for file in recorded.files:
        if file.after is None or file.link is not None:
            continue
        if file.content is None:
            return f"{recorded.name}: {file.path} was too large to record."
        if hashlib.sha256(file.content).hexdigest() != file.after:
            return f"{recorded.name}: the recorded {file.path} lacks what the redactor masked."
    return ""


def first_difference(recorded: JournalFile, again: JournalFile) -> str:
    """The first thing in which two runs of the same recording differ, in one sentence; empty for none.

    Compares results, how the session ended and the patch; not durations, costs or texts that were masked.
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
            was, now = (getattr(end, name) for end in ends)
            if was != now:
                return f"At the end, {name} was {was} and is {now}."
    return ""


def _trouble(now: str, was: str) -> str:
    """What a call of the replay could not go on for, a `ReplayError` mostly; empty where it could."""
    return "" if now == was or not now.startswith(CANNOT_GO_ON) else now.removeprefix(CANNOT_GO_ON)


def _call_difference(old: RecordedCall, new: RecordedCall) -> str:
    if old.call != new.call and not (old.masked or new.masked):
        return f"{old.name}: the call itself differs."
    if old.result is None or new.result is None:
        return "" if old.result is new.result else f"{old.name}: only one of the runs has its result."
    if trouble := _trouble(new.result.content, old.result.content):
        return trouble if trouble.startswith(old.name) else f"{old.name}: {trouble}"
    if old.result.is_error != new.result.is_error:
        return f"{old.name}: is_error was {old.result.is_error} and is {new.result.is_error}."
    if old.result.content != new.result.content and not (old.masked or new.masked):
        return f"{old.name}: the result differs."
    return ""
