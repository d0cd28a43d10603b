"""What the figures are measured on: a small repository, and work trees of many files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.checkout.clone import Checkout, Source, check_out

FILES = 80
NEEDLE = "this text stands in ignored files only"

_CODE = "def area_{0}(width: int, height: int) -> int:\n    return width * height * {0}\n\n\n"
_FILE_SIZE = 4096
_A_FOLDER = 100
_CONTENTS = 500
_IGNORED = 200

_MANY_TURNS = "tiers:\n  maintainer:\n    turns: 1000\n    commands: 1000\n    output: 1000\n"


def small_repository(
    folder: Path, *, many_turns: bool = False, extra: Mapping[str, str] | None = None
) -> Path:
    """A repository of under 100 files without checks and instruction files; with `many_turns` it has a policy
    file that raises the limit on turns. `extra` are further files, by path."""
    folder.mkdir(parents=True)
    for number in range(FILES):
        file = folder / "shapes" / f"group_{number % 8}" / f"shape_{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_CODE.format(number) * 12)
    further = {".github/agent.yml": _MANY_TURNS} if many_turns else {}
    for path, text in {**further, **(extra or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "Shapes")
    return folder


def large_checkout(folder: Path, files: int) -> Checkout:
    """A work tree of `files` tracked files of 4 kB, as a run checks it out, and some ignored ones that alone hold
    `NEEDLE`. The contents repeat, so that the repository behind it stays small; the files on the disk do not."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    _git(repository, "init", "-q", "-b", "main")
    _git(repository, "fast-import", "--quiet", stdin=b"".join(_stream(files)))
    checkout = check_out(Source(str(repository), "HEAD"), folder / "run")
    ignored = checkout.tree / "build"
    ignored.mkdir()
    for number in range(_IGNORED):
        (ignored / f"part_{number}.txt").write_text(f"{NEEDLE}\n" * 50)
    return checkout


def _stream(files: int) -> Iterator[bytes]:
    """One commit for `git fast-import`."""
    for number in range(_CONTENTS):
        content = (_CODE.format(number) * (_FILE_SIZE // 60))[:_FILE_SIZE].encode()
        yield b"blob\nmark :%d\ndata %d\n%s\n" % (number + 1, len(content), content)
    yield b"commit refs/heads/main\ncommitter Bench <bench@example.invalid> 1700000000 +0000\ndata 5\nFiles\n"
    yield b"M 100644 inline .gitignore\ndata 14\nbuild/\n*.log\n\n\n"
    for number in range(files - 1):
        folder, name = number // _A_FOLDER, number % _A_FOLDER
        path = f"source/area_{folder // 50}/group_{folder % 50}/file_{name}.txt"
        yield b"M 100644 :%d %s\n" % (number % _CONTENTS + 1, path.encode())
    yield b"\n"


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> None:
    who = {
        f"GIT_{role}_{what}": "bench@example.invalid"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **who,
    }
    subprocess.run(["git", *arguments], cwd=folder, env=environment, input=stdin, check=True)
