"""Files and diffs of the base commit, of a changed tree and of a pull request, read from git objects."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.checkout.objects import blobs_at, diff_between
from bot.review.diff import DiffError, parse_diff
from bot.review.diff_text import next_part, part_text, pieces_of

# Characters, about 20,000 tokens: unlike in a review, the diff is the background of the run and not its subject.
_MAX_DIFF = 80_000
_MAX_FILE_DIFF = 16_000


class GitTrees:
    """Reads trees by their hash, and the base commit's by default. Paths are decoded with `surrogateescape`."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._git = checkout.git
        self._base = checkout.base_sha

    def paths(self, tree: str = "") -> Sequence[str]:
        """Raises `GitError`."""
        if not tree:
            return self._checkout.paths
        listing = self._git.run("ls-tree", "-r", "-z", "--name-only", tree)
        return [path.decode(errors="surrogateescape") for path in listing.split(b"\0") if path]

    def read(self, path: str, tree: str = "") -> str | None:
        """The text of a file; `None` if there is none."""
        try:
            blob = self._git.run("cat-file", "blob", f"{tree or self._base}:{path}")
        except GitError:
            return None
        return blob.decode(errors="replace")

    def texts(self, paths: Sequence[str], tree: str = "") -> dict[str, str]:
        """The texts of those of `paths` that are files of a tree, with one git process; none if it fails."""
        try:
            blobs = blobs_at(self._git, tree or self._base, paths)
        except GitError:
            return {}
        return {path: blob.decode(errors="replace") for path, blob in blobs.items()}

    def base_tree(self) -> str:
        """The hash of the base's tree. Raises `GitError`."""
        return self._git.run("rev-parse", "--verify", f"{self._base}^{{tree}}").decode().strip()

    def with_base_files(self, tree: str, paths: Sequence[str]) -> str:
        """The hash of `tree` with each of `paths` as the base has it: a file that the base lacks is absent. Raises
        `GitError`."""
        listing = self._git.run("ls-tree", "-r", "-z", "--full-tree", self._base).split(b"\0")
        wanted = {os.fsencode(path) for path in paths}
        entries = [entry for entry in listing if entry and entry.partition(b"\t")[2] in wanted]
        absent = f"0 {'0' * len(self._base)}\t".encode()
        gone = [absent + path for path in wanted.difference(entry.partition(b"\t")[2] for entry in entries)]
        # Removals first: a file of the base may be a folder now.
        return self._updated(tree, [*gone, *entries])

    def with_text(self, path: str, text: str) -> str:
        """The hash of the base's tree with another text of one of its files. Raises `GitError`."""
        head = self._git.run("ls-tree", "-z", "--full-tree", self._base, "--", path).partition(b" ")[0]
        blob = self._git.run("hash-object", "-w", "--stdin", "--no-filters", input=text.encode()).strip()
        return self._updated(self._base, [b"%b %b\t%b" % (head, blob, os.fsencode(path))])

    def _updated(self, tree: str, entries: Sequence[bytes]) -> str:
        with tempfile.TemporaryDirectory(prefix="tree-", dir=self._git.git_dir.parent) as folder:
            index = Path(folder) / "index"
            self._git.run("read-tree", tree, index=index)
            lines = b"".join(line + b"\0" for line in entries)
            self._git.run("update-index", "-z", "--index-info", input=lines, index=index)
            return self._git.run("write-tree", index=index).decode().strip()

    def changes(self, tree: str) -> tuple[list[str], dict[str, str]]:
        """The paths that differ from the base, and the old path of each renamed file by its new one. Raises
        `GitError`."""
        listing = self._git.run("diff-tree", "-r", "-z", "-M", "--name-status", self._base, tree)
        words = [word.decode(errors="surrogateescape") for word in listing.split(b"\0")]
        changed: list[str] = []
        renamed: dict[str, str] = {}
        at = 0
        while at + 1 < len(words):
            if words[at].startswith("R"):
                renamed[words[at + 2]] = words[at + 1]
                changed += words[at + 1 : at + 3]
                at += 3
            else:
                changed.append(words[at + 1])
                at += 2
        return changed, renamed


def pull_diff(checkout: Checkout) -> str:
    """The diff of a pull request for the model of a run that does not review it; a sentence if it is unknown."""
    if not checkout.merge_base:
        return (
            "(There is no diff: where the pull request began could not be found. Its files are in the tree.)"
        )
    try:
        diff = parse_diff(diff_between(checkout.git, checkout.merge_base, checkout.base_sha))
    except (GitError, DiffError) as error:
        return f"(There is no diff: {error})"
    if not diff.files:
        return "(The pull request changes no file.)"
    # Small files first, so that one lock file does not displace the rest.
    pieces = sorted(pieces_of(diff, most=_MAX_FILE_DIFF), key=lambda piece: (piece.number, len(piece.text)))
    return part_text(*next_part(pieces, _MAX_DIFF), new=False)
