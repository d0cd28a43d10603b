"""The folder of one run: its layout, its lock and its removal. It outlives a crash.

A finished run has lost its work tree (`RunFolder.finish`); of its folder only the bundle and the journal are kept, and
a process of its own removes the rest (`RunFolder.tidy`). The work tree of a run that died stays, for `salvage`.
"""

import errno
import fcntl
import json
import os
import pwd
import stat
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.checkout.host_programs import find_host_program
from bot.contracts.errors import AgentError
from bot.contracts.regular_files import FOLDER, read_regular


class RunFolder:
    """`root` holds everything of one run. Only `workspace*`, the trees and `setup_output` are ever visible inside a
    sandbox. `history` is the checkout of the run, if its policy asks for more of the history; `skills` are those that
    the model loaded, shown read-only inside the agent's workspace. `prepared` is the tree that `bring:` and `setup:`
    were done in, where there were any, `setup_output` its files that git does not track, less the folders of
    packages."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.journal = root / "journal.jsonl"
        self.facts = root / "run.json"
        self.bundle = root / "bundle"
        self.tree = root / "tree"
        self.history = root / "history"
        self.skills = root / "skills"
        self.prepared = root / "tree-prepared"
        self.setup_output = root / "setup-output"
        self._record = root / "prepared.json"

    @property
    def has_tree(self) -> bool:
        """Whether the work tree is still there."""
        return self.tree.is_dir() and not self.tree.is_symlink()

    def keep_header(self) -> None:
        """A second copy of the journal's first line, for `salvage` of a run whose journal is damaged. On a full disk
        there is none."""
        with suppress(OSError), self.journal.open("rb") as file:
            self.facts.write_bytes(file.readline())

    def write_prepared(self, links: Mapping[str, str], setup_files: Collection[str]) -> None:
        """Record which links in the work tree are ours and which files setup made, for `salvage`."""
        if links or setup_files:
            whole = self.root / "prepared.json.new"
            whole.write_text(json.dumps({"links": dict(links), "made": sorted(setup_files)}))
            whole.replace(self._record)

    def read_prepared(self) -> tuple[Mapping[str, str], frozenset[str], str]:
        """Return the links and the files that setup made, and a note if the record is damaged."""
        try:
            recorded = json.loads(read_regular(self._record, _LARGEST_RECORD))
            links, made = dict(recorded["links"]), frozenset(recorded["made"])
            if all(isinstance(text, str) for text in (*links, *links.values(), *made)):
                return links, made, ""
        except FileNotFoundError:
            return {}, frozenset(), ""
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            pass
        return {}, frozenset(), _NO_RECORD

    @property
    def archive(self) -> Path:
        """Files for the model to look up; shown read-only inside the agent's workspace."""
        folder = self.root / "archive"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def workspace(self, name: str) -> Path:
        """The folder for one workspace's `tmp` and `spill`; there already where that one did not start."""
        folder = self.root / f"workspace-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def home(self, name: str) -> Path:
        """The HOME of the commands of that workspace."""
        return self.workspace(name) / "tmp" / "home"

    @property
    def begun(self) -> bool:
        """Whether the journal holds anything: without it there is nothing to salvage or report."""
        return _is_regular(self.journal) and self.journal.stat().st_size > 0

    @property
    def is_run(self) -> bool:
        """Whether a run made this folder, by its journal, that of its bundle, or `run.json`. No other folder is ever
        removed."""
        return any(map(_is_regular, (self.journal, self.bundle / self.journal.name, self.facts)))

    def finish(self) -> None:
        """The result is written: rename the work tree, so that half of it is never taken for what the run made."""
        for whole in (self.tree, self.history):
            with suppress(FileNotFoundError):
                whole.rename(self.root / f"{_ASIDE}{whole.name}")

    def tidy(self) -> None:
        """The run is over: begin to remove what is no longer needed, in a process that outlives this one. Of a finished
        run all folders but the bundle are removed, of another one those that `salvage` does not need, and of a run that
        had not begun everything."""
        with suppress(OSError):  # then `slash-agent clean` removes it
            if not self.begun and not _is_regular(self.facts):  # somebody may have removed the journal
                self.drop()
                return
            self._set_aside()
            nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
            argv = _removal(*map(str, self.root.glob(f"{_ASIDE}*")))
            os.posix_spawn(argv[0], argv, {}, file_actions=nowhere, setsid=True)

    def _set_aside(self) -> None:
        """Rename the folders that are no longer needed, which takes no time."""
        needed = _FOR_SALVAGE if self.has_tree else (self.bundle.name,)
        prefixes = ("workspace-agent-", _ASIDE) if self.has_tree else _ASIDE
        for entry in self.root.iterdir():
            unneeded = entry.name not in needed and not entry.name.startswith(prefixes)
            if unneeded and entry.is_dir() and not entry.is_symlink():
                entry.rename(self.root / f"{_ASIDE}{entry.name}")

    def clear(self) -> None:
        """Remove everything in it, folders first: without its journal the rest would not be known as a run's."""
        self.finish()  # half a work tree must not be taken for what the run made
        for is_folder in (True, False):
            for entry in [*self.root.iterdir()]:
                if (entry.is_dir() and not entry.is_symlink()) is is_folder:
                    remove_tree(entry) if is_folder else entry.unlink(missing_ok=True)

    def drop(self) -> None:
        """Remove all of it."""
        with suppress(FileNotFoundError):
            self.clear()
        remove_tree(self.root)


