"""Read objects of a repository, without its work tree and attributes: the contents of files, the diff between two
commits, and whether a tree is within the limits for a checkout.

A few hostile objects can stand for 10,000,000,000 files, endlessly nested folders or gigabytes of zeros. `git.py`
limits memory and time of each git process.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bot.checkout.git import CheckoutError, Git
from bot.checkout.layout import READABLE_ATTRIBUTES, make_git_dir, object_format_of


def blobs_at(git: Git, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of those of `paths` that are files in `commit`, with one git process for hundreds. Paths may
    be hostile. Raises `GitError`."""
    return {path: data for path, data in _read(git, commit, paths) if data is not None}


def newest_subjects(git: Git, commit: str) -> list[str]:
    """Return the first lines of at most 100 commits up to `commit`, newest first, without merges. Raises `GitError`."""
    listing = git.run("log", "-100", "--no-merges", "--format=%s", commit, "--")
    return listing.decode(errors="replace").splitlines()


def blobs_behind_links(git: Git, commit: str, paths: Iterable[str]) -> dict[str, bytes | None]:
    """As `blobs_at`, with symbolic links followed within the commit; `None` for a link that leads to nothing in it."""
    return dict(_read(git, commit, paths, "--follow-symlinks"))


def _read(git: Git, commit: str, paths: Iterable[str], *options: str) -> Iterator[tuple[str, bytes | None]]:
    remaining = filter(_is_name, paths)
    while batch := list(islice(remaining, 500)):
        names = [f"{commit}:{path}".encode(errors="surrogateescape") for path in batch]
        for path, (kind, data) in zip(batch, _objects(git, names, *options), strict=True):
            if kind == b"blob":
                yield path, data
            elif kind in (b"dangling", b"loop", b"notdir", b"symlink"):
                yield path, None


def _objects(git: Git, names: Sequence[bytes], *options: str) -> Iterator[tuple[bytes, bytes]]:
    """The kind and the content of each object, with one git process. Of a link that leads to nothing the kind is the
    reason."""
    data = b"".join(name + b"\0" for name in names)
    output = git.run("cat-file", "--batch", "-z", *options, input=data)
    position = 0
    for name in names:
        missing = name + b" missing\n"
        if output.startswith(missing, position):
            position += len(missing)
            yield b"missing", b""
            continue
        end = output.index(b"\n", position)
        # "ID KIND SIZE", or "REASON SIZE" for a link that leads to nothing.
        *_, kind, size = output[position:end].split(b" ")
        start, position = end + 1, end + int(size) + 2
        yield kind, output[start : position - 1]


def _is_name(path: str) -> bool:
    """Whether a tree can contain the path: no NUL, no `..`, no half of a surrogate pair."""
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        return False
    try:
        path.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


# As GitHub shows diffs, since review comments must be on lines that it shows.
_DIFF_OPTIONS = (
    "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--unified=3",
    "--src-prefix=a/", "--dst-prefix=b/", "--full-index", "--submodule=short",
)  # fmt: skip


def sizes(git: Git, shas: Sequence[str]) -> list[int]:
    """Return the sizes of objects in bytes, without reading them."""
    if not shas:
        return []
    output = git.run(
        "cat-file", "--batch-check=%(objectsize)", input="".join(f"{sha}\n" for sha in shas).encode()
    )
    return [int(line) for line in output.split()]


def contents(git: Git, shas: Sequence[str]) -> list[bytes]:
    """Return the contents of blobs. Check `sizes` first: everything is in memory at once."""
    return [data for _, data in _objects(git, [sha.encode() for sha in shas])] if shas else []


LARGE_FILE = 4 << 20
"""Bytes of a file above which git compares it as binary, which takes no memory."""


