"""What is said of a run that a second Ctrl-C ended at once, and where what it had lies."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from bot.contracts.progress import View
from bot.run.folder import RunFolder
from bot.run.signals import CANCELLED, to_standard_error


def cut_off(
    folder: RunFolder,
    out: Path | None,
    view: View | None,
    name: str,
    besides: Callable[[], None] | None = None,
) -> Callable[[], None]:
    """What is left to do when every other process of the run is dead: `view` is told where what it had lies, standard
    error where there is none, with the program's `name`; then `besides`. A run that had nothing leaves nothing."""

    def do() -> None:
        text = told(folder, out, goes_on=name.endswith("fix"))
        if view is not None:
            view.cut_off(text)
        else:
            to_standard_error(f"{name}: {text}")
        if sys.stdout is not None:
            sys.stdout.flush()
        if besides is not None:
            besides()

    return do


def told(folder: RunFolder, out: Path | None, *, goes_on: bool) -> str:
    """In lines, the commands that take it up again by themselves. `goes_on`: `fix --continue` takes it."""
    if not folder.begun:
        folder.drop()
        return f"{CANCELLED}. It had not begun, and nothing of it is left."
    if not folder.has_tree:
        return f"{CANCELLED}. It had come to its end: what it did is in {out or folder.bundle}"
    root = shlex.quote(str(folder.root))
    lines = [f"{CANCELLED}. What it had is in {root}", f"its diff so far: slash-agent salvage {root}"]
    if goes_on:
        lines.append(f"to go on from it: slash-agent fix --continue {root}")
    return "\n".join(lines)
