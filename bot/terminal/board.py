"""What the live part of the display shows: the step, the list, and what was used. Fed with events, drawn as lines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.contracts.progress import (
    Asking,
    Called,
    Calling,
    Event,
    Listed,
    Noted,
    Printed,
    Spent,
    Started,
    Waiting,
)
from bot.contracts.wording import count_of, money
from bot.terminal.words import one_line

_BOXES = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SPINNER = "|/-\\"
_TICK = 0.125
_MOST_AGENTS = 3
_MOST_ITEMS = 8

_THINKING = "the model is thinking"

Styled = tuple[str, str]
"""A line and the name of its style."""


@dataclass(slots=True)
class Board:
    """Thread-safe; never calls out with its lock held. `clock` gives seconds."""

    clock: Callable[[], float]
    _begun: float = 0.0
    _turn: int = 0
    _turns: int | None = None
    _usd: float = 0.0
    _most: float | None = None
    _tokens: int = 0
    _steps: dict[str, tuple[str, float]] = field(default_factory=dict)
    _items: tuple[tuple[str, str], ...] = ()
    _wait: Waiting | None = None
    _printed: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._begun = self.clock()
        self._steps[""] = ("preparing", self._begun)

    def take(self, event: Event) -> None:
        now = self.clock()
        with self._lock:
            if isinstance(event, Asking | Calling | Noted | Waiting) and not getattr(event, "agent", ""):
                self._wait, self._printed = None, ""
            match event:
                case Started():
                    self._turns, self._most = event.turns, event.usd
                case Asking(turn, agent):
                    self._steps[agent] = (_THINKING, now)
                    if not agent:
                        self._turn = turn
                        self._steps = {"": self._steps[""]}
                case Calling():
                    self._steps[event.agent] = (one_line(f"{event.tool} {event.subject}"), now)
                case Called() if event.agent:
                    self._steps[event.agent] = ("…", now)
                case Noted(text):
                    self._steps[""] = (one_line(text), now)
                case Waiting(text):
                    self._steps[""], self._wait = (one_line(text), now), event
                case Printed(line):
                    self._printed = one_line(line)
                case Listed(items):
                    self._items = tuple((one_line(text), state) for text, state in items)
                case Spent():
                    self._usd, self._tokens = event.usd, event.tokens
                    if self._steps[""][0] == _THINKING:  # its answer is here; what follows says so itself
                        self._steps[""] = ("working on the model's answer", now)
                case _:
                    pass

    def lines(self, width: int, height: int, *, unicode: bool = True) -> list[Styled]:
        """At most `height` lines, none of them to be wrapped: the step, the list, what was used."""
        with self._lock:
            now = self.clock()
            room = max(height - 2, 0)
            agents = [(name, step) for name, step in self._steps.items() if name][:_MOST_AGENTS][:room]
            items = _around(self._items, min(_MOST_ITEMS, room - len(agents)))
            shown = [(self._step(now, unicode), "step")] if height > 1 else []
            if self._printed and room > len(agents) + len(items):
                # Never at the place of a line of ours: what is waited for may print one that looks like it.
                shown.append((f"  {'│' if unicode else '|'} {self._printed}", "used"))
            shown += [(f"  {one_line(name)}: {step}", "agent") for name, (step, _) in agents]
            shown += [(f"  {_BOXES.get(state, '[ ]')} {text}", state) for text, state in items]
            return [*shown, (self._used(now, width, unicode), "used")]

    def _step(self, now: float, unicode: bool) -> str:
        frames = _SPINNER if unicode else _ASCII_SPINNER
        step, since = self._steps[""]
        spent = int(now - since)
        wait = self._wait
        limit = f" of {wait.limit:.0f} s at most" if wait and wait.limit else ""
        elapsed = f" ({spent} s{limit})" if spent or limit else ""
        enter = "; Enter skips it" if wait and wait.skippable else ""
        return f"{frames[int(now / _TICK) % len(frames)]} {step}{elapsed}{enter}"

    def _used(self, now: float, width: int, unicode: bool) -> str:
        """As much of it as fits, what matters most first."""
        minutes, seconds = divmod(int(now - self._begun), 60)
        parts = [f"{minutes}:{seconds:02d}", money(self._usd, 4), f"turn {self._turn}"]
        if self._most is not None:
            parts[1] += f" of {money(self._most)}"
        if self._turns is not None:
            parts[2] += f" of {self._turns}"
        parts.append(count_of(self._tokens, "token"))
        line = parts[0]
        for part in parts[1:]:
            longer = f"{line} · {part}" if unicode else f"{line} - {part}"
            if len(longer) > width:
                break
            line = longer
        return line


def _around(items: Sequence[tuple[str, str]], room: int) -> Sequence[tuple[str, str]]:
    """As many as there is room for, from the last completed one on."""
    if room <= 0:
        return ()
    if len(items) <= room:
        return items
    first_open = next((place for place, (_, state) in enumerate(items) if state != "completed"), 0)
    start = min(max(first_open - 1, 0), len(items) - room)
    return items[start : start + room]
