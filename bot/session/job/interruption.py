"""Where an interrupted run left its work, and the commands that continue it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.contracts.errors import AgentError
from bot.contracts.progress import View
from bot.session.progress.signals import CANCELLED, to_standard_error
from bot.session.run_folder import RunFolder


def cut_off(
    folder: RunFolder,
    out: Path | None,
    view: View | None,
    name: str,
    then: Callable[[], None] | None = None,
) -> Callable[[], None]:
    """What is left to do when every other process of the run is dead: `view` is told where what it had lies, standard
    error where there is none, with the program's `name`; then `then`. A run that had nothing leaves nothing."""

    def report() -> None:
        text = interruption_text(folder, out, goes_on=name.endswith("fix"))
        if view is not None:
            view.cut_off(text)
        else:
            to_standard_error(f"{name}: {text}")
        if sys.stdout is not None:
            sys.stdout.flush()
        if then is not None:
            then()

    return report


def interruption_text(folder: RunFolder, out: Path | None, *, goes_on: bool) -> str:
    """The lines for a person: where the work is, and the commands that continue it. `goes_on`: `fix --continue` can."""
    if not folder.begun:
        folder.drop()
        return f"{CANCELLED}. It had not begun, and nothing of it is left."
    if not folder.has_tree:
        return f"{CANCELLED}. It had come to its end: what it did is in {out or folder.bundle}"
    rows = recovery_commands(folder, goes_on=goes_on)
    return "\n".join(
        [f"{CANCELLED}. What it had is in {folder.root}", *(f"{label}: {text}" for label, text in rows)]
    )


def recovery_commands(folder: RunFolder, *, goes_on: bool) -> tuple[tuple[str, str], ...]:
    """Labels with a command each, for a run whose work tree still exists. `goes_on`: `fix --continue` can continue
    it."""
    root = shlex.quote(str(folder.root))
    rows = (
        ("its diff", f"slash-agent salvage {root}"),
        ("go on", f"slash-agent fix --continue {root}"),
    )
    return rows if goes_on else rows[:1]


@contextmanager
def note_work_on_error(folder: RunFolder, *, goes_on: bool) -> Iterator[None]:
    """Add notes to an error that ends the run: where its work is. The command line prints them last."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FileNotFoundError) and not folder.root.is_dir():
            raise AgentError(
                f"The run's folder {folder.root} was removed while the run was at work; nothing of it is left."
            ) from error
        if folder.has_tree and (folder.begun or folder.facts.is_file()):
            error.add_note(f"The work so far is in {folder.root}")
            for label, text in recovery_commands(folder, goes_on=goes_on):
                error.add_note(f"{label}: {text}")
        raise
