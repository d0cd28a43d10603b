"""How a command ended, in words for the model."""

from __future__ import annotations

import re

from bot.contracts.wording import signal_name
from bot.workshop.host import limit_words
from bot.workshop.host.shell import Ended
from bot.workshop.host.specs import MAX_TIMEOUT

_SILENT = 30.0
"""Seconds without output from which on a command may hang."""

_FILTER = re.compile(r"\|&?\s*(tail|grep|egrep|rg|sort|uniq|wc)\b")
"""What a command's output goes into and stays in, all of it or a buffer full, until the command ends."""

_SHOWN = 60
_LONGER = f"Give a longer timeout (at most {MAX_TIMEOUT} s), do less in one call, or start it with background"
_LONGER_THERE = (
    f"Start it again with a longer timeout (at most {MAX_TIMEOUT} s), or with none: nothing limits it then"
)


def ending(ended: Ended, timeout: float, command: str = "", background: int = 0) -> list[str]:
    """One sentence each. `background` is the id of a command that ran there."""
    notes: list[str] = []
    if ended.cancelled:
        notes.append("cancelled: the command and all its processes were killed")
    elif ended.timed_out:
        notes.append(
            f"timed out after {timeout:g} s: the command and all its processes were killed{_while_running(ended)}; "
            f"what it printed is {_where(background)}"
            f"{silence(ended.quiet, ', and it printed nothing', command)}. "
            f"{_LONGER_THERE if background else _LONGER}"
        )
    elif ended.limit is not None:
        notes.append(
            f"{limit_words.stopped(ended.limit)}, which is the limit here: the command and all its processes were "
            f"killed{_while_running(ended)}; what it printed is {_where(background)}. "
            f"{limit_words.next_step(ended.limit.name)}"
        )
    elif ended.exit_code < 0:
        notes.append(f"killed by {signal_name(-ended.exit_code)}")
    else:
        notes.append(f"exit code {ended.exit_code}")
    if ended.swept and not ended.stopped:
        left = "1 process was" if ended.swept == 1 else f"{ended.swept} processes were"
        notes.append(f"{left} still running in the background and {left.split()[-1]} stopped")
    return notes


def silence(seconds: float, words: str, command: str = "") -> str:
    """That nothing came for so many seconds that it may hang; empty where they are few."""
    if seconds < _SILENT:
        return ""
    if (found := _FILTER.search(command)) is not None:
        return (
            f"{words} for {seconds:.0f} s, probably since `| {found[1]}` holds the output back until the end: leave it "
            "out, long output is shortened here anyway"
        )
    return f"{words} for {seconds:.0f} s: it may hang, or wait for input, of which there is none"


def on_one_line(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def _where(background: int) -> str:
    return f'shown by bash_output {{"id": {background}, "offset": 1}}' if background else "above"


def _while_running(ended: Ended) -> str:
    return f" while these ran: {', '.join(ended.running)}" if ended.running else ""
