"""The context that every tool gets, one for a workspace, and which files the model was shown. Tools keep no state of
their own."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.contracts.tools import Answer
from bot.toolhost.listing import scratch_repository
from bot.toolhost.open_watch import OpenWatch
from bot.toolhost.process_monitor import ProcessMonitor
from bot.toolhost.programs import Cancellation
from bot.toolhost.resource_limits import effective_limits
from bot.toolhost.shell import Job

Ask = Callable[[str, Sequence[tuple[str, str]], str], Answer]
"""`ask(tool, files, diff)`: one question for all that a call would do. `files` are pairs of a path relative to the root
and an action: "create", "change" or "delete"."""


class Records:
    """Which files the model was shown in this run, in which bytes, by their paths after all links. A view, an own
    write, and a search or a command that names the file all count. They are logged in `folder`, so that a new tool
    host of the same run knows them."""

    def __init__(self, folder: Path | None = None) -> None:
        self._log = folder / "shown.jsonl" if folder else None
        self._shown: dict[Path, str | None] = {}
        if self._log is not None:
            with contextlib.suppress(FileNotFoundError):
                for line in self._log.read_text("utf-8", "surrogateescape").splitlines():
                    with contextlib.suppress(ValueError, TypeError):  # commands can write in the folder
                        path, self._shown[Path(path)] = json.loads(line)

    def get(self, path: Path) -> str | None:
        """The hash of the file's bytes as last shown, empty if only a search or a command showed it; `None` if nothing
        of it was shown."""
        return self._shown.get(path)

    def show(self, path: Path, sha256: str | None) -> None:
        """Record a view of a file with this hash, or a write by the model; `None` forgets a file that is gone."""
        self._shown[path] = sha256
        if self._log is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with (
            contextlib.suppress(OSError),  # a full disk: a new host asks for another view then
            open(os.open(self._log, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as log,
        ):
            log.write(f"{json.dumps([str(path), sha256])}\n")

    def mention(self, path: Path) -> None:
        """Record that something of a file was shown, in bytes that are not known."""
        if self.get(path) is None:
            self.show(path, "")


@dataclass(eq=False, kw_only=True)
class Context:
    """`root` is the work tree, `real_root` the same after all links; `tmp` and `spill` lie outside it and are writable.
    `readable` are further folders that may only be read: the skills. `programs` are the paths of our own programs
    inside, by name.

    `jobs` are the background commands. `seq` numbers the running call, for spill files; `cancelled` is set when it
    should stop at once. `echo`, if set, receives the last line of a command's output while it runs. `originals` are the
    files that tools changed as they were before, by name.
    """

    root: Path
    tmp: Path
    spill: Path
    environment: Mapping[str, str]
    ask: Ask
    records: Records
    assume_read: bool = False
    readable: tuple[Path, ...] = ()
    programs: Mapping[str, str] = field(default_factory=dict)
    monitor: ProcessMonitor = field(default_factory=lambda: ProcessMonitor(effective_limits({})))

    def __post_init__(self) -> None:
        self.seq = 0
        self.cwd: Path | None = None
        self.cancelled = Cancellation()
        self.originals: dict[str, bytes | None] = {}
        self.echo: Callable[[str], None] | None = None
        self.real_root = os.path.realpath(self.root)
        self.jobs: list[Job] = []
        self.watch: OpenWatch | None = None
        self.monitor.folders = (self.root, self.tmp)

    def files(self, below: str = "") -> list[str]:
        """The files of the work tree that are not ignored, as a `ScratchRepository` lists them. Raises `OSError`."""
        with scratch_repository(self.root, self.tmp, self.cancelled) as git:
            return git.files(below)

    def running_jobs(self) -> list[Job]:
        return [job for job in self.jobs if job.runs]

    @contextlib.contextmanager
    def file_for_a_command(self) -> Iterator[tuple[str, int]]:
        """Yield the path of a new file in which a command writes, and a descriptor to read it, since commands can
        replace it; the null device and -1 if there is no room: commands must run on a full disk too."""
        path, descriptor = f"{self.tmp}/.of-command-{os.urandom(8).hex()}", -1
        try:
            with contextlib.suppress(OSError):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            yield (path if descriptor >= 0 else os.devnull), descriptor
        finally:
            if descriptor >= 0:
                os.close(descriptor)
                with contextlib.suppress(OSError):
                    os.unlink(path)
