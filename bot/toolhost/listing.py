"""List the files of the work tree, tracked or not, without ignored ones, and match their paths with patterns.

git does it, in a scratch repository of ours: the tree's own `.git` can hold any configuration, may be broken, or may
not exist. Only its index is read, since a tracked file is never ignored.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from bot.contracts.globs import matches
from bot.contracts.tools import ToolFailure
from bot.toolhost.programs import Cancellation, ProgramResult, run_program

_TIMEOUT = 60.0
_CAP = 256 * 1024 * 1024
_ATTRIBUTES = b"* !diff !text !eol !filter !ident !working-tree-encoding\n"
# The content of each file in an index that is only a list of names: git's empty blob.
_ENTRY = b"100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\t%b\0"
# Rules for every repository, which its own rules override. Bytecode was 95 % of one run's journal.
_BYTECODE = b"__pycache__/\n*.py[co]\n"


class ScratchRepository(NamedTuple):
    """An empty repository of ours whose work tree is `root`."""

    root: Path
    folder: Path
    environment: Mapping[str, str]
    cancelled: Cancellation

    def run(
        self,
        *arguments: str,
        index: Path | None = None,
        stdin: bytes = b"",
        cap: int = _CAP,
        timeout: float = _TIMEOUT,
    ) -> ProgramResult:
        """One git command. `index` is the index file that it sees; an empty one otherwise. `timeout` in seconds."""
        exclude = self.root / ".git" / "info" / "exclude"
        return run_program(
            [
                *("git", f"--git-dir={self.folder}", f"--work-tree={self.root}", "--literal-pathspecs"),
                *("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"),
                *("-c", f"core.excludesFile={exclude}"),
                *arguments,
            ],
            cwd=self.root,
            environment=dict(self.environment, GIT_INDEX_FILE=str(index)) if index else self.environment,
            timeout=timeout,
            cap=cap,
            cancelled=self.cancelled,
            stdin=stdin,
        )

    def files(self, below: str = "", *, ignored_too: bool = False) -> list[str]:
        """Files and links relative to the root, sorted, `.git` never; with `below` only those beneath that folder, or
        that file. Repositories within the repository are not entered. Raises `OSError` if git fails."""
        standard = () if ignored_too else ("--exclude-standard",)
        names = set(self._listed("-o", *standard, "--", below or "."))
        index = self.root / ".git" / "index"
        if not ignored_too and index.is_file():
            try:
                tracked = self._listed("--", below or ".", index=index)
            except OSError:
                tracked = []  # a broken index knows nothing
            for name in set(tracked) - names:
                path = os.path.join(self.root, name)
                folder = os.path.dirname(path)
                # A folder is a submodule: git lists it by its name alone. A file may lie behind a link.
                if (os.path.islink(path) or os.path.isfile(path)) and os.path.realpath(folder) == folder:
                    names.add(name)
        return sorted(names)

    def index_of(self, names: Iterable[str]) -> Path:
        """An index that lists exactly `names`, for a git command to work on. Raises `OSError` if git fails."""
        index = self.folder / f"index-{os.urandom(4).hex()}"
        entries = b"".join(_ENTRY % os.fsencode(name) for name in names)
        _succeeded(self.run("update-index", "-z", "--index-info", index=index, stdin=entries))
        return index

    def _listed(self, *arguments: str, index: Path | None = None) -> list[str]:
        output = _succeeded(self.run("ls-files", "-z", *arguments, index=index))
        # A repository within the repository is one name with a slash at its end.
        return [name for name in os.fsdecode(output).split("\0")[:-1] if not name.endswith("/")]


@contextmanager
def scratch_repository(root: Path, tmp: Path, cancelled: Cancellation) -> Iterator[ScratchRepository]:
    """A `ScratchRepository` in `tmp`. Raises `OSError` if there is no room for one."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PAGER": "cat",
    }
    folder = tmp / f"search-{os.urandom(8).hex()}"
    try:
        for part in ("", "objects", "refs", "info"):
            (folder / part).mkdir(mode=0o700)
        (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        # A repository's own attributes win over those in the tree, which could call text binary or convert it.
        (folder / "info" / "attributes").write_bytes(_ATTRIBUTES)
        (folder / "info" / "exclude").write_bytes(_BYTECODE)
        yield ScratchRepository(root, folder, environment, cancelled)
    finally:
        rmtree(folder, ignore_errors=True)


def _succeeded(finished: ProgramResult) -> bytes:
    """The output. Raises `OSError` if git failed."""
    if finished.exit_code != 0 or finished.capped:
        raise OSError(5, f"git failed: {finished.last_words or 'without a message'}")
    return finished.output


MAX_ALTERNATIVES = 64

_GROUP = re.compile(r"(?<!\\)\{((?:[^{},\\]|\\.)*,(?:[^{}\\]|\\.)*)\}")
_COMMA = re.compile(r"(?<!\\),")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether relative paths match. Without a slash the pattern is for the file's name, wherever it is. Raises
    `ToolFailure` if its braces stand for more than `MAX_ALTERNATIVES`."""
    globs: list[str] = []
    for one in expand_braces(pattern):
        rooted = one.removeprefix("./").lstrip("/")
        globs.append(rooted if "/" in rooted or one.startswith(("/", "./")) else f"**/{rooted}")
    return lambda path: any(matches(glob, path) for glob in globs)


def expand_braces(pattern: str) -> list[str]:
    """All patterns that the braces of one stand for, the inner ones first. A brace without a comma or a partner stands
    for itself."""
    expanded: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        if (group := _GROUP.search(one)) is None:
            expanded.append(one)
            continue
        parts = reversed(_COMMA.split(group[1]))
        waiting += [one[: group.start()] + part + one[group.end() :] for part in parts]
        if len(expanded) + len(waiting) > MAX_ALTERNATIVES:
            raise ToolFailure("The braces stand for too many patterns. Send fewer alternatives.")
    return list(dict.fromkeys(expanded))
