"""`slash-agent restore`: write one file of a checkout as it was at one version of a run, or list the versions.

The journal may come from another job: paths must stay in the checkout, and bytes must match their hashes. The present
content must be a version of the run or committed, unless forced. Nothing behind a link is written.
"""

import contextlib
import difflib
import hashlib
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bot.agent.journal import read_journal
from bot.agent.versions import Versions, version_content, versions
from bot.checkout.git import Git, GitError
from bot.checkout.local import git_dir_of, repository_root, resolve
from bot.checkout.objects import blobs_at
from bot.contracts.errors import UsageError
from bot.contracts.regular_files import read_regular


def restore(journal: Path, repo: Path, path: str, number: int, *, force: bool) -> str:
    """Restore the file to that version and return a sentence on it. `repo` must have the base commit of the run. With
    `force` the file is overwritten whatever it contains. Raises `AgentError`."""
    recording = read_journal(journal)
    history = versions(recording)
    file_versions = history[_known_path(history, path)]
    if not 0 <= number < len(file_versions):
        raise UsageError(f"{path} has no version {number}: it has 0 to {len(file_versions) - 1}.")
    version = file_versions[number]
    sha = recording.header.base_sha
    resolve(repo, sha)  # raises `CheckoutError`
    data = version_content(version, partial(_blob, Git(git_dir_of(repo)), sha))
    name = f"{path} is as it was at version {number}"
    file = _work_tree_file(repo, path)
    try:
        current = read_regular(file, file.lstat().st_size) if os.path.lexists(file) else None
        if current == data:
            return f"{name} already."
        if current is not None and not force:
            _check_not_lost(repo, path, history, current)
        if data is None:
            file.unlink()
            return f"{name}: it is gone."
        _write(file, data, version.mode)
    except OSError as error:
        raise UsageError(f"{path} cannot be restored in {repo}: {error.strerror}.") from error
    return f"{name} ({version.by}, {version.what}): {len(data)} bytes."


def list_versions(journal: Path, path: str) -> Iterator[str]:
    """Yield a line for each version of each file, or of the file `path`."""
    history = versions(read_journal(journal))
    selected = {path: history[_known_path(history, path)]} if path else history
    if not selected:
        yield "Nothing of the run changed a file."
    for name, file_versions in selected.items():
        yield name
        for version in file_versions:
            source = f"turn {version.turn}, {version.by}" if version.turn else version.by
            yield f"  {version.number}  {source}: {version.what}  {(version.sha256 or '')[:12]}".rstrip()


def _blob(git: Git, commit: str, path: str) -> bytes | None:
    try:
        return blobs_at(git, commit, [path]).get(path)
    except GitError as error:
        raise UsageError(f"{path} cannot be read at {commit[:12]}: {error.detail}.") from error


def _known_path(history: Versions, path: str) -> str:
    if path not in history:
        close = difflib.get_close_matches(path, history, n=1)
        hint = f" Did you mean {close[0]}?" if close else " Without --path, its files are listed."
        raise UsageError(f"The run changed no file {path}.{hint}")
    return path


def _check_not_lost(repo: Path, path: str, history: Versions, current: bytes) -> None:
    digest = hashlib.sha256(current).hexdigest()
    if any(version.sha256 == digest for version in history[path]):
        return
    if _blob(Git(git_dir_of(repo)), "HEAD", path) == current:
        return
    raise UsageError(
        f"{path} has changes that are neither committed nor of the run, and they would be lost. Commit or move "
        "them, or say --force."
    )


def _work_tree_file(repo: Path, path: str) -> Path:
    """The path of a file of the work tree, which may be missing. Raises `UsageError` for one that is outside of it, or
    behind a link."""
    top = repository_root(repo).resolve()
    odd = any(part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in path.split("/"))
    if odd or (top / "HEAD").is_file() or (top / path).parent.resolve() != (top / path).parent:
        raise UsageError(f"{path} is no file of a work tree at {top}.")
    return top / path


def _write(file: Path, data: bytes, mode: int | None) -> None:
    """Replace the file at once. One that is there keeps its mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(file.lstat().st_mode)
    beside = file.with_name(f".slash-agent-{os.urandom(8).hex()}.tmp")
    with beside.open("xb") as new:
        new.write(data)
        if mode is not None:
            os.fchmod(new.fileno(), mode & 0o777)
    beside.replace(file)
