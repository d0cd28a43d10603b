"""Several files changed wholly or not at all: everything is prepared, then put in place, deletions last; where one step
fails those before it are undone. What the steps do to a disk is the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Step:
    """One file. `before` is its bytes now, `None` for absent; `after` what it is to hold, `None` for deleted.

    `mode` is the permission bits of a file that is made; `None` for what new files get.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None = None


class Prepared(Protocol):
    """A step that is ready. `put` makes it seen, `undo` unseen again; `done` clears away what neither needed."""

    def put(self) -> None: ...
    def undo(self) -> None: ...
    def done(self) -> None: ...


class FileSystem(Protocol):
    """Where steps are carried out. All of it raises `OSError`, and leaves the step's file as it was when it does."""

    def prepare(self, step: Step) -> Prepared: ...


class StepFailed(Exception):
    """The step for `path` failed with `error`. `torn` are files that could not be brought back to what they were."""

    def __init__(self, path: Path, error: OSError, torn: Sequence[Path]) -> None:
        super().__init__(f"{path}: {error}")
        self.path = path
        self.error = error
        self.torn = tuple(torn)


def carry_out(steps: Sequence[Step], disk: FileSystem) -> None:
    """Do all the steps. Raises `StepFailed` with none done."""
    ordered = sorted(steps, key=lambda step: step.after is None)  # stable: deletions last, else as they came
    ready: list[tuple[Step, Prepared]] = []
    put: list[tuple[Step, Prepared]] = []
    step = ordered[0]
    try:
        for step in ordered:
            ready.append((step, disk.prepare(step)))
        for step, prepared in ready:
            prepared.put()
            put.append((step, prepared))
    except OSError as error:
        raise StepFailed(step.path, error, _undone(put)) from None
    except BaseException:
        _undone(put)
        raise
    finally:
        for _, prepared in reversed(ready):
            prepared.done()


def _undone(put: Sequence[tuple[Step, Prepared]]) -> list[Path]:
    """Undo the newest first; the files where that failed."""
    torn: list[Path] = []
    for step, prepared in reversed(put):
        try:
            prepared.undo()
        except OSError:
            torn.append(step.path)
    return torn
