"""A job's log is one text: lines with a time, steps one after another. Here it is told apart by the steps' times."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.contracts.plain_text import printable
from bot.contracts.pulls import FailedStep

LINES = 200
# Characters of one line that are kept; a minified file in a log is one line.
LINE_LIMIT = 1_000
_PENDING = 1 << 14

_STAMP = re.compile(r"\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z ?")
_COMMAND = re.compile(r"##\[(group|endgroup|error|warning|notice|debug|command|section)\]")
_SAID = {"error": "Error: ", "warning": "Warning: ", "notice": "Notice: "}


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One failed step. Times are RFC 3339 with whole seconds, as GitHub gives them for steps."""

    name: str
    started_at: str
    completed_at: str


def failed_steps(pieces: Iterable[bytes], steps: Sequence[StepTimes]) -> tuple[FailedStep, ...]:
    """The last 200 lines of each of `steps`, from the bytes of the job's log as they come in; no more is held."""
    collected = [_Step(times) for times in steps]
    second = ""
    for line in lines_of(pieces):
        stamp = _STAMP.match(line)
        if stamp:
            second, line = stamp.group(1), line[stamp.end() :]
        for step in collected:
            step.take(second, line)
    return tuple(FailedStep(step.times.name, "\n".join(shown(step.lines))) for step in collected)


class _Step:
    """The lines between a step's first and last second.

    In the first second, what stands above its own `Run` belongs to the step before; in the last one, what stands
    below its last error line belongs to the step after.
    """

    def __init__(self, times: StepTimes) -> None:
        self.times = times
        self.lines: deque[str] = deque(maxlen=LINES)
        self._below: deque[str] = deque(maxlen=LINES)
        self._begun = False
        self._failed = False

    def take(self, second: str, line: str) -> None:
        first, last = self.times.started_at[:19], self.times.completed_at[:19]
        if not first <= second <= last:
            return
        if not self._begun and second == first and line.startswith("##[group]Run "):
            self._begun = True
            self.lines.clear()
        if self._failed and second == last:
            self._below.append(line)
        else:
            self.lines.append(line)
        if line.startswith("##[error]"):
            self.lines.extend(self._below)
            self._below.clear()
            self._failed = True


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines as text, each cut at a limit: a log without line ends is held no more than one with them."""
    rest = b""
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        if not whole:
            rest = (rest + last)[:_PENDING]
            continue
        yield _decoded(rest + whole[0])
        yield from map(_decoded, whole[1:])
        rest = last[:_PENDING]
    if rest:
        yield _decoded(rest)


def shown(lines: Iterable[str]) -> Iterator[str]:
    """Without the runner's marks, terminal sequences and what a carriage return wrote over."""
    for line in lines:
        found = _COMMAND.match(line)
        if found and found.group(1) == "endgroup":
            continue
        text = _SAID.get(found.group(1), "") + line[found.end() :] if found else line
        text = printable(text.rstrip("\r").rpartition("\r")[2]).rstrip()
        yield text if len(text) <= LINE_LIMIT else f"{text[:LINE_LIMIT]} …"


def _decoded(line: bytes) -> str:
    return line[:_PENDING].decode(errors="replace")
