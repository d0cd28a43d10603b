"""Carry the shell's working folder over from one command to the next: bash writes its last folder to a file, the note,
and the host reads it.

BASH_ENV names a script that bash reads before the command, so that the command itself is unchanged, in bash's error
messages too. Commands can write where script and note are, so both may be replaced or removed at any time: the host
reads the note by the descriptor with which it created it. Both are written once, and each command appends to the note:
ext4 writes a replaced file to the disk at once, for which a command would wait a millisecond.

A command that cannot change the folder writes no note: for it bash would have to stay until the command's last program
ends, instead of executing that program in its own process, which takes a quarter of the time of `git --version`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_LONGEST = 16 * 1024
"""Bytes of one note, four times what the kernel takes for a path."""

_FULL = 1024 * 1024
"""Bytes of all notes, when new files are made."""

# Where a command may begin, as the shell has it and at every other such sign too: in quotes, in a text for a program.
_SIGNS = re.compile(r"[;&|\n]")
# Variables for a program, and its name, in letters that stand for themselves; or nothing but a comment. A number before
# a redirection is no name.
_BEGINNING = re.compile(r"[ \t]*(?:(?:\w+=[\w./:,@%+-]*[ \t]+)*(?!\d+[<>])([\w./@%+-]+)(?=[ \t<>]|\Z)|#|\Z)")
# A function, a subshell, and expansions that assign or that look into what they found: bash 5.3 may run that here.
_MORE = re.compile(r"""[()]|\$(?:\{(?!\w+\})|['"\[])""")
# All builtins and words of the grammar but those that only print or end: none of the others is looked into.
_OWN = set(
    """
    . : alias bg bind break builtin caller case cd command compgen complete compopt continue coproc
    declare dirs disown do done elif else enable esac eval exec export fc fg fi for function getopts hash
    help history if in jobs kill let local logout mapfile popd printf pushd read readarray readonly return
    select set shift shopt source suspend then time times trap type typeset ulimit umask unalias unset
    until wait while
    """.split()  # noqa: SIM905
)


class FolderNote:
    """One for all commands of a host, which run one after the other. Commands may write in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._script = self._note = self._named = ""
        self._fd = -1
        self._known: tuple[object, ...] = ()
        self._read = 0

    def variables(self, seq: int) -> dict[str, str]:
        """The variables for the command's environment; empty if the files cannot be written, since commands must run on
        a full disk too. Each call has another `seq`."""
        try:
            if self._fd < 0 or self._read > _FULL or self._state() != self._known:
                self._make(seq)
        except OSError:
            self._forget()
            return {}
        return {"BASH_ENV": self._named}

    def take(self) -> str | None:
        """The shell's last folder; empty if that was removed. `None` if it wrote no note: it was killed, replaced by
        `exec`, had an exit trap of its own, or could not write."""
        if self._fd < 0:
            return None
        left = os.pread(self._fd, _LONGEST, self._read)
        self._read = os.fstat(self._fd).st_size
        return os.fsdecode(left.removesuffix(b"\n")) if left else None

    def _make(self, seq: int) -> None:
        """Create the files under new names, where nothing else exists."""
        self._forget()
        self._note = os.path.join(self._folder, f".cwd-{seq}")
        self._script = f"{self._note}.sh"
        self._named = re.sub(r'([$`"\\])', r"\\\1", self._script)  # bash expands the value
        for path in (self._note, self._script):
            with suppress(FileNotFoundError):
                os.unlink(path)
        with open(self._script, "xb") as file:
            file.write(os.fsencode(_trap(self._note)))
        self._fd = os.open(self._note, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._known = self._state()

    def _state(self) -> tuple[object, ...]:
        """Stat data that changes if a command changes one of the files, but not if bash appends to the note."""
        try:
            script, note = os.lstat(self._script), os.lstat(self._note)
        except OSError:
            return ()
        return (
            script.st_ino,
            script.st_size,
            script.st_mtime_ns,
            script.st_ctime_ns,
            note.st_ino,
            note.st_mode,
        )

    def _forget(self) -> None:
        for path in filter(None, (self._note, self._script)):
            with suppress(OSError):
                os.unlink(path)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._read = -1, 0


def may_move(command: str) -> bool:
    """Whether bash may end in another folder than the one in which it runs `command`. False is certain: the command
    then consists of programs, each a process of its own, and builtins that only print or exit."""
    if _MORE.search(command):
        return True
    begun = map(_BEGINNING.match, _SIGNS.split(command))
    return not all(beginning and beginning[1] not in _OWN for beginning in begun)


def quoted(text: str, *, inner: bool = False) -> str:
    """`text` as one word of bash; `inner` where it stands inside single quotes already."""
    word = "'" + text.replace("'", "'\\''") + "'"
    return word.replace("'", "'\\''") if inner else word


def _trap(note: str) -> str:
    """The script: it writes an empty line for a folder that was removed. The braces silence `set -x`."""
    return (
        f"unset BASH_ENV; trap '{{ {{ pwd -P || echo; }} >>{quoted(note, inner=True)}; }} 2>/dev/null' EXIT\n"
    )
