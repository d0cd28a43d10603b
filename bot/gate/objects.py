"""Git plumbing of the gate: read objects of the base, write blobs and trees, render the difference as a patch.

Also the values that the gate exchanges about a change.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import Git, GitError
from bot.checkout.layout import READABLE_ATTRIBUTES, make_git_dir, object_format_of
from bot.checkout.objects import tree_with_entries
from bot.contracts.errors import GateError
from bot.ecosystems.registry import ecosystems
from bot.gate.change_limits import DEFAULT_LIMITS, ChangeLimits
from bot.gate.errors import capacity_error

FILE = "100644"
PROGRAM = "100755"
LINK = "120000"
GITLINK = "160000"


class Entry(NamedTuple):
    """A path's git mode, and the object id of its content. A tuple: there may be hundreds of thousands."""

    mode: str
    sha: str


class Change(NamedTuple):
    """One path that differs from the base. `data` is the new content (of a link: its target)."""

    path: str
    old: Entry | None
    new: Entry | None
    data: bytes | None


Reasons = dict[str, str]
"""Why changes are left out, by path."""


class TreeDiff(NamedTuple):
    """The difference between a tree and the base: the `changes` that a commit can hold; in `unfit` the reasons by
    path for those left out, one entry for many paths if a limit was exceeded; and the paths of the base that
    therefore stay unchanged."""

    changes: Sequence[Change]
    unfit: Reasons
    unchanged: Collection[str]


def parents(path: str) -> Iterator[str]:
    """The folders that `path` is in, the innermost first, the root apart."""
    while folder := path.rpartition("/")[0]:
        yield folder
        path = folder


def listing(git: Git, commit: str) -> dict[str, Entry]:
    """Return every path of `commit`. Names that are not UTF-8 are decoded with surrogate escapes."""
    entries: dict[str, Entry] = {}
    for line in git.listed("ls-tree", "-r", "-z", "--full-tree", commit):
        head, _, path = line.partition("\t")
        mode, _, rest = head.partition(" ")
        entries[path] = Entry(mode, rest.partition(" ")[2])
    return entries


def blob_id(data: bytes, object_format: str) -> str:
    """Return the object id of `data` as a blob."""
    digest = hashlib.sha1 if object_format == "sha1" else hashlib.sha256
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Scratch:
    """`base` is every path of the commit `base_sha`. `render` is a git directory that reads the objects of `git` and
    has no attribute `-diff`, so that text is shown as text."""

    git: Git
    base_sha: str
    base: Mapping[str, Entry]
    limits: ChangeLimits
    folder: Path
    render: Git
    object_format: str


@contextmanager
def scratch(git: Git, base_sha: str, limits: ChangeLimits = DEFAULT_LIMITS) -> Iterator[Scratch]:
    """Create the folder beside the trusted git directory, never in a work tree, and remove it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir=git.git_dir.parent))
    try:
        object_format = object_format_of(base_sha)
        render = folder / "render.git"
        make_git_dir(render, bare=True, object_format=object_format, attributes=READABLE_ATTRIBUTES)
        (render / "info" / "exclude").write_text(
            "".join(f"{pattern}\n" for one in ecosystems() for pattern in one.leftovers)
        )
        base = listing(git, base_sha)
        yield Scratch(git, base_sha, base, limits, folder, Git(render), object_format)
    finally:
        shutil.rmtree(folder)


# Whatever the machine's settings are.
_DIFF_OPTIONS = """
    -r -p --binary --full-index --no-renames --no-ext-diff --no-textconv --no-color --src-prefix=a/ --dst-prefix=b/
    --unified=3 --diff-algorithm=histogram --no-indent-heuristic --inter-hunk-context=0
"""


def store(scratch: Scratch, changes: Sequence[Change]) -> None:
    """Write the new contents as blobs. Raises `GateError` if git computes other object ids than the gate."""
    wanted = [change for change in changes if change.new is not None and change.new != change.old]
    if not wanted:
        return
    folder = scratch.folder / "contents"
    folder.mkdir(exist_ok=True)
    names = [str(folder / str(number)) for number in range(len(wanted))]
    for name, change in zip(names, wanted, strict=True):
        Path(name).write_bytes(change.data or b"")
    paths = os.fsencode("".join(f"{name}\n" for name in names))
    shas = scratch.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", input=paths).decode().split()
    if shas != [change.new.sha for change in wanted if change.new is not None]:
        raise GateError("git stored other contents than the gate has judged")


def write_tree(scratch: Scratch, tree: str, changes: Sequence[Change]) -> str:
    """Write `tree` with `changes`. Return the id of the new tree."""
    absent = f"0 {'0' * len(scratch.base_sha)}\t"
    lines = [absent + change.path for change in changes if change.new is None]
    lines += [
        f"{change.new.mode} {change.new.sha}\t{change.path}" for change in changes if change.new is not None
    ]
    return tree_with_entries(scratch.git, tree, lines)


def render(scratch: Scratch, old: str, new: str) -> bytes:
    """Return the patch from tree `old` to tree `new`. Raises `GateError` over the limit."""
    objects = {"GIT_OBJECT_DIRECTORY": str(scratch.git.git_dir / "objects")}
    patch = scratch.render.run("diff-tree", *_DIFF_OPTIONS.split(), old, new, env=objects)
    if len(patch) > (limit := scratch.limits.patch_bytes):
        raise GateError(f"the patch is {len(patch)} bytes; the limit is {limit}")
    return patch


def refuse_unsound(scratch: Scratch, tree_sha: str) -> None:
    """Raise `GateError` if `git fsck` refuses the tree or a file of it. Two processes, 10 ms."""
    new = f"{tree_sha}\n^{scratch.base_sha}\n".encode()
    packed = scratch.git.run("pack-objects", "--quiet", "--revs", "--stdout", input=new)
    try:
        scratch.git.run(
            "index-pack", "--fsck-objects", "--stdin", str(scratch.folder / "new.pack"), input=packed
        )
    except GitError as error:
        raise capacity_error(error) or GateError(
            f"git refuses what would be published: {error.detail}"
        ) from error
