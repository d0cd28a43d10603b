"""Check out from a local repository: its objects are read, its settings are not used."""

import os
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bot.checkout import layout
from bot.checkout.git import FETCH, CheckoutError, Git, GitError, MissingRevisionError
from bot.checkout.objects import check_tree

# Before git 2.39.4 upload-pack fetches what a partial clone lacks, by whatever program the clone's settings name
# (CVE-2024-32004): our own fetch may use a file's protocol, what it starts may use none. The user named the repository,
# so its owner does not matter.
_UPLOAD_PACK = (
    "env GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "
    "'GIT_CONFIG_VALUE_0=*' git upload-pack"
)


class LocalCommit(NamedTuple):
    """A commit of a local repository. `branch` is the branch that named it, or empty; `objects` the object
    directory."""

    sha: str
    branch: str
    objects: Path


def git_dir_of(path: Path) -> Path:
    """Return the git directory of the repository that contains `path`. Raises `CheckoutError`.

    git's own discovery is not used: it also obeys environment and settings.
    """
    start = Path(os.path.abspath(path))
    if not start.is_dir():
        raise CheckoutError(f"there is no folder {start}")
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder / ".git"
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            return folder
    raise CheckoutError(f"{start} is not in a git repository")


def repository_root(path: Path) -> Path:
    """Return the root of the work tree that contains `path`, or a bare repository itself.

    Raises `CheckoutError`.
    """
    git_dir = git_dir_of(path)
    return git_dir.parent if git_dir.name == ".git" else git_dir


# What has one meaning only: a whole object id, a full ref, HEAD and what it leads to.
_UNAMBIGUOUS = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z|refs/|(?:HEAD|@)(?![\w./-])")


def resolve(path: Path, revision: str) -> LocalCommit:
    """Resolve `revision` in the repository at `path`. Raises a `CheckoutError` that says what is missing.

    A branch comes before a tag of the same name, as in `git switch`; git's own order is the reverse.
    """
    git_dir = git_dir_of(path)
    if not revision or revision.startswith("-"):
        raise MissingRevisionError(f"{revision!r} is not a branch or commit")
    if not _UNAMBIGUOUS.match(revision):
        for folder in ("refs/heads/", "refs/remotes/"):
            with suppress(MissingRevisionError):
                return _resolve(path, git_dir, folder + revision)
    return _resolve(path, git_dir, revision)


def _resolve(path: Path, git_dir: Path, revision: str) -> LocalCommit:
    git = Git(git_dir)
    names = (f"{revision}^{{commit}}", "--symbolic-full-name", revision, "--git-path", "objects")
    try:
        output = git.run("rev-parse", *names)
    except GitError as error:
        raise _not_found(git, path, revision, error) from error
    # The name is missing where a commit was given by id; the folder is absolute and may hold any character.
    sha, _, rest = os.fsdecode(output).removesuffix("\n").partition("\n")
    name, _, objects = ("", "", rest) if rest.startswith("/") else rest.partition("\n")
    if not objects.startswith("/"):
        raise MissingRevisionError(f"{revision!r} is not one commit of the repository {path}")
    branch = name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else ""
    return LocalCommit(sha, branch, Path(objects))


def _not_found(git: Git, path: Path, revision: str, error: GitError) -> CheckoutError:
    try:
        # Any ref at all counts: HEAD may point at a branch that was never born while others hold commits.
        known = git.run("for-each-ref", "--count=1")
    except GitError:
        return CheckoutError(
            f"the repository {path} cannot be read: {error.detail}. See what is damaged with `git fsck` there"
        )
    if not known:
        return CheckoutError(f"the repository {path} has no commits yet: make a first commit, then ask again")
    return MissingRevisionError(f"the repository {path} has no branch or commit {revision!r}")


def _alternate(commit: LocalCommit) -> str:
    """Return the object directory of `commit` as another git directory names it."""
    quoted = os.fspath(commit.objects).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


def git_beside(commit: LocalCommit, git_dir: Path) -> Git:
    """Return a new bare git directory that also sees the objects of the repository of `commit`, and none of its
    settings."""
    format_ = layout.object_format_of(commit.sha)
    layout.make_git_dir(git_dir, bare=True, object_format=format_, branch=commit.branch or "base")
    (git_dir / "objects" / "info" / "alternates").write_bytes(os.fsencode(f"{_alternate(commit)}\n"))
    return Git(git_dir)


def fetch(git: Git, path: Path, commit: LocalCommit, branch: str, depth: list[str]) -> None:
    """Fetch `commit` and the tags on it from the repository at `path`, within the limits of a tree. Raises
    `CheckoutError`."""
    upload, refspec = f"--upload-pack={_UPLOAD_PACK}", f"{commit.sha}:refs/heads/{branch}"
    try:
        check_tree(git, commit.sha, {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _alternate(commit)})
        git.run(
            *FETCH, *depth, upload, os.fspath(git_dir_of(path)), refspec, env={"GIT_ALLOW_PROTOCOL": "file"}
        )
    except GitError as error:
        own = f"git -C {shlex.quote(os.fspath(path))}"
        raise CheckoutError(
            f"{path} lacks objects of this commit ({error.detail}). If it is a partial clone, bring them with "
            f"`{own} fetch --refetch --no-filter`; else see what is damaged with `{own} fsck`"
        ) from error
