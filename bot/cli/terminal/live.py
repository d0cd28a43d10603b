"""Display a run on a terminal: lines of finished calls, below them the live step, to-do list and usage (`Board`)."""

from __future__ import annotations

import io
import os
import select
import textwrap
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO, cast

from bot.cli.terminal.printer import one_line
from bot.cli.terminal.viewer import UNDER, Viewer, plain_lines
from bot.contracts.formatting import count_of, money
from bot.contracts.progress import (
    BeginEvent,
    CallEvent,
    CancelSignal,
    Event,
    Inquiry,
    NoteEvent,
    OutputEvent,
    Reply,
    RequestEvent,
    ResultEvent,
    StartEvent,
    TextEvent,
    TodoEvent,
    UsageEvent,
    WaitEvent,
)

if TYPE_CHECKING:
    from bot.cli.terminal.screen import Screen


_POLL = 0.3
"""Seconds after which it is seen that nothing can be skipped any more."""


class LiveViewer(Viewer):
    """All output during the run goes through it, since other output would break the display.

    Nothing is drawn before the first event, so that a refusal is fast, nor during a question, which is printed below
    the lines. `keyboard` is the terminal that a person types into, or `None`.
    """

    def __init__(
        self,
        stream: TextIO,
        keyboard: int | None = None,
        *,
        verbose: bool = False,
    ) -> None:
        super().__init__(self._ask_below if keyboard is not None else None)
        self.interrupted = self._print_at_once
        self._stream = stream
        self._keyboard = keyboard
        self._verbose = verbose
        self._board = Board(time.monotonic)
        self._screen: Screen | None = None
        self._skip: Callable[[], None] | None = None
        self._typing: threading.Thread | None = None

    def tell(self, event: Event) -> None:
        if isinstance(event, BeginEvent):
            return
        self._board.take(event)
        with self._turn:
            screen = self._open_screen()
            for line in plain_lines(event, verbose=self._verbose):
                for row in _rows(event, line, screen.console.width - 1):
                    screen.print(row, _style(event, line))

    def on_enter(self, skip: Callable[[], None] | None) -> None:
        self._skip = skip
        if skip is not None and self._keyboard is not None and self._typing is None:
            self._typing = threading.Thread(target=self._read_keys, name="keyboard", daemon=True)
            self._typing.start()

    def _read_keys(self) -> None:
        """Read keys until nothing can be skipped, so that later input goes to the next reader."""
        assert self._keyboard is not None
        with suppress(OSError, ValueError):  # the terminal is gone
            while (skip := self._skip) is not None:
                ready, _, _ = select.select([self._keyboard], [], [], _POLL)
                if ready and self._skip is skip:
                    if not os.read(self._keyboard, 1_000):
                        break
                    skip()
        self._typing = None

    def stream(self, out: TextIO) -> TextIO:
        return cast(TextIO, _Above(self, out)) if out.isatty() else out

    def close(self) -> None:
        with self._turn:
            if self._screen is not None:
                self._screen.stop()

    def _print_last(self, text: str) -> None:
        if self._screen is not None:
            self._screen.stop()
        super()._print_last(text)

    def above(self, out: TextIO, line: str) -> None:
        """Print a line for `out`, which is this terminal, above the live part."""
        with self._turn:
            if self._screen is not None and self._screen.drawn:
                self._screen.print(line)
            else:
                out.write(f"{line}\n")
                out.flush()

    def _open_screen(self) -> Screen:
        if self._screen is None:
            from bot.cli.terminal.screen import Screen

            self._screen = Screen(self._stream, self._board)
            self._screen.draw()
        return self._screen

    def _print_at_once(self, text: str) -> None:
        # Not in turn: while somebody is asked, this is what ends the question.
        screen = self._screen
        if screen is None:
            self._stream.write(f"{text}\n")
        else:
            screen.print(text if screen.drawn else f"\n{text}", "yellow")

    def _ask_below(self, inquiry: Inquiry, cancel: CancelSignal) -> Reply:
        from bot.cli.terminal.question import ask

        assert self._keyboard is not None
        screen = self._open_screen()
        screen.stop()
        try:
            return ask(inquiry, cancel, screen.console, self._keyboard)
        finally:
            screen.draw()


def _rows(event: Event, line: str, width: int) -> list[str]:
    """The rows of `line`: sentences are wrapped at words, other lines are left to the terminal."""
    if not isinstance(event, (NoteEvent, TextEvent)) or len(line) <= width:
        return [line]
    return textwrap.wrap(line, max(width, 20), subsequent_indent="     ", break_on_hyphens=False)