_ASIDE = "gone-"
_LARGEST_RECORD = 64 << 20
_NO_RECORD = (
    "The record of what `setup:` made (prepared.json) cannot be read, so such files may be among the changes."
)
_FOR_SALVAGE = ("tree", "history", "trusted.git", "bundle", "archive")


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def new_folder(environment: Mapping[str, str]) -> RunFolder:
    """A fresh run folder: under the runner's temp folder in Actions, else under the user's state folder."""

    parent = parent_folder(environment)
    try:
        for folder in _own_levels(parent):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_private(parent)
        root = tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-", time.gmtime()), dir=parent)
    except OSError as error:
        raise AgentError(
            f"No run folder can be made under {parent}: {error.strerror}. "
            "Set XDG_STATE_HOME to a folder that can be written."
        ) from error
    return RunFolder(Path(root).resolve())


def parent_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which run folders are made, never one that users share. Raises `AgentError` if this user
    has none."""
    if runner_temp := environment.get("RUNNER_TEMP"):
        return Path(runner_temp) / "slash-agent"
    state = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(_home(environment), ".local", "state")
    return Path(state) / "slash-agent" / "runs"


def _home(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME", "")
    if not os.path.isabs(home):
        with suppress(KeyError):
            home = pwd.getpwuid(os.geteuid()).pw_dir
    if not os.path.isabs(home):
        raise AgentError(
            "There is no folder for runs: HOME is not set, and this user has no home in the password database. "
            "Set XDG_STATE_HOME to a folder of your own."
        )
    return home


def _own_levels(parent: Path) -> tuple[Path, ...]:
    return (parent.parent, parent) if parent.name == "runs" else (parent,)


def check_private(parent: Path) -> None:
    """Raise `AgentError` if another user could replace a run's folder in `parent`. A missing folder is private."""
    for folder in _own_levels(parent):
        try:
            status = folder.lstat()
        except FileNotFoundError:
            return
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise AgentError(
                f"Runs are not kept in {folder}: it is a link, belongs to another user, or can be written by others. "
                "Correct that, or set XDG_STATE_HOME to a folder of your own."
            )


_REMOVE = 'rm -rf -- "$@" 2>/dev/null || { chmod -R u+rwx -- "$@"; rm -rf -- "$@"; }'
"""Removes folders that commands wrote in, even closed or very deeply nested ones: `shutil.rmtree` calls itself for each
level."""


def _removal(*folders: str) -> list[str]:
    return [find_host_program("sh") or "/bin/sh", "-c", _REMOVE, "sh", *folders]


def remove_tree(folder: Path) -> None:
    """Remove a folder that commands wrote in. No process of the workspace may be alive. Raises `OSError`."""
    # By its name there: its parent may be a descriptor of this process.
    argv, parent = _removal(f"./{folder.name}"), folder.parent
    ran = subprocess.run(argv, cwd=parent, env={}, stderr=subprocess.PIPE, text=True, check=False)
    if os.path.lexists(folder):
        failure = (ran.stderr.splitlines() or [""])[-1]
        raise OSError(errno.ENOTEMPTY, f"it could not be removed: {failure}", str(folder))


class FolderBusy(AgentError):
    """Another run has the folder."""


@contextmanager
def lock_folder(root: Path) -> Iterator[int]:
    """Hold the lock of the run folder `root`, one run at a time, and yield its descriptor. Raises `FolderBusy`.

    The kernel's lock on the folder itself: it dies with the process, leaves no file, and no child inherits it.
    """
    descriptor = os.open(root, FOLDER)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            busy = f"busy: another run uses {root}. Wait until it ends, or stop it, and try again."
            raise FolderBusy(busy) from error
        yield descriptor
    finally:
        os.close(descriptor)


def is_busy(folder: RunFolder) -> bool:
    """Whether a process works in it now."""
    try:
        with lock_folder(folder.root):
            return False
    except FolderBusy:
        return True


def remove_run(folder: RunFolder, *, finished: bool) -> bool:
    """Remove all of a run; with `finished` only if its work tree is gone. `False` if it stays. Raises `OSError`."""
    with suppress(FolderBusy), lock_folder(folder.root) as descriptor:
        # Whatever is at its path by now.
        opened = RunFolder(Path(f"/proc/self/fd/{descriptor}"))
        is_own = opened.is_run and os.fstat(descriptor).st_uid == os.geteuid()
        if is_own and not (finished and opened.has_tree):
            opened.clear()
            os.rmdir(folder.root)
            return True
    return False


def size_of(root: Path) -> int:
    """Bytes on the disk, without what links lead to."""
    total, ahead = 0, [root]
    while ahead:
        with suppress(OSError), os.scandir(ahead.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        ahead.append(Path(entry.path))
    return total
