"""Fetch the head of a pull request, the tip of its base branch and their merge base, which GitHub computes.

The head comes from the ref in the base repository, which exists for forks too, also deleted ones. The head is
untrusted: policy, instructions and settings are read at the tip of the base branch.
"""

import re
from typing import NamedTuple

from bot.checkout import remote
from bot.checkout.git import CheckoutError, Git, GitError, MissingRevisionError

_HEAD = "refs/agent/head"
_POLICY = "refs/agent/policy"
_MERGE_BASE = "refs/agent/merge-base"
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Refused by `git check-ref-format`.
_NOT_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{")


class PullHead(NamedTuple):
    """The head of pull request `number` at the time of the trigger, and its merge base with the base branch; empty if
    there is none. `merges`: the work tree is the automatic merge of the base's tip into the head."""

    number: int
    sha: str
    merge_base: str = ""
    merges: bool = False


class PullBase(NamedTuple):
    """`policy_sha` is the tip of the base branch. `merge_base` is empty if there is none."""

    policy_sha: str
    merge_base: str


def fetch_pull(
    git: Git, url: str, token: str, head: PullHead, *, base_ref: str, depth: list[str]
) -> PullBase:
    """Fetch the head, the tip of the branch `base_ref` and their merge base into `git`.

    Raises `CheckoutError`, also if the head is no longer on the server.
    """
    if head.number <= 0 or not all(map(OBJECT_ID.fullmatch, (head.sha, head.merge_base or head.sha))):
        raise MissingRevisionError(f"pull request {head.number} at {head.sha!r} is none that can be fetched")
    base = f"+{branch_ref(base_ref)}:{_POLICY}"
    try:
        remote.fetch(git.git_dir, url, [f"+refs/pull/{head.number}/head:{_HEAD}", base], token, depth)
    except MissingRevisionError:
        # One of the two is not there; a pull request's ref comes a moment after the pull request.
        remote.fetch(git.git_dir, url, [base], token, depth)
    if _sha_of(git, _HEAD) != head.sha:
        try:
            remote.fetch(git.git_dir, url, [f"+{head.sha}:{_HEAD}"], token, depth)
        except MissingRevisionError as error:
            raise CheckoutError(
                f"the head of pull request #{head.number} was {head.sha[:12]} when this was asked, and that "
                "commit is not on the server any more: ask again to have the new head worked on"
            ) from error
    policy_sha = _sha_of(git, _POLICY)
    if head.merge_base not in ("", head.sha, policy_sha):
        remote.fetch(
            git.git_dir, url, [f"+{head.merge_base}:{_MERGE_BASE}"], token, ["--depth=1", "--no-tags"]
        )
    return PullBase(policy_sha, head.merge_base)


def recorded_pull_base(git: Git) -> PullBase:
    """Return what `fetch_pull` fetched into `git` in an earlier run; empty if it was not for a pull request."""
    policy_sha = _sha_of(git, _POLICY)
    return PullBase(policy_sha, _sha_of(git, _MERGE_BASE) or policy_sha)


def branch_ref(name: str) -> str:
    """Return the full ref of a branch. Raises `MissingRevisionError` for an invalid name."""
    if not name or _NOT_A_REF.search(name):
        raise MissingRevisionError(f"{name!r} is not the name of a branch")
    return f"refs/heads/{name}"


def _sha_of(git: Git, ref: str) -> str:
    try:
        return git.line("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    except GitError:
        return ""
