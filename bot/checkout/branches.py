"""Create commits by plumbing, and local branches without touching the checked-out branch."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

from bot.checkout.git import CheckoutError, Git, GitError, clean_environment
from bot.checkout.local import git_dir_of
from bot.contracts.pulls import BRANCH_PREFIX

_PREFIX = BRANCH_PREFIX.rstrip("/")
_LONGEST_SLUG = 40
_LONGEST_WORD = 20
_MOST_SUFFIXES = 1000
OWN_BRANCH = re.compile(rf"{BRANCH_PREFIX}[a-z0-9]+(?:-[a-z0-9]+)*")


class Signature(NamedTuple):
    """Name and e-mail address of a commit's author or committer."""

    name: str
    email: str


def branch_name(thread_number: int | None, title: str, *, on_pull_request: bool = False) -> str:
    """`agent/issue-N-slug`, `agent/pr-N-slug`, or `agent/slug` without a thread: [a-z0-9-] only.

    No word of the slug has a digit: trackers take `eng-12` or `sc12` in a branch name for one of their issues. None is
    long: it may encode data.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = (
        word for word in re.findall(r"[a-z0-9]+", plain) if word.isalpha() and len(word) <= _LONGEST_WORD
    )
    slug = "-".join(words)
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0]
    kind = "pr" if on_pull_request else "issue"
    parts = [f"{kind}-{thread_number}" if thread_number is not None else "", slug]
    return f"{_PREFIX}/{'-'.join(part for part in parts if part) or 'change'}"


def commit_tree(
    git: Git,
    tree_sha: str,
    parents: Sequence[str],
    message: str,
    *,
    author: Signature,
    committer: Signature,
    when: str,
) -> str:
    """Write a commit object and return its id. `when` is RFC 3339. The same arguments give the same id."""
    env: dict[str, str] = {}
    for role, who in (("AUTHOR", author), ("COMMITTER", committer)):
        env |= {f"GIT_{role}_NAME": who.name, f"GIT_{role}_EMAIL": who.email}
        env[f"GIT_{role}_DATE"] = f"{int(datetime.fromisoformat(when).timestamp())} +0000"
    data = message.replace("\0", "").strip("\n") + "\n"
    of_parents = [word for parent in parents for word in ("-p", parent)]
    output = git.run("commit-tree", tree_sha, *of_parents, "-F", "-", input=data.encode(), env=env)
    return output.decode().strip()


def create_branch(repo: Path, name: str, *, source: Git, commit: str, base: str) -> str:
    """Copy `commit`, made in `source` on top of `base`, into `repo` as a new branch. Return the branch's name.

    An existing branch is never moved: a suffix `-2`, `-3` and so on is added. Plumbing only: work tree, index, hooks
    and settings of the repository are not used. Raises `CheckoutError`.
    """
    if not OWN_BRANCH.fullmatch(name):
        raise CheckoutError(f"{name!r} is not a name this program gives to a branch")
    check_branch_prefix(repo)
    target = Git(git_dir_of(repo))
    revisions = f"{commit}\n^{base}\n".encode()
    try:
        target.run("cat-file", "-e", base)
    except GitError as error:
        raise CheckoutError(
            f"no branch {name} could be made in {repo}: it no longer has the commit {base} that the change is made on"
        ) from error
    try:
        pack = source.run("pack-objects", "-q", "--revs", "--thin", "--stdout", input=revisions)
        target.run("unpack-objects", "-q", input=pack)
        ref = _free_name(target, name)
        target.run("update-ref", "--no-deref", f"refs/heads/{ref}", commit, "0" * len(commit))
    except GitError as error:
        raise CheckoutError(f"no branch {name} could be made in {repo}: {error.detail}") from error
    return ref


def check_branch_prefix(repo: Path) -> None:
    """Raise `CheckoutError` if the repository has a branch named like the prefix of the branches that we create."""
    git = Git(git_dir_of(repo))
    ref = f"refs/heads/{_PREFIX}"
    if git.run("for-each-ref", "--format=%(refname)", ref).split()[:1] == [ref.encode()]:
        raise CheckoutError(
            f"a branch named {_PREFIX!r} is in the way of the branches {_PREFIX}/...: "
            f"rename it, as in: git branch -m {_PREFIX} {_PREFIX}-old"
        )


def count_uncommitted(repo: Path) -> int:
    """Count the files of the work tree that differ from HEAD or are new, without ignored ones."""
    return len(uncommitted_files(repo, "--ignore-submodules=all"))


def uncommitted_state(repo: Path, path: str) -> Literal["new", "changed", ""]:
    """Return whether the file at `path` is new or changed against HEAD; empty if neither, or if it is no file."""
    [(state, _), *_] = [*uncommitted_files(repo, "--ignored", "--", path), ("", "")]
    if not state or not (repo / path).is_file():
        return ""
    return "new" if state in ("??", "!!", "A ", "AM") else "changed"


def uncommitted_files(repo: Path, *arguments: str) -> list[tuple[str, str]]:
    """Return the state of `git status` and the path of each file that differs from HEAD, with further `arguments` of
    that command. No submodule is looked into."""
    git = Git(git_dir_of(repo))
    if git.git_dir.name != ".git":
        return []
    work_tree = git.git_dir.parent
    try:
        listing = git.listed(
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            *arguments,
            work_tree=work_tree,
            env=clean_environment(_without_filters(git)),
        )
    except GitError as error:
        raise CheckoutError(
            f"git cannot read the state of {repo}: {error.detail}. `git status` there shows what to put right; "
            "a damaged index is written again by `git reset`."
        ) from error
    return [(entry[:2], entry[3:]) for entry in listing]


def _without_filters(git: Git) -> dict[str, str]:
    """Return settings that disable the filters of the repository's configuration for `git status`."""
    try:
        pattern = r"^filter\..*\.(clean|process|required)$"
        names = git.listed("config", "--null", "--name-only", "--get-regexp", pattern)
    except GitError as error:
        if error.detail == "exit 1":  # and not a word: there are none
            return {}
        raise
    return {name: "false" if name.endswith(".required") else "" for name in names}


def _free_name(target: Git, name: str) -> str:
    # A tag of the same name would come first in most commands of git.
    folders = ("refs/heads/", "refs/tags/", "refs/")
    listing = target.run("for-each-ref", "--format=%(refname)", *(f"{one}{_PREFIX}" for one in folders))
    refs = listing.decode(errors="surrogateescape").split("\n")
    taken = {ref.removeprefix(folder) for ref in refs for folder in folders}
    for number in range(1, _MOST_SUFFIXES):
        candidate = name if number == 1 else f"{name}-{number}"
        if candidate not in taken:
            return candidate
    raise CheckoutError(
        f"{name} and a thousand numbered names beside it are taken: delete some of those branches"
    )
