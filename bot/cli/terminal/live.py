"""Display a run on a terminal: lines of finished calls, and below them the live part: the step, the to-do list and the
usage of the run."""

import os
import re
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Group
from rich.constrain import Constrain
from rich.live import Live
from rich.text import Text

from bot.cli.terminal.printer import one_line
from bot.cli.terminal.question import PlainConsole, ask
from bot.cli.terminal.viewer import Viewer, styled_lines
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import count_of, money
from bot.contracts.journal import BudgetChanged, CallStarted, Header, Note, RequestSent, Result
from bot.contracts.progress import BeginEvent, Event, Inquiry, OutputEvent, Reply, WaitEvent, Written
from bot.report.timeline import call_subject
from bot.verbs.record import TODO

_POLL = 0.3
"""Seconds after which it is seen that nothing can be skipped any more."""
_STYLES = {"step": "bold", "agent": "cyan", "used": "dim", "[x]": "dim", "[>]": "bold"}


class LiveViewer(Viewer):
    """Nothing else is printed during the run, since that would break the display.

    The live part is drawn below the printed lines, but not before the first event, so that a refusal is fast, nor
    during a question. `keyboard` is the terminal that a person types into, or `None`.
    """

    def __init__(self, stream: TextIO, keyboard: int | None = None, *, verbose: bool = False) -> None:
        super().__init__(self._ask_below if keyboard is not None else None)
        self.interrupted = self._print_at_once
        self._console = PlainConsole(stream)
        self._keyboard = keyboard
        self._verbose = verbose
        self._board = Board(time.monotonic)
        self._live: Live | None = None
        self._skip: Callable[[], None] | None = None
        self._typing: threading.Thread | None = None

    def tell(self, event: Event) -> None:
        if isinstance(event, BeginEvent):
            return
        self._board.take(event)
        with self._turn:
            if self._live is None:
                self._draw()
            for line, style in styled_lines(event, verbose=self._verbose):
                self._console.print_lines(line, style)

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

    def close(self) -> None:
        with self._turn:
            self._stop()

    def _print_last(self, text: str) -> None:
        self._stop()
        super()._print_last(text)

    def _print_at_once(self, text: str) -> None:
        """Not in turn: while somebody is asked, this is what ends the question."""
        self._console.print_lines(text if self._live is not None else f"\n{text}", "yellow")

    def _ask_below(self, inquiry: Inquiry, cancel: CancelToken) -> Reply:
        assert self._keyboard is not None
        self._stop()
        try:
            return ask(inquiry, cancel, self._console, self._keyboard)
        finally:
            self._draw()

    def _draw(self) -> None:
        self._live = Live(
            console=self._console,
            get_renderable=self._lines,
            refresh_per_second=5,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)

    def _stop(self) -> None:
        """Remove the live part; printed lines stay."""
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _lines(self) -> Constrain:
        lines = ((line, _STYLES.get(style, "")) for line, style in self._board.lines())
        rows = (Text(*line, no_wrap=True, overflow="ellipsis") for line in lines)
        # The last column stays free: some terminals go on to the next line when it is written to.
        return Constrain(Group(*rows), max(self._console.width - 1, 1))


_ITEM = re.compile(r"^\d+\. (\[[ >x]\] .+)$", re.MULTILINE)
"""An item in the result of the to-do tool."""
_SPINNER, _TICK = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", 0.125
_MOST_AGENTS = 3
_MOST_ITEMS = 8

_THINKING = "the model is thinking"


@dataclass
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
    _items: list[str] = field(default_factory=list)
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
                case Note(text) | WaitEvent(text):
                    self._begin(one_line(text), now)
                    self._wait = event if isinstance(event, WaitEvent) else None
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
                case Written(Result(name=name, content=content, is_error=False)) if name == TODO:
                    self._items = list(map(one_line, _ITEM.findall(content))) or self._items
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

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines, most important first, each with its style: the step, the usage, the list."""
        with self._lock:
            now = self.clock()
            # From the last completed item on.
            first_open = next((index for index, one in enumerate(self._items) if one[:3] != "[x]"), 0)
            items = self._items[max(first_open - 1, 0) :][:_MOST_ITEMS]
            agents = [(name, step) for name, (step, _) in self._steps.items() if name][:_MOST_AGENTS]
            # Behind a mark of its own: what is waited for may print a line that looks like one of ours.
            printed = [(f"  │ {self._printed}", "used")] if self._printed else []
            return [
                (self._step(now), "step"),
                *printed,
                (self._used(now), "used"),
                *((f"  {one_line(name)}: {step}", "agent") for name, step in agents),
                *((f"  {item}", item[:3]) for item in items),
            ]

    def _step(self, now: float) -> str:
        step, since = self._steps[""]
        seconds = int(now - since)
        wait = self._wait
        limit = f", limit {wait.limit:.0f} s" if wait and wait.limit else ""
        elapsed = f" ({seconds} s{limit})" if seconds or limit else ""
        skip_hint = "; Enter skips it" if wait and wait.skippable else ""
        return f"{_SPINNER[int(now / _TICK) % len(_SPINNER)]} {step}{elapsed}{skip_hint}"

    def _used(self, now: float) -> str:
        minutes, seconds = divmod(int(now - self._started), 60)
        most = f" of {money(self._most)}" if self._most is not None else ""
        turns = f" of {self._turns}" if self._turns is not None else ""
        usage_text = f"{money(self._usd, 4)}{most} · turn {self._turn}{turns}"
        return f"{minutes}:{seconds:02d} · {usage_text} · {count_of(self._tokens, 'token')}"
