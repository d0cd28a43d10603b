"""A file of somebody's checkout, read, written or removed by a path that nobody vouches for: reached folder by folder
from the top, so that no link leads elsewhere, and never in a `.git`."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from bot.checkout.local import top_of
from bot.contracts.errors import AgentError, UsageError


class WorkTreeFile:
    """One file, there or not. A context manager. Raises `UsageError` for whatever is wrong with it."""

    def __init__(self, repo: Path, path: str) -> None:
        self._path = path
        self._parts = path.split("/")
        self._folder = -1
        self._top = top_of(repo)
        odd = any(part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in self._parts)
        if odd or (self._top / "HEAD").is_file():
            raise UsageError(f"{path} is no file of a work tree at {self._top}.")

    def __enter__(self) -> WorkTreeFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)

    def read(self) -> bytes | None:
        """What is there; `None` for nothing. Raises `UsageError` for what is no file."""
        folder = self._open(make=False)
        if folder is None:
            return None
        try:
            fd = os.open(self._parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failed(error) from error
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError(f"{self._path} is no regular file.")
            return file.read()

    def write(self, data: bytes, mode: int | None) -> None:
        folder = self._open(make=True)
        assert folder is not None
        name, beside = self._parts[-1], f".slash-agent-{os.urandom(8).hex()}.tmp"
        try:
            with contextlib.suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with open(os.open(beside, flags, 0o666, dir_fd=folder), "wb") as file:
                file.write(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode & 0o777)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise self._failed(error) from error

    def remove(self) -> None:
        folder = self._open(make=False)
        try:
            os.unlink(self._parts[-1], dir_fd=folder)
        except OSError as error:
            raise self._failed(error) from error

    def _open(self, *, make: bool) -> int | None:
        """The folder that the file is in; `None` where it is missing and not to be made."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        if self._folder >= 0:
            return self._folder
        folder = os.open(self._top, flags)
        try:
            for part in self._parts[:-1]:
                if make and not os.access(part, os.F_OK, dir_fd=folder):
                    os.mkdir(part, dir_fd=folder)
                below = os.open(part, flags, dir_fd=folder)
                os.close(folder)
                folder = below
        except FileNotFoundError:
            os.close(folder)
            return None
        except OSError as error:
            os.close(folder)
            raise self._failed(error) from error
        self._folder = folder
        return folder

    def _failed(self, error: OSError) -> AgentError:
        return UsageError(f"{self._path} cannot be restored in {self._top}: {error.strerror}.")
