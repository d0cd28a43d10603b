"""The last step of the job `prepare`: what CI's set-up steps left becomes one tar file.

Usage: keep.py FILE, in the workspace. Standard library and our own standard-library modules only. Its outputs are the
`file` and its `digest`; neither if nothing is kept. The job has no secret, and code of the repository ran in it: nobody
relies on what this says.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bot.environment.prepared import FACTS, HOME, MOST_BYTES, MOST_CACHED, OUTSIDE, WORKSPACE  # noqa: E402
from bot.environment.prepared import facts, is_lock_file, kept_at_their_path, kept_in_home  # noqa: E402
from bot.github.actions import Actions  # noqa: E402
from bot.policy.registry_mirrors import PRESETS, targets  # noqa: E402

# Where a registry of somebody's own is named.
SETTINGS = (".npmrc", ".yarnrc", ".yarnrc.yml", "pip.conf", ".pypirc", "uv.toml", "nuget.config", ".bundle/config")
IN_HOME = (*SETTINGS, ".config/pip/pip.conf", ".m2/settings.xml", ".cargo/config.toml", ".gradle/init.gradle")
REGISTRY = re.compile(r"(?i)registry|index_url|goproxy|mirror")
ADDRESS = re.compile(r"https?://(?:[^/@\s\"'<>]*@)?([\w.-]+)")
LOCKED = re.compile(r"(?:resolved\"?:?|registry =|source =|remote:)[^\n]*")


def main(file: Path, variables: Mapping[str, str]) -> None:
    actions = Actions(variables, sys.stdout)
    if file.exists():  # a push to the default branch kept it, and the cache restored it
        return hand_over(file, actions)
    workspace, home = Path.cwd(), Path.home()
    if own := is_public(variables) and private_registry(workspace, home, variables):
        actions.print(f"Nothing is kept: packages may be from {own}, and this repository is public.")
        return
    listing = git("ls-tree", "-r", "-z", "HEAD")
    members = list(contents(workspace, home, variables))
    size = sum(path.lstat().st_size for path, _ in members if not path.is_dir())
    most = MOST_BYTES if variables.get("UPLOAD") != "false" else MOST_CACHED
    if size > most:
        actions.print(f"Nothing is kept: it is {size >> 20:,} MiB, and {most >> 20:,} is the most.")
        return
    text = facts(str(workspace), variables, listing).encode()
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        member = tarfile.TarInfo(FACTS)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
        for name in (WORKSPACE, HOME, OUTSIDE):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for path, name in members:
            # Writable, since a user 0 without its rights, as in a sandbox, can unpack nothing into other folders.
            tar.add(path, name, recursive=False, filter=lambda one: one.replace(mode=one.mode | 0o200, deep=False))
    hand_over(file, actions)
    actions.print(f"Kept: {len(members):,} files and folders, {size >> 20:,} MiB")


def hand_over(file: Path, actions: Actions) -> None:
    with file.open("rb") as opened:
        actions.set_output("digest", hashlib.file_digest(opened, "sha256").hexdigest())
    actions.set_output("file", str(file))


def contents(workspace: Path, home: Path, variables: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield each file and folder with its name in the archive: what git has no files of, and what is new elsewhere."""
    begun = min(entry.stat(follow_symlinks=False).st_ctime for entry in os.scandir(workspace / ".git"))
    submodules = re.findall(rb"(?<![^\0])160000 .*?\t([^\0]+)", git("ls-files", "-s", "-z"))
    for name in (*git("ls-files", "--others", "--directory", "-z").split(b"\0"), *submodules):
        path = workspace / os.fsdecode(name.rstrip(b"/"))
        if name and path.name != ".git":
            yield from ((one, f"{WORKSPACE}/{one.relative_to(workspace)}") for one in below(path))
    for folder in dict.fromkeys(home / name for name in kept_in_home()):
        for one in below(folder):
            if one.is_dir() or one.lstat().st_ctime >= begun:
                yield one, f"{HOME}/{one.relative_to(home)}"
    for folder in dict.fromkeys(kept_at_their_path(variables)):
        found = list(below(folder))
        if any(one.lstat().st_ctime >= begun for one in found):
            yield from ((one, f"{OUTSIDE}{one}") for one in found)


def below(path: Path) -> Iterator[Path]:
    """Yield a file, or a folder and all that is in it, without sockets, the `.git` of a submodule and the like."""
    if path.is_symlink() or (path.is_file() and path.name != ".git"):
        yield path
    elif path.is_dir():
        yield path
        with os.scandir(path) as entries:
            for entry in entries:
                yield from below(Path(entry.path))


def is_public(variables: Mapping[str, str]) -> bool:
    try:
        event = json.loads(Path(variables["GITHUB_EVENT_PATH"]).read_bytes())
        return event["repository"]["private"] is not True
    except (OSError, ValueError, KeyError, TypeError):
        return True


def private_registry(workspace: Path, home: Path, variables: Mapping[str, str]) -> str:
    """Return a host that packages may be from and that is no public registry; empty for none."""
    known = {target.host for target in targets(PRESETS)} | {"registry.yarnpkg.com", "github.com"}
    texts = [value for name, value in variables.items() if REGISTRY.search(name)]
    files = [*(workspace / name for name in SETTINGS), *(home / name for name in IN_HOME)]
    texts += [file.read_text(errors="replace") for file in files if file.is_file()]
    locks = (file for file in workspace.iterdir() if is_lock_file(file.name) and file.is_file())
    texts += [line for file in locks for line in LOCKED.findall(file.read_text(errors="replace"))]
    hosts = (host for text in texts for host in ADDRESS.findall(text))
    return next((host for host in hosts if host.lower() not in known), "")


def git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ)
