"""What every tool is given. One context a workshop; tools keep no state of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.workshop.host.background import Jobs
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.disk_use import DiskUse
from bot.workshop.host.folder_note import FolderNote
from bot.workshop.host.history import History
from bot.workshop.host.keepers import Keepers
from bot.workshop.host.known_files import KnownFiles
from bot.workshop.host.limits import limits
from bot.workshop.host.transaction import FileSystem
from bot.workshop.host.watchdog import Watchdog
from bot.workshop.host.writing import Disk

if TYPE_CHECKING:
    from bot.workshop.host.records import Records


class ToolFailure(Exception):
    """A tool cannot do what was asked. The message goes to the model as an error result: what happened, to
    what, and the next step that would work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The supervisor's answer to a permission question. `reason` goes to the model when `allow` is false."""

    allow: bool
    reason: str = ""


Ask = Callable[[str, Sequence[tuple[str, str]], str], Answer]
"""`ask(tool, files, diff)`: one question for all that a call would do. `files` are pairs of a path relative to the root
and an action: "create", "change" or "delete"."""


@dataclass(slots=True)
class Context:
    """`root` is the work tree, `real_root` the same after all links; `tmp`, `spill` and the folder of `history` lie
    outside it and may be written. `readable` are folders of others that may be read, and no more: the skills.

    `programs` are those of ours that may be run, by name: where each is seen.

    `seq` numbers the call that is running, for spill files; `cancelled` is set when it should stop at once.
    `busy` is for a command to call, the one call that is taken to be short, when it takes a while.
    `echo`, where there is one, takes the last line of a command's output while it runs.
    `failed` counts, by path, the tries to change a file that failed since the last that did not.
    """

    root: Path
    tmp: Path
    spill: Path
    environment: Mapping[str, str]
    ask: Ask
    records: Records
    history: History
    assume_read: bool = False
    readable: tuple[Path, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    seq: int = 0
    cwd: Path | None = None
    cancelled: Cancellation = field(default_factory=Cancellation)
    disk: FileSystem = field(default_factory=Disk)
    failed: dict[Path, int] = field(default_factory=dict)
    keepers: Keepers = field(default_factory=lambda: Keepers(limits({})))
    busy: Callable[[], None] = lambda: None
    echo: Callable[[str], None] | None = None
    jobs: Jobs = field(init=False)
    files: KnownFiles = field(init=False)
    folder_note: FolderNote = field(init=False)
    real_root: str = field(init=False)
    _disk_use: DiskUse | None = None

    def __post_init__(self) -> None:
        self.real_root = os.path.realpath(self.root)
        self.files = KnownFiles(self.root, self.tmp, self.cancelled)
        self.jobs = Jobs(self.keepers)
        self.folder_note = FolderNote(self.tmp)

    def watchdog(self) -> Watchdog:
        """Who looks after the command that is started next."""
        if self._disk_use is None:
            self._disk_use = DiskUse((self.root, self.tmp), self.keepers.limits.disk)
        return Watchdog(self.keepers.limits, self._disk_use)
