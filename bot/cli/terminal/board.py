"""The live part of the display: the step, the to-do list and the usage of a run, as lines of text."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.cli.terminal.printer import SPINNER, one_line
from bot.contracts.formatting import count_of, money
from bot.contracts.journal import BudgetChanged, CallStarted, Header, Note, RequestSent, Result
from bot.contracts.messages import ToolCall
from bot.contracts.progress import Event, OutputEvent, WaitEvent, Written
from bot.report.calls import call_subject
from bot.verbs.record import TODO

_BOXES = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}
_TICK = 0.125
_MOST_AGENTS = 3
_MOST_ITEMS = 8

_THINKING = "the model is thinking"

Styled = tuple[str, str]
"""A line and the name of its style."""


@dataclass(slots=True)
class Board:
    """The live part: takes events, returns lines. Thread-safe; never calls out with its lock held. `clock` gives
    seconds."""

    clock: Callable[[], float]
    _started: float = 0.0
    _turn: int = 0
    _turns: int | None = None
    _usd: float = 0.0
    _most: float | None = None
    _tokens: int = 0
    _steps: dict[str, tuple[str, float]] = field(default_factory=dict)
    _items: tuple[tuple[str, str], ...] = ()
    _wait: WaitEvent | None = None
    _printed: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._started = self.clock()
        self._steps[""] = ("preparing", self._started)

    def take(self, event: Event) -> None:
        now = self.clock()
        with self._lock:
            match event:
                case Note(text):
                    self._begin(one_line(text), now)
                case WaitEvent(text):
                    self._begin(one_line(text), now)
                    self._wait = event
                case OutputEvent(line):
                    self._printed = one_line(line)
                case Written(Header(limits=limits)):
                    self._turns, self._most = limits.turns, limits.cost_usd
                case Written(RequestSent(turn=turn), agent=""):
                    self._turn, self._steps = turn, {}
                    self._begin(_THINKING, now)
                case Written(RequestSent(), agent=agent):
                    self._steps[agent] = (_THINKING, now)
                case Written(CallStarted(name=name), _, agent, call):
                    self._begin(one_line(f"{name} {call_subject(call)}"), now, agent)
                case Written(Result(), agent=agent) if agent:
                    self._steps[agent] = ("…", now)
                case Written(Result(name=name, is_error=False), call=call) if name == TODO and call:
                    self._items = _items_of(call) or self._items
                case Written(BudgetChanged() as used, agent=""):
                    self._usd, self._tokens = used.cost, used.usage.total
                    if self._steps[""][0] == _THINKING:  # its answer is here; what follows says so itself
                        self._steps[""] = ("working on the model's answer", now)
                case _:
                    pass

    def _begin(self, step: str, now: float, agent: str = "") -> None:
        self._steps[agent] = (step, now)
        if not agent:
            self._wait, self._printed = None, ""

    def lines(self, width: int, height: int) -> list[Styled]:
        """Return at most `height` lines that need no wrapping: the step, the list, the usage."""
        with self._lock:
            now = self.clock()
            rows = max(height - 2, 0)
            agents = [(name, step) for name, step in self._steps.items() if name][:_MOST_AGENTS][:rows]
            items = _visible_items(self._items, min(_MOST_ITEMS, rows - len(agents)))
            lines = [(self._step(now), "step")] if height > 1 else []
            if self._printed and rows > len(agents) + len(items):
                # Never at the place of a line of ours: what is waited for may print one that looks like it.
                lines.append((f"  │ {self._printed}", "used"))
            lines += [(f"  {one_line(name)}: {step}", "agent") for name, (step, _) in agents]
            lines += [(f"  {_BOXES.get(state, '[ ]')} {text}", state) for text, state in items]
            return [*lines, (self._used(now, width), "used")]

    def _step(self, now: float) -> str:
        step, since = self._steps[""]
        seconds = int(now - since)
        wait = self._wait
        limit = f", limit {wait.limit:.0f} s" if wait and wait.limit else ""
        elapsed = f" ({seconds} s{limit})" if seconds or limit else ""
        skip_hint = "; Enter skips it" if wait and wait.skippable else ""
        return f"{SPINNER[int(now / _TICK) % len(SPINNER)]} {step}{elapsed}{skip_hint}"

    def _used(self, now: float, width: int) -> str:
        """Return as much of the usage as fits, most important first."""
        minutes, seconds = divmod(int(now - self._started), 60)
        parts = [f"{minutes}:{seconds:02d}", money(self._usd, 4), f"turn {self._turn}"]
        if self._most is not None:
            parts[1] += f" of {money(self._most)}"
        if self._turns is not None:
            parts[2] += f" of {self._turns}"
        parts.append(count_of(self._tokens, "token"))
        line = parts[0]
        for part in parts[1:]:
            longer = f"{line} · {part}"
            if len(longer) > width:
                break
            line = longer
        return line


def _items_of(call: ToolCall) -> tuple[tuple[str, str], ...]:
    """Return the texts and states of the to-do list that the model gave; the tool has validated it."""
    try:
        items = json.loads(call.arguments)["items"]
        return tuple((one_line(str(item["text"])), str(item["status"])) for item in items)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()  # the toolbox mended the arguments; the next list will do


def _visible_items(items: Sequence[tuple[str, str]], rows: int) -> Sequence[tuple[str, str]]:
    """Return at most `rows` items, from the last completed one on."""
    if rows <= 0:
        return ()
    if len(items) <= rows:
        return items
    first_open = next((index for index, (_, state) in enumerate(items) if state != "completed"), 0)
    start = min(max(first_open - 1, 0), len(items) - rows)
    return items[start : start + rows]
