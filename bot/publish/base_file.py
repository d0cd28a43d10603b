"""Read files of the base branch by plumbing: policy, template, task. There is no work tree."""

from __future__ import annotations

from bot.checkout.git import Git
from bot.contracts.errors import PublishError
from bot.publish.body import template

_FILE_LIMIT = 256 << 10


def read_base_file(git: Git, sha: str, path: str) -> str | None:
    """A text file of the commit, or `None` if it has no regular file there."""
    listing = git.run("ls-tree", "-z", "--full-tree", "-l", sha, "--", path)
    mode, _, entry = listing.partition(b" ")
    if mode not in (b"100644", b"100755"):
        return None
    _, blob, size = entry.partition(b"\t")[0].split()
    if int(size) > _FILE_LIMIT:
        raise PublishError(
            f"{path} of the base commit has {int(size):,} bytes; {_FILE_LIMIT:,} is the limit."
        )
    return git.run("cat-file", "blob", blob.decode()).decode(errors="replace")


def read_template(git: Git, sha: str) -> str:
    """The repository's pull-request template at the base commit, or empty."""
    for folder in template.FOLDERS:
        treeish = f"{sha}:{folder}"
        names = _names(git, treeish) if not folder or _is_folder(git, sha, folder) else []
        for name in sorted(names):
            if template.NAME.fullmatch(name):
                return read_base_file(git, sha, f"{folder}/{name}".lstrip("/")) or ""
    return ""


def _is_folder(git: Git, sha: str, folder: str) -> bool:
    return git.run("ls-tree", "-z", "--full-tree", sha, "--", folder).startswith(b"040000 tree")


def _names(git: Git, tree: str) -> list[str]:
    return git.run("ls-tree", "-z", "--name-only", tree).decode(errors="replace").split("\0")
