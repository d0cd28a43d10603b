"""Resolve the paths that the model gives, format paths for it in one spelling, and read files: regular files only, up
to a limit, with errors that tell the model what is there instead."""

import json
import os
import re
import stat
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from bot.contracts.plain_text import printable_name
from bot.contracts.regular_files import read_regular
from bot.contracts.tool_descriptions import OUTPUT_NAME, TEMPORARY
from bot.contracts.tools import ToolFailure
from bot.toolhost.context import Context
from bot.toolhost.encoding import Text, decode, sha256, to_lf
from bot.toolhost.listing import scratch_repository
from bot.toolhost.mount_sources import kind_of


def resolve_readable(context: Context, path: str) -> Path:
    """As `resolve`, but the workspace's own folders (spilled output, temporary files) and the readable folders may
    be read as well."""
    return resolve(context, path, (context.root, context.spill, context.tmp, *context.readable))


def readable_folder(context: Context, path: str) -> Path:
    """As `resolve_readable`, for a folder that exists."""
    folder = resolve_readable(context, path)
    if not folder.exists():
        raise missing(context, folder, path)
    if not folder.is_dir():
        raise ToolFailure(f"{printable_name(path)} is not a folder. Show it with view.")
    return folder


def resolve(context: Context, path: str, folders: tuple[Path, ...] = ()) -> Path:
    """The file that `path` leads to after all links, inside the root or one of the `folders`. It need not exist.

    Relative paths count from the root. Raises `ToolFailure` for everything outside.
    """
    if not path:
        raise ToolFailure('"path" is empty. Give a path relative to the root of the repository.')
    if "\0" in path:
        raise ToolFailure('"path" holds a NUL character. Give the path without it.')
    # os.path.join takes an absolute path as it is; realpath also works where the last parts do not exist yet.
    if path == TEMPORARY or path.startswith(f"{TEMPORARY}/"):
        path = f"{context.tmp}{path[len(TEMPORARY) :]}"
    real = os.path.realpath(os.path.join(context.root, path))
    if inside(real, context.real_root) or any(inside(real, os.path.realpath(folder)) for folder in folders):
        return Path(real)
    if inside(os.path.normpath(os.path.join(context.root, path)), str(context.root)):
        raise ToolFailure(
            f"{printable_name(path)} is a link that leads out of the repository, to {printable_name(real)}; such a "
            "link is never followed. Use a path inside the repository."
        )
    raise ToolFailure(
        f"{printable_name(path)} is outside the repository, which is at {printable_name(str(context.root))}. "
        "Use a path inside it."
    )


