"""Read files of the work tree for the tools: regular files only, up to a limit, with errors that tell the model what
is there instead."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.toolhost.context import Context, ToolFailure
from bot.toolhost.paths import display_name, failure, relative
from bot.toolhost.text import NotTextError, Text, decode, to_lf

LARGE = 64 * 1024 * 1024
"""Bytes over which a file is only viewed in pieces: never hashed, never edited."""

_SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A whole text file. `lf` is its text with line feeds, as a view numbers it."""

    path: Path
    name: str
    data: bytes
    sha256: str
    text: Text
    lf: str


@contextmanager
def opened(context: Context, path: Path, raw_path: str) -> Iterator[tuple[int, os.stat_result]]:
    """A descriptor of the regular file `path` and its status. `raw_path` is the name the model gave, for messages.

    Without O_NONBLOCK, opening a named pipe would wait for a writer.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        raise missing(context, path, raw_path) from None
    except OSError as error:
        raise _special(path, raw_path) or failure(error, display_name(raw_path)) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _special(path, raw_path) or ToolFailure(
                f"{display_name(raw_path)} is not a regular file. Use bash."
            )
        yield fd, status
    finally:
        os.close(fd)


def load(context: Context, path: Path, raw_path: str, most: int = LARGE) -> Loaded:
    """The text file `path`, for a change. Raises `ToolFailure` for anything that cannot be changed as text, and for
    more than `most` bytes."""
    name = relative(context, path)
    with opened(context, path, raw_path) as (fd, status):
        if status.st_size > most:
            raise ToolFailure(
                f"{name} has {status.st_size} bytes; files over {most} cannot be edited. Change it with bash."
            )
        data = read_all(fd, name)
    try:
        text = decode(data)
    except NotTextError as error:
        raise ToolFailure(f"{name} cannot be changed as text: {error}. Use bash.") from None
    return Loaded(path, name, data, sha256(data), text, to_lf(text.content))


def read_all(fd: int, name: str) -> bytes:
    """Everything from the descriptor's start, up to `LARGE`. Raises `ToolFailure` when reading fails."""
    try:
        remaining, pieces = LARGE + 1, []
        while remaining and (piece := os.read(fd, min(remaining, max(4096, os.fstat(fd).st_size + 1)))):
            pieces.append(piece)
            remaining -= len(piece)
        return b"".join(pieces)
    except OSError as error:
        raise failure(error, name) from None


def sha256(data: bytes) -> str:
    import hashlib  # OpenSSL's start-up is not the host's

    return hashlib.sha256(data, usedforsecurity=False).hexdigest()


def missing(context: Context, path: Path, raw_path: str) -> ToolFailure:
    """The result for a file that is not there, with up to three names in its folder that are close, and up to
    three files of the same name elsewhere."""
    folder = path.parent
    if not folder.is_dir():
        near = []
    else:
        near = [relative(context, folder / name) for name in _close(path.name, os.listdir(folder))]
    near += [name for name in _elsewhere(context, path.name) if name not in near]
    hint = "Did you mean " + ", ".join(near) + "?" if near else "Look for it with glob or ls."
    return ToolFailure(f"{display_name(raw_path)} does not exist. {hint}")


def _close(name: str, others: list[str]) -> list[str]:
    from difflib import get_close_matches

    folded = {other.casefold(): other for other in others[:5000]}
    return [folded[key] for key in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]


def _elsewhere(context: Context, name: str) -> list[str]:
    from bot.toolhost.listing import files

    names = (f for f in files(context.root, tmp=context.tmp, cancelled=context.cancelled))
    same = [display_name(f) for f in names if f.rpartition("/")[2] == name]
    return same[:3]


def _special(path: Path, raw_path: str) -> ToolFailure | None:
    """What to say of something that is no regular file; `None` when it is one, or gone."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return ToolFailure(f"{display_name(raw_path)} is a folder. List it with ls, or name a file in it.")
    for matches, word in _SPECIAL:
        if matches(mode):
            return ToolFailure(
                f"{display_name(raw_path)} is {word}, not a file that can be read or edited here."
            )
    return None
