"""Check out a commit: a trusted git directory, a work tree with a disposable `.git`, and notes on what is missing.

The disposable `.git` is for the agent, which may change or destroy it. The supervisor never reads it.
"""

import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import basename
from typing import Literal, NamedTuple

from bot.checkout import layout, local, remote
from bot.checkout.git import CheckoutError, Git, GitError, UnavailableError
from bot.checkout.merge import merged
from bot.checkout.objects import blobs_at, tree_with_entries
from bot.checkout.pull import OBJECT_ID, PullHead, branch_ref, fetch_pull
from bot.contracts.plain_text import quoted_names
from bot.contracts.regular_files import read_regular
from bot.ecosystems.registry import ecosystems

History = int | Literal["full"]

# Narrower than `git check-ref-format --branch`. Other names are checked out as `base`.
_TAGGER = {"GIT_COMMITTER_NAME": "slash-agent", "GIT_COMMITTER_EMAIL": "slash-agent@localhost"}
_PLAIN_BRANCH = re.compile(r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|\.$|/$))[A-Za-z0-9_][A-Za-z0-9._/+#-]{0,199}")


@dataclass(frozen=True)
class Source:
    """A URL or folder, a branch or commit of it, and a token, which is never printed or stored.

    With `pull`, the head of that pull request is checked out and `revision` is its base branch.
    """

    url: str
    revision: str
    token: str = field(default="", repr=False)
    pull: PullHead | None = None


class Checkout(NamedTuple):
    """A commit on disk. `notes` say what the checkout lacks. `branch` is the branch of the work tree's HEAD. `paths`
    are those of `base_sha`, decoded with `surrogateescape`.

    `base_sha` is the commit that patches apply to. Policy, instructions and templates are read at `policy_sha`: the
    same commit, or the tip of the base branch of a pull request. `merge_base` is the merge base of a pull request,
    empty if there is none or it is too far back. All three are in `git`. `conflicted`: the base commit is the automatic
    merge of a pull request, with conflicts in these files.

    The methods read trees by their hash, and the base commit's by default.
    """

    git: Git
    tree: Path
    base_sha: str
    notes: tuple[str, ...]
    branch: str = "base"
    policy_sha: str = ""
    merge_base: str = ""
    paths: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()

    def paths_at(self, tree: str) -> Sequence[str]:
        """Raises `GitError`."""
        if tree in ("", self.base_sha):
            return self.paths
        return self.git.listed("ls-tree", "-r", "-z", "--name-only", tree)

    def read(self, path: str, tree: str = "") -> str | None:
        """The text of a file; `None` if there is none."""
        try:
            blob = self.git.run("cat-file", "blob", f"{tree or self.base_sha}:{path}")
        except GitError:
            return None
        return blob.decode(errors="replace")

    def texts(self, paths: Sequence[str], tree: str = "") -> dict[str, str]:
        """The texts of those of `paths` that are files of a tree, with one git process; none if it fails."""
        with suppress(GitError):
            blobs = blobs_at(self.git, tree or self.base_sha, paths)
            return {path: blob.decode(errors="replace") for path, blob in blobs.items()}
        return {}

    def base_tree(self) -> str:
        """The hash of the base's tree. Raises `GitError`."""
        return self.git.line("rev-parse", "--verify", f"{self.base_sha}^{{tree}}")

    def with_base_files(self, tree: str, paths: Sequence[str]) -> str:
        """The hash of `tree` with each of `paths` as the base has it: a file that the base lacks is absent. Raises
        `GitError`."""
        listing = self.git.listed("ls-tree", "-r", "-z", "--full-tree", self.base_sha)
        there = {entry.partition("\t")[2]: entry for entry in listing}
        absent = f"0 {'0' * len(self.base_sha)}\t"
        gone = [absent + path for path in paths if path not in there]
        return tree_with_entries(self.git, tree, [*gone, *(there[path] for path in paths if path in there)])

    def changes(self, tree: str) -> tuple[list[str], dict[str, str]]:
        """The paths that differ from the base, and the old path of each renamed file by its new one. Raises
        `GitError`."""
        words = iter(self.git.listed("diff-tree", "-r", "-z", "-M", "--name-status", self.base_sha, tree))
        changed: list[str] = []
        renamed: dict[str, str] = {}
        for status in words:
            changed.append(next(words))
            if status.startswith("R"):
                changed.append(next(words))
                renamed[changed[-1]] = changed[-2]
        return changed, renamed


def check_out(source: Source, folder: Path, *, history: History = 1) -> Checkout:
    """Check out `source` into `trusted.git` and `tree` below `folder`. Raises a `CheckoutError`.

    `history` is the depth in commits, at least 1, or "full".
    """
    with _failing_as(f"the checkout in {folder} failed"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if source.pull is not None:
            return _from_pull(source, source.pull, folder, history)
        if remote.is_remote(source.url):
            return _from_remote(source, folder, history)
        return _from_local(source, folder, history)


def materialise(checkout: Checkout, tree: Path, *, tree_sha: str | None) -> None:
    """Write another pristine work tree, of the base commit or of `tree_sha`. `tree` must not exist."""
    with _failing_as(f"a work tree cannot be written to {tree}"):
        _write_tree(checkout.git, checkout.base_sha, checkout.branch, tree, tree_sha=tree_sha)


@contextmanager
def _failing_as(what: str) -> Generator[None]:
    """Turn errors of the system and of git into a `CheckoutError`."""
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"{what}: {error.strerror or error}") from error
    except GitError as error:
        raise CheckoutError(f"{what}: {error.detail}") from error


def _from_local(source: Source, folder: Path, history: History) -> Checkout:
    path = Path(source.url.removeprefix("file://"))
    commit = local.resolve(path, source.revision)
    branch = _branch_or_base(commit.branch)
    git = _trusted(folder, layout.object_format_of(commit.sha), branch)
    local.fetch(git, path, commit, branch, _depth(history))
    if history == 1:
        # The newest tag that the commit contains, if any, is put on the commit itself, which has no history in `git`:
        # then `git describe` prints a version. There may be none, or its history may not be whole.
        with suppress(GitError):
            name = Git(local.git_dir_of(path)).run("describe", "--tags", "--abbrev=0", commit.sha)
            tag = ("tag", "--annotate", "--force", "-m", "x", name.decode().strip(), commit.sha)
            git.run(*tag, env=_TAGGER)
    return _new_checkout(git, folder, commit.sha, branch, history)


def _from_remote(source: Source, folder: Path, history: History) -> Checkout:
    remote.check_url(source.url, source.token)
    revision = source.revision
    by_id = OBJECT_ID.fullmatch(revision) is not None
    branch = _branch_or_base("" if by_id or revision == "HEAD" else revision.removeprefix("refs/heads/"))
    git = _trusted(folder, layout.object_format_of(revision) if by_id else "sha1", branch)
    as_it_is = by_id or revision == "HEAD" or revision.startswith("refs/")
    wanted = revision if as_it_is else branch_ref(revision)
    remote.fetch(git.git_dir, source.url, [f"{wanted}:refs/heads/{branch}"], source.token, _depth(history))
    sha = git.line("rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}")
    return _new_checkout(git, folder, sha, branch, history)


def _from_pull(source: Source, head: PullHead, folder: Path, history: History) -> Checkout:
    remote.check_url(source.url, source.token)
    branch = "head"
    git = _trusted(folder, layout.object_format_of(head.sha), branch)
    depth, base_ref = _depth(history), source.revision.removeprefix("refs/heads/")
    pull_base = fetch_pull(git, source.url, source.token, head, base_ref=base_ref, depth=depth)
    sha, conflicted = head.sha, tuple[str, ...]()
    if head.merges:
        sha, conflicted, by_hand = merged(git, head.merge_base, head.sha, pull_base.policy_sha)
        if by_hand:
            raise CheckoutError(by_hand)
    layout.set_branch(git.git_dir, branch, sha)
    checkout = _new_checkout(git, folder, sha, branch, history)
    # `git diff base` shows the pull request.
    layout.set_branch(checkout.tree / ".git", "base", pull_base.merge_base or pull_base.policy_sha)
    return checkout._replace(
        policy_sha=pull_base.policy_sha, merge_base=pull_base.merge_base, conflicted=conflicted
    )


def _new_checkout(git: Git, folder: Path, sha: str, branch: str, history: History) -> Checkout:
    tree = folder / "tree"
    _write_tree(git, sha, branch, tree)
    listing = git.listed("ls-files", "-s", "-z", index=tree / ".git" / "index")
    entries = [entry.partition("\t") for entry in listing]
    paths = tuple(path for _, _, path in entries)
    notes: list[str] = []
    if submodules := [path for head, _, path in entries if head.startswith(_GITLINK)]:
        names = quoted_names(submodules, 5)
        notes.append(
            f"Submodules were not fetched: {names}. Commands see what a checkout or `prepare` has of them."
        )
    attributes = [path for path in paths if basename(path) == ".gitattributes"]
    if any(b"filter=lfs" in _read(tree, path) for path in attributes):
        notes.append(
            "Git LFS contents were not fetched: the files that `.gitattributes` gives to LFS are pointers."
        )
    if history == 1 and not any((git.git_dir / "refs/tags").iterdir()):

        def text(name: str) -> str:
            return _read(tree, name).decode(errors="replace")

        if tools := [tool for one in ecosystems() for tool in one.version_tools(text)]:
            notes.append(
                f"{' and '.join(tools)} takes the version from git history, and only the base commit was fetched: "
                "set `history` in the policy file to a number of commits or to `full` if a wrong version matters."
            )
    return Checkout(git, tree, sha, tuple(notes), branch, policy_sha=sha, paths=paths)


def _trusted(folder: Path, object_format: str, branch: str) -> Git:
    git_dir = folder / "trusted.git"
    layout.make_git_dir(git_dir, bare=True, object_format=object_format, branch=branch)
    return Git(git_dir)


def _write_tree(git: Git, sha: str, branch: str, tree: Path, *, tree_sha: str | None = None) -> None:
    tree.mkdir(parents=True)
    own = tree / ".git"
    layout.make_git_dir(
        own,
        bare=False,
        object_format=layout.object_format_of(sha),
        branch=branch,
        attributes=layout.READABLE_ATTRIBUTES,
    )
    layout.set_branch(own, branch, sha)
    git.run("read-tree", "--reset", "-u", tree_sha or sha, work_tree=tree, index=own / "index")
    layout.copy_history(git.git_dir, own)


def _depth(history: History) -> list[str]:
    """Return the options of the fetch. History comes with tags, from which version tools count."""
    if history == "full":
        return []
    return [f"--depth={history}", *(["--no-tags"] if history == 1 else [])]


def _branch_or_base(branch: str) -> str:
    return branch if _PLAIN_BRANCH.fullmatch(branch) else "base"


_GITLINK = "160000"


def _read(tree: Path, name: str) -> bytes:
    """Return the beginning of a regular file that is not a link; nothing for anything else."""
    with suppress(OSError):
        return read_regular(os.path.join(tree, name), 1 << 20)
    return b""
