"""Where the work of a run lies that did not come to its result, and the commands that take it up."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import UsageError
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
    rows = take_up(folder, goes_on=goes_on)
    return "\n".join(
        [f"{CANCELLED}. What it had is in {folder.root}", *(f"{label}: {text}" for label, text in rows)]
    )


def take_up(folder: RunFolder, *, goes_on: bool) -> tuple[tuple[str, str], ...]:
    """Labels with a command each, for a run whose work tree is kept. `goes_on`: `fix --continue` takes it."""
    root = shlex.quote(str(folder.root))
    rows = (
        ("its diff", f"slash-agent salvage {root}"),
        ("go on", f"slash-agent fix --continue {root}"),
    )
    return rows if goes_on else rows[:1]


@contextmanager
def names_the_work(folder: RunFolder, *, goes_on: bool) -> Iterator[None]:
    """An error that ends the run says where its work lies, in a note that the command line prints last."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not folder.root.is_dir():
            raise UsageError(
                f"The run's folder {folder.root} was removed while the run was at work; nothing of it is left."
            ) from error
        if folder.has_tree and (folder.begun or folder.facts.is_file()):
            error.add_note(f"The work so far is in {folder.root}")
            for label, text in take_up(folder, goes_on=goes_on):
                error.add_note(f"{label}: {text}")
        raise
