"""`slash-agent restore`: one file of a checkout as it was at one of a run's versions, by the run's journal.

The journal may come from another job: its paths are held to the checkout, and its bytes to their hashes. What is in the
file now is never lost: it must be a version of the run or what is committed, unless somebody insists.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.agent.journal_file import JournalFile, read_journal
from bot.agent.versions import Version, Versions, content, versions
from bot.checkout.blobs import blobs_at
from bot.checkout.git import Git, GitError
from bot.checkout.local import git_dir_of, resolve
from bot.contracts.errors import UsageError
from bot.run.one_file import WorkTreeFile

_LONGEST_DIFF = 2000


@dataclass(frozen=True, slots=True)
class Restore:
    """`repo` must hold the base commit of the run. With `force` the file is overwritten whatever is in it."""

    journal: Path
    repo: Path
    path: str
    version: int
    force: bool = False


def restore(asked: Restore) -> str:
    """Put the file back; a sentence on what was done. Raises an `AgentError`."""
    recorded = read_journal(asked.journal)
    history = versions(recorded)
    version = _wanted(history, asked.path, asked.version)
    base = base_of(asked.repo, recorded)
    data = content(history, version, base)
    name = f"{asked.path} is as it was at version {asked.version}"
    with WorkTreeFile(asked.repo, asked.path) as file:
        now = file.read()
        if now == data:
            return f"{name} already."
        if now is not None and not asked.force:
            _refuse_to_lose(asked, history, now)
        if data is None:
            file.remove()
            return f"{name}: it is gone."
        file.write(data, version.mode)
    return f"{name} ({version.by}, {version.what}): {len(data)} bytes."


def told(journal: Path, repo: Path, path: str = "") -> Iterator[str]:
    """A line for each version of each file; for one file also what each version changed."""
    recorded = read_journal(journal)
    history = versions(recorded)
    chosen = {path: history[_known(history, path)]} if path else history
    if not chosen:
        yield "Nothing of the run changed a file."
    base = base_of(repo, recorded) if path else lambda name: None
    for name, found in chosen.items():
        yield name
        before: bytes | None = None
        for version in found:
            place = f"turn {version.turn}, {version.by}" if version.turn else version.by
            digest = (version.sha256 or "")[:12]
            yield f"  {version.number}  {place}: {version.what}  {digest}".rstrip()
            if path:
                try:
                    after = content(history, version, base)
                except UsageError as error:
                    yield f"     {error}"
                    before = None
                    continue
                if version.number:
                    yield from _difference(before, after)
                before = after


def base_of(repo: Path, recorded: JournalFile) -> Callable[[str], bytes | None]:
    """What a path of the repository holds in the commit that the run began with. Raises a `CheckoutError`."""
    sha = recorded.header.base_sha
    resolve(repo, sha)
    git = Git(git_dir_of(repo))
    return lambda path: _blob(git, sha, path)


def _blob(git: Git, commit: str, path: str) -> bytes | None:
    try:
        return blobs_at(git, commit, [path], work_tree=git.git_dir.parent).get(path)
    except GitError as error:
        raise UsageError(f"{path} cannot be read at {commit[:12]}: {error.detail}.") from error


def _known(history: Versions, path: str) -> str:
    if path not in history:
        close = difflib.get_close_matches(path, history, n=1)
        hint = f" Did you mean {close[0]}?" if close else " Its files are listed by replay --versions."
        raise UsageError(f"The run changed no file {path}.{hint}")
    return path


def _wanted(history: Versions, path: str, number: int) -> Version:
    found = history[_known(history, path)]
    if not 0 <= number < len(found):
        raise UsageError(f"{path} has no version {number}: it has 0 to {len(found) - 1}.")
    return found[number]


def _refuse_to_lose(asked: Restore, history: Versions, now: bytes) -> None:
    digest = hashlib.sha256(now).hexdigest()
    if any(version.sha256 == digest for version in history[asked.path]):
        return
    git = Git(git_dir_of(asked.repo))
    if _blob(git, "HEAD", asked.path) == now:
        return
    raise UsageError(
        f"{asked.path} has changes that are neither committed nor of the run, and they would be lost. Commit or move "
        "them, or say --force."
    )


def _difference(before: bytes | None, after: bytes | None) -> Iterator[str]:
    old, new = ((data or b"").decode("utf-8", "replace").split("\n") for data in (before, after))
    shown = difflib.unified_diff(old, new, lineterm="", n=2)
    for number, row in enumerate(list(shown)[2:]):
        if number == _LONGEST_DIFF:
            yield "     (and more)"
            return
        yield f"     {row}"