def diff_between(git: Git, base: str, head: str) -> bytes:
    """Return the diff from `base` to `head`, commits whose objects are in `git`. Raises `GitError`.

    It is made in a git directory of its own, since the attributes of the trusted one mark every file as binary.
    """
    objects = {"GIT_OBJECT_DIRECTORY": str(git.git_dir / "objects")}
    ends = (f"{base}^{{tree}}", f"{head}^{{tree}}")
    threshold = f"core.bigFileThreshold={LARGE_FILE}"
    with tempfile.TemporaryDirectory(prefix="compare-", dir=git.git_dir.parent) as folder:
        own, format_ = Path(folder, "git"), object_format_of(head)
        make_git_dir(own, bare=True, object_format=format_, attributes=READABLE_ATTRIBUTES)
        return Git(own).run("-c", threshold, "diff-tree", *_DIFF_OPTIONS, *ends, env=objects)


class RawChange(NamedTuple):
    """A path that differs between two trees, with its modes, its object ids and the letter of git's status."""

    path: str
    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    status: str


def raw_changes(git: Git, old: str, new: str) -> Iterator[RawChange]:
    """Yield what differs between two commits or trees, a renamed file as two paths. Raises `GitError`."""
    words = iter(git.listed("diff-tree", "-r", "-z", "--raw", "--no-renames", f"{old}^{{tree}}", new))
    for fields in words:
        yield RawChange(next(words), *fields.removeprefix(":").split(" "))


def tree_with_patch(git: Git, tree: str, patch: bytes, *options: str) -> str:
    """Write `tree` with `patch`, applied by git with these options. Return its hash. Raises `GitError` if it does not
    apply."""
    return _written(git, tree, patch, "apply", "--cached", "--whitespace=nowarn", *options, "-")


def tree_with_entries(git: Git, tree: str, entries: Iterable[str]) -> str:
    """Write `tree` with these entries, as `git update-index --index-info` reads them: removals first, since a folder
    may have become a file. Return its hash. Raises `GitError`."""
    listing = os.fsencode("".join(f"{entry}\0" for entry in entries))
    return _written(git, tree, listing, "update-index", "-z", "--index-info")


def _written(git: Git, tree: str, input: bytes, *command: str) -> str:
    with tempfile.TemporaryDirectory(prefix="index-", dir=git.git_dir.parent) as folder:
        index = Path(folder, "index")
        git.run("read-tree", tree, index=index)
        git.run(*command, input=input, index=index)
        return git.line("write-tree", index=index)


MOST_ENTRIES = 1_000_000
MOST_BYTES = 10 << 30
DEEPEST = 256

LONGEST_PATH = 4096
"""In bytes, as in Linux."""

# `-` in place of the size of what is no file, and BAD for a missing one, which git reports at checkout.
_ENTRY = re.compile(rb"[0-7]{6} \w+ [0-9a-f]+ +(\d+|-|BAD)\t([^\0]*)\0")


def check_tree(git: Git, tree: str, env: Mapping[str, str] | None = None) -> None:
    """Raise `CheckoutError` if `tree` is over a limit. The listing is read only up to that point."""
    entries = size = 0
    partial = b""
    command = ("ls-tree", "-r", "-t", "-z", "--long", "--full-tree", tree)
    with closing(git.chunks(*command, size=1 << 20, seconds=300.0, env=env)) as chunks:
        for chunk in chunks:
            complete, end, partial = (partial + chunk).rpartition(b"\0")
            listed = _ENTRY.findall(complete + end)
            entries += len(listed)
            size += sum(int(digits) for digits, _ in listed if digits.isdigit())
            paths = [path for _, path in listed]
            if any(path.count(b"/") >= DEEPEST for path in paths):
                raise _over(tree, f"nests folders more than {DEEPEST} deep")
            if any(len(path) > LONGEST_PATH for path in (*paths, partial)):
                raise _over(tree, f"has a path of more than {LONGEST_PATH:,} bytes")
            if entries > MOST_ENTRIES:
                raise _over(tree, f"has more than {MOST_ENTRIES:,} files and folders")
            if size > MOST_BYTES:
                raise _over(tree, f"holds more than {MOST_BYTES >> 30} GiB")


def _over(tree: str, reason: str) -> CheckoutError:
    return CheckoutError(
        f"the tree {tree[:12]} {reason}, which is the limit: it is not checked out. Remove what is too much from that "
        "commit, or name a branch without it"
    )