def _style(event: Event, line: str) -> str:
    if isinstance(event, ResultEvent) and line.startswith(UNDER):
        return "dim"
    if isinstance(event, ResultEvent):
        return "red" if event.failed else ""
    if isinstance(event, TextEvent):
        return "bold"
    return "dim" if isinstance(event, NoteEvent | WaitEvent) else ""


class _Above(io.TextIOBase):
    """Standard output, which is the same terminal: whole lines of it go above what is drawn. `print` writes a line and
    its end separately, so each thread has a partial line of its own."""

    def __init__(self, viewer: LiveViewer, out: TextIO) -> None:
        self._viewer = viewer
        self._out = out
        self._begun = threading.local()

    def write(self, text: str) -> int:
        *whole, self._begun.text = (getattr(self._begun, "text", "") + text).split("\n")
        for line in whole:
            self._viewer.above(self._out, line)
        return len(text)

    def isatty(self) -> bool:
        return True


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
            if isinstance(event, RequestEvent | CallEvent | NoteEvent | WaitEvent) and not getattr(
                event, "agent", ""
            ):
                self._wait, self._printed = None, ""
            match event:
                case StartEvent():
                    self._turns, self._most = event.turns, event.usd
                case RequestEvent(turn, agent):
                    self._steps[agent] = (_THINKING, now)
                    if not agent:
                        self._turn = turn
                        self._steps = {"": self._steps[""]}
                case CallEvent():
                    self._steps[event.agent] = (one_line(f"{event.tool} {event.subject}"), now)
                case ResultEvent() if event.agent:
                    self._steps[event.agent] = ("…", now)
                case NoteEvent(text):
                    self._steps[""] = (one_line(text), now)
                case WaitEvent(text):
                    self._steps[""], self._wait = (one_line(text), now), event
                case OutputEvent(line):
                    self._printed = one_line(line)
                case TodoEvent(items):
                    self._items = tuple((one_line(text), state) for text, state in items)
                case UsageEvent():
                    self._usd, self._tokens = event.usd, event.tokens
                    if self._steps[""][0] == _THINKING:  # its answer is here; what follows says so itself
                        self._steps[""] = ("working on the model's answer", now)
                case _:
                    pass

    def lines(self, width: int, height: int, *, unicode: bool = True) -> list[Styled]:
        """Return at most `height` lines that need no wrapping: the step, the list, the usage."""
        with self._lock:
            now = self.clock()
            rows = max(height - 2, 0)
            agents = [(name, step) for name, step in self._steps.items() if name][:_MOST_AGENTS][:rows]
            items = _visible_items(self._items, min(_MOST_ITEMS, rows - len(agents)))
            lines = [(self._step(now, unicode), "step")] if height > 1 else []
            if self._printed and rows > len(agents) + len(items):
                # Never at the place of a line of ours: what is waited for may print one that looks like it.
                lines.append((f"  {'│' if unicode else '|'} {self._printed}", "used"))
            lines += [(f"  {one_line(name)}: {step}", "agent") for name, (step, _) in agents]
            lines += [(f"  {_BOXES.get(state, '[ ]')} {text}", state) for text, state in items]
            return [*lines, (self._used(now, width, unicode), "used")]

    def _step(self, now: float, unicode: bool) -> str:
        frames = _SPINNER if unicode else _ASCII_SPINNER
        step, since = self._steps[""]
        seconds = int(now - since)
        wait = self._wait
        limit = f" of {wait.limit:.0f} s at most" if wait and wait.limit else ""
        elapsed = f" ({seconds} s{limit})" if seconds or limit else ""
        skip_hint = "; Enter skips it" if wait and wait.skippable else ""
        return f"{frames[int(now / _TICK) % len(frames)]} {step}{elapsed}{skip_hint}"

    def _used(self, now: float, width: int, unicode: bool) -> str:
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
            longer = f"{line} · {part}" if unicode else f"{line} - {part}"
            if len(longer) > width:
                break
            line = longer
        return line


def _visible_items(items: Sequence[tuple[str, str]], rows: int) -> Sequence[tuple[str, str]]:
    """Return at most `rows` items, from the last completed one on."""
    if rows <= 0:
        return ()
    if len(items) <= rows:
        return items
    first_open = next((index for index, (_, state) in enumerate(items) if state != "completed"), 0)
    start = min(max(first_open - 1, 0), len(items) - rows)
    return items[start : start + rows]