def inside(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or beneath it. Both absolute and normalised; /repo-two is not in /repo."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def relative(context: Context, path: Path) -> str:
    """How `path` is named to the model: relative to the root or to the temporary folder, or absolute."""
    if not inside(str(path), context.real_root):
        for folder, name in ((context.spill, OUTPUT_NAME), (context.tmp, TEMPORARY)):
            if inside(str(path), real := os.path.realpath(folder)):
                return printable_name(f"{name}{str(path)[len(real) :]}")
        return printable_name(str(path))
    return printable_name(str(path)[len(context.real_root) :].lstrip("/") or ".")


def failure(error: OSError, name: str) -> ToolFailure:
    """The error for a file that the operating system refused; `name` as the model knows it."""
    reason = (error.strerror or str(error)).lower()
    return ToolFailure(f"{name}: {reason}. Check the path with ls, or look at the file with bash.")


class SearchLocation(NamedTuple):
    """A folder or file to search, with its files relative to `root`. `below` is it relative to `root`, empty for all of
    it. What is ignored, in another repository, or outside the work tree has files only if it is named itself."""

    root: Path
    below: str
    prefix: str
    """What stands before the names of files that are shown."""
    full_names: list[str]

    def display(self, name: str) -> str:
        return printable_name(f"{self.prefix}{name}")

    @property
    def names(self) -> list[str]:
        """Its files, relative to itself."""
        start = len(self.below) + 1 if self.below else 0
        return [name[start:] for name in self.full_names]


def search_location(context: Context, path: Path) -> SearchLocation:
    """The location of a resolved path. Raises `ToolFailure` if git fails."""
    folders = (context.root, context.spill, context.tmp, *context.readable)
    folder = next(one for one in folders if inside(str(path), os.path.realpath(one)))
    root = Path(os.path.realpath(folder))
    below = os.path.relpath(path, root) if path != root else ""
    in_tree = folder == context.root
    prefix = "" if in_tree else f"{relative(context, root)}/"
    try:
        names = context.files(below) if in_tree else []
        if not names and path.is_file():
            names = [below]
        elif not names and (below or not in_tree):
            with scratch_repository(path, context.tmp, context.cancelled) as git:
                below_names = git.files(ignored_too=True)
            names = [f"{below}/{name}" if below else name for name in below_names]
        return SearchLocation(root, below, prefix, names)
    except OSError as error:
        if context.cancelled.is_set():
            raise ToolFailure("The search was cancelled.") from None
        raise ToolFailure(f"The files could not be listed: {error.strerror}.") from None


LARGE = 64 * 1024 * 1024
"""Bytes over which a file is only viewed in pieces: never hashed, never edited."""


class LoadedFile(NamedTuple):
    """A whole text file. `lf` is its text with line feeds, as a view numbers it."""

    path: Path
    name: str
    data: bytes
    sha256: str
    text: Text
    lf: str


def read(context: Context, path: Path, raw_path: str) -> bytes:
    """All of a regular file. `raw_path` is the model's name of it, for messages. Raises `ToolFailure` for anything
    else, and for more than `LARGE` bytes."""
    try:
        data = read_regular(path, LARGE + 1)
    except FileNotFoundError:
        raise missing(context, path, raw_path) from None
    except OSError as error:
        name, mode = printable_name(raw_path), os.lstat(path).st_mode if os.path.lexists(path) else 0
        if stat.S_ISDIR(mode):
            raise ToolFailure(f"{name} is a folder. List it with ls, or name a file in it.") from None
        if kind := kind_of(mode):
            raise ToolFailure(f"{name} is {kind}, not a file that can be read or edited here.") from None
        raise failure(error, name) from None
    if len(data) > LARGE:
        size = f"{printable_name(raw_path)} has over {LARGE >> 20} MiB"
        raise ToolFailure(f"{size}: show a part with bash, such as tail, or change it there.")
    return data


def load(context: Context, path: Path, raw_path: str) -> LoadedFile:
    """The text file `path`. Raises `ToolFailure` for anything else."""
    name, data = relative(context, path), read(context, path, raw_path)
    if (text := decode(data)) is None:
        raise ToolFailure(
            f"{name} ({len(data)} bytes) is not text: it is a binary file. Use bash: file, xxd, strings."
        )
    return LoadedFile(path, name, data, sha256(data), text, to_lf(text.content))


def view_call(name: str, offset: int = 1) -> str:
    """The call to `view` that the model should make next, ready to copy."""
    arguments = {"path": name} if offset == 1 else {"path": name, "offset": offset}
    return f"view {json.dumps(arguments, ensure_ascii=False)}"


def require_shown(context: Context, file: LoadedFile) -> None:
    """Raise `ToolFailure` unless the file is byte for byte what the model was last shown."""
    if reason := why_not_current(context, file):
        raise ToolFailure(f"{reason}. Call {view_call(file.name)}, then send this again.")


def why_not_current(context: Context, file: LoadedFile) -> str:
    """Why the file is not what the model was last shown; empty if it is. Such a file may change where the old text fits
    exactly once. Raises `ToolFailure` if nothing of it was shown in this run."""
    shown_hash = context.records.get(file.path)
    if context.assume_read or shown_hash == file.sha256:
        return ""
    if shown_hash is None:
        raise ToolFailure(
            f"{file.name} was not viewed yet. Call {view_call(file.name)}, then send this again."
        )
    return f"{file.name} changed since it was viewed" if shown_hash else f"{file.name} was not viewed"


_NAMES = re.compile(r"[\w./@+-]+")
_PRINTED = re.compile(r"^(?:\+\+\+ b/(?P<diff>[^\t\n]+)|(?P<match>[\w./@+-]+):\d+:)", re.MULTILINE)
_MOST_NAMES = 1000


def mention_files(context: Context, folder: Path, command: str, output: str) -> None:
    """Record the files of the tree that a command names, or its output as `grep -n` and `git diff` do. It ran in
    `folder`."""
    names = dict.fromkeys(
        _NAMES.findall(command) + [m["diff"] or m["match"] for m in _PRINTED.finditer(output)]
    )
    for name in list(names)[:_MOST_NAMES]:
        for below in (folder, context.root):
            path = os.path.join(below, name)
            if os.path.isfile(path) and inside(real := os.path.realpath(path), context.real_root):
                context.records.mention(Path(real))
                break


def missing(context: Context, path: Path, raw_path: str) -> ToolFailure:
    """The error for a file that does not exist, with up to three similar names in its folder, and up to three files of
    the same name elsewhere."""
    near: list[str] = []
    with suppress(OSError):
        folded = {other.casefold(): other for other in os.listdir(path.parent)[:5000]}
        close = get_close_matches(path.name.casefold(), folded, n=3, cutoff=0.6)
        near += [relative(context, path.parent / folded[key]) for key in close]
    with suppress(OSError):
        same_name = (name for name in context.files() if basename(name) == path.name)
        near += [name for name in map(printable_name, islice(same_name, 3)) if name not in near]
    hint = "Did you mean " + ", ".join(near) + "?" if near else "Look for it with glob or ls."
    return ToolFailure(f"{printable_name(raw_path)} does not exist. {hint}")
