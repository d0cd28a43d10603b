"""Fetch the head of a pull request, the tip of its base branch and their merge base.

The head comes from the ref in the base repository, which exists for forks too, also deleted ones. The head is
untrusted: policy, instructions and settings are read at the tip of the base branch.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from bot.checkout import layout, remote
from bot.checkout.errors import CheckoutError, MissingRevisionError, MovedHeadError
from bot.checkout.git import Git, GitError

# Depths in commits at which the merge base is searched, one after the other.
_DEPTHS = (64, 1024, 16_384)
_HEAD = "refs/agent/head"
_POLICY = "refs/agent/policy"
_MERGE_BASE = "refs/agent/merge-base"
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What no ref name may have. The name is never first in an argument, so a leading hyphen does no harm.
_NOT_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")


class PullHead(NamedTuple):
    """The head of pull request `number` at the time of the trigger."""

    number: int
    sha: str


class PullBase(NamedTuple):
    """`policy_sha` is the tip of the base branch. `merge_base` is empty if there is none."""

    policy_sha: str
    merge_base: str


def fetch_pull(
    git: Git, url: str, token: str, head: PullHead, *, base_ref: str, depth: list[str]
) -> PullBase:
    """Fetch the head, the tip of the branch `base_ref` and their merge base into `git`.

    Raises `MovedHeadError` if the head is no longer on the server, else a `CheckoutError`.
    """
    if head.number <= 0 or not OBJECT_ID.fullmatch(head.sha):
        raise MissingRevisionError(f"pull request {head.number} at {head.sha!r} is none that can be fetched")
    policy_sha = _fetch_tips(git, url, token, head, base_ref=base_ref, depth=depth)
    return PullBase(policy_sha, _fetch_merge_base(git, url, token, head.sha, policy_sha))


def recorded_pull_base(git: Git) -> PullBase:
    """Return what `fetch_pull` fetched into `git` in an earlier run; empty if it was not for a pull request."""
    policy_sha = _sha_of(git, _POLICY)
    return PullBase(policy_sha, _sha_of(git, _MERGE_BASE) or policy_sha)


def branch_ref(name: str) -> str:
    """Return the full ref of a branch. Raises `MissingRevisionError` for an invalid name."""
    if not name or _NOT_IN_A_REF.search(name):
        raise MissingRevisionError(f"{name!r} is not the name of a branch")
    return f"refs/heads/{name}"


def _fetch_tips(git: Git, url: str, token: str, head: PullHead, *, base_ref: str, depth: list[str]) -> str:
    base = f"+{branch_ref(base_ref)}:{_POLICY}"
    try:
        refs = [f"+refs/pull/{head.number}/head:{_HEAD}", base]
        remote.fetch(git.git_dir, url, refs, token, depth)
    except MissingRevisionError:
        # One of the two is not there; a pull request's ref comes a moment after the pull request.
        remote.fetch(git.git_dir, url, [base], token, depth)
    if _sha_of(git, _HEAD) != head.sha:
        try:
            remote.fetch(git.git_dir, url, [f"+{head.sha}:{_HEAD}"], token, depth)
        except MissingRevisionError as error:
            raise MovedHeadError(
                f"the head of pull request #{head.number} was {head.sha[:12]} when this was asked, and that "
                "commit is not on the server any more: ask again to have the new head worked on"
            ) from error
    return _sha_of(git, _POLICY)


def _fetch_merge_base(git: Git, url: str, token: str, head: str, policy: str) -> str:
    """Search the merge base in a temporary git directory that has commits alone, then fetch it."""
    if head == policy:
        return head
    folder = git.git_dir.parent / "ancestry.git"
    layout.make_git_dir(folder, bare=True, object_format=layout.object_format_of(head))
    try:
        merge_base = _search_merge_base(Git(folder), url, token, head, policy)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if merge_base and merge_base not in (head, policy):
        remote.fetch(git.git_dir, url, [f"+{merge_base}:{_MERGE_BASE}"], token, ["--depth=1", "--no-tags"])
    return merge_base


def _search_merge_base(git: Git, url: str, token: str, head: str, policy: str) -> str:
    refs = [f"+{head}:{_HEAD}", f"+{policy}:{_POLICY}"]

    def fetch(limit: str) -> None:
        remote.fetch(git.git_dir, url, refs, token, [remote.NO_TREES, "--no-tags", limit])

    for depth in _DEPTHS:
        fetch(f"--depth={depth}")
        merge_base = _merge_base(git, head, policy)
        boundary = _boundary(git)
        if merge_base:
            since = _newest(git, [merge_base])
            if boundary and _newest(git, boundary) > since:
                # A line that was cut off could lead to a later one: bring all that is as new as this.
                fetch(f"--shallow-since={since}")
                merge_base = _merge_base(git, head, policy)
            return merge_base
        if not boundary:
            return ""
    return ""


def _merge_base(git: Git, head: str, policy: str) -> str:
    try:
        return git.run("merge-base", head, policy).decode().strip()
    except GitError as error:
        if error.detail == "exit code 1":  # and not a word: there is none
            return ""
        raise CheckoutError(f"the merge base of the pull request cannot be found: {error.detail}") from error


def _boundary(git: Git) -> list[str]:
    """The commits whose parents were not fetched."""
    try:
        return (git.git_dir / "shallow").read_text().split()
    except FileNotFoundError:
        return []


def _newest(git: Git, commits: list[str]) -> int:
    listed = "".join(f"{sha}\n" for sha in commits).encode()
    times = git.run("log", "--no-walk=unsorted", "--format=%ct", "--stdin", input=listed)
    return max(int(time) for time in times.split())


def _sha_of(git: Git, ref: str) -> str:
    try:
        return git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").decode().strip()
    except GitError:
        return ""


def mark_diff_base(tree: Path, commit: str) -> None:
    """Point the branch `base` of the work tree's own git at the merge base: `git diff base` shows the pull request."""
    layout.set_branch(tree / ".git", "base", commit)
