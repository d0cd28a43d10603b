"""`--dirty`: a commit of uncommitted changes, in a git directory of its own. The repository is only read.

Files are stored as they are on disk: neither the repository's settings nor its filters apply.
"""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bot.checkout import layout
from bot.checkout.branches import Signature, commit_tree, uncommitted_files
from bot.checkout.git import Git, GitError
from bot.checkout.local import git_beside, git_dir_of, resolve
from bot.checkout.objects import tree_with_patch
from bot.contracts.errors import UsageError
from bot.contracts.plain_text import quoted_names

_SENSITIVE = re.compile(
    r"""(?:^|/)(?:
        \.env(?:\.(?!example$|sample$|template$|dist$)[^/]*)? | \.envrc | \.netrc | \.npmrc | \.pypirc | \.dockercfg
        | \.git-credentials | \.htpasswd | \.pgpass | id_(?:rsa|dsa|ecdsa|ed25519) | [^/]*(?:credentials?|secrets?)
        (?:\.(?:json|ya?ml|toml|ini|txt|env))? | [^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfvars|tfstate)
        | (?:\.ssh|\.aws|\.gnupg|\.kube|\.docker)/.*
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
_UNFINISHED = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}
_SUBMODULE = "160000"
_NAMED = 5


class DirtyBase(NamedTuple):
    """A commit of the changes to `paths` on top of `head`; `git_dir` has it and HEAD on it."""

    git_dir: Path
    head: str
    paths: tuple[str, ...]

    @property
    def note(self) -> str:
        """A sentence for the outcome."""
        named = quoted_names(self.paths, _NAMED)
        return f"The base of this run is HEAD ({self.head[:12]}) with uncommitted changes: {named}."

    def commit_on_head(self, patch: bytes, message: str, author: Signature, when: str) -> str:
        """Return a commit of `patch`, which was made on this base, on HEAD alone; empty if it does not apply there."""
        git = Git(self.git_dir)
        try:
            tree = tree_with_patch(git, self.head, patch)
        except GitError:
            return ""
        return commit_tree(git, tree, (self.head,), message, author=author, committer=author, when=when)


def make_dirty_base(repo: Path, include: Sequence[Path], git_dir: Path) -> DirtyBase | None:
    """Make a commit of the tracked changes of `repo` and of the untracked files in `include` at `git_dir`, which must
    not exist; `None` if there are none. Raises `UsageError` for what must not or cannot be in it."""
    repo_git = git_dir_of(repo)
    if repo_git.name != ".git":
        raise UsageError(f"--dirty needs a work tree, and {repo} is a bare repository.")
    head, work_tree = resolve(repo, "HEAD"), repo_git.parent
    own = Git(repo_git)
    names = [option for name in ("index", "shallow", *_UNFINISHED) for option in ("--git-path", name)]
    answer = os.fsdecode(own.run("rev-parse", *names, work_tree=work_tree))
    index, shallow, *unfinished = (work_tree / path for path in answer.splitlines())
    for path, what in zip(unfinished, _UNFINISHED.values(), strict=True):
        if path.exists():
            raise UsageError(
                f"{what.capitalize()} is in progress, and --dirty needs a finished state: finish or abort it first."
            )
    if own.run("ls-files", "-u", "-z", work_tree=work_tree):
        raise UsageError(
            "Files with conflicts are not merged yet: resolve them, `git add` them, and try again."
        )
    changed = [path for state, path in uncommitted_files(repo, "--untracked-files=no") if state]
    paths = [*changed, *(path for one in include for path in _untracked(repo, one))]
    _check_names(own, work_tree, paths)
    git = git_beside(head, git_dir)
    for file in (index, shallow, *index.parent.glob("sharedindex.*")):
        if file.is_file():
            shutil.copyfile(file, git_dir / file.name)
    tags = own.run("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")
    (git_dir / "packed-refs").write_bytes(tags)
    index, listing = git_dir / "index", os.fsencode("".join(f"{path}\0" for path in paths))
    arguments = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
    git.run(*arguments, input=listing, work_tree=work_tree, index=index)
    tree = git.line("write-tree", index=index)
    difference = git.listed("diff-tree", "-r", "-z", "--name-only", head.sha, tree)
    if not difference:
        return None
    you = Signature("You", "you@localhost")
    message = "Uncommitted changes"
    commit = commit_tree(
        git, tree, (head.sha,), message, author=you, committer=you, when="2000-01-01T00:00:00Z"
    )
    layout.set_branch(git_dir, head.branch or "base", commit)
    return DirtyBase(git_dir, head.sha, tuple(difference))


def _untracked(repo: Path, file: Path) -> list[str]:
    """Return the untracked files at `file`: itself, also an ignored one, or those in a folder that git does not ignore.
    A tracked file is no more than its change."""
    # Folders on the way may be links; the last name may be one that is part of the repository.
    named = Path(os.path.abspath(file))
    path = os.path.relpath(named.parent.resolve() / named.name, repo)
    if path.startswith("../") or path == ".." or not os.path.lexists(repo / path):
        raise UsageError(f"--include {file}: there is no such file in {repo}.")
    is_folder = (repo / path).is_dir() and not (repo / path).is_symlink()
    ignored = () if is_folder else ("--ignored",)
    files = [name for state, name in uncommitted_files(repo, *ignored, "--", path) if state in ("??", "!!")]
    if nested := next((name for name in files if name.endswith("/")), ""):
        raise UsageError(
            f"--include {file}: {nested} is a repository of its own, which no commit here can hold."
        )
    return files


def _check_names(git: Git, work_tree: Path, paths: Sequence[str]) -> None:
    if sensitive := [path for path in paths if _SENSITIVE.search(path)]:
        raise UsageError(
            f"--dirty does not show the model files that look like secrets by their names: "
            f"{quoted_names(sensitive, _NAMED)}. Leave them out of --include; commit or restore tracked ones first."
        )
    if not paths:
        return
    listing = git.listed("ls-files", "-s", "-z", "--", *paths, work_tree=work_tree)
    listing += git.listed("ls-tree", "-z", "HEAD", "--", *paths, work_tree=work_tree)
    if modules := {entry.partition("\t")[2] for entry in listing if entry.startswith(_SUBMODULE)}:
        raise UsageError(
            f"Submodules at another commit are not taken along: {quoted_names(sorted(modules), _NAMED)}. Commit that "
            "change first, or run `git submodule update`."
        )
