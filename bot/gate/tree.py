"""The diff gate for a work tree: the only way from what an agent did to a patch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from bot.checkout.git import Git, GitError
from bot.contracts.errors import AgentError, GateError
from bot.gate.errors import HostileTree, capacity_error
from bot.gate.limits import DEFAULT_LIMITS, GateLimits
from bot.gate.objects import listing, scratch
from bot.gate.verdict import HoldsSecret, MayWrite, Verdict, decide
from bot.gate.walk import changes, untracked

__all__ = ["GateLimits", "HostileTree", "Verdict", "judge_tree", "untracked_files"]


def judge_tree(
    git: Git,
    base_sha: str,
    tree: Path,
    *,
    limits: GateLimits = DEFAULT_LIMITS,
    may_write: MayWrite | None = None,
    passed_over: Collection[str] = (),
    holds_secret: HoldsSecret | None = None,
    links: Mapping[str, str] = MappingProxyType({}),
    edited: Collection[str] = (),
) -> Verdict:
    """What of `tree` may leave, as a patch on `base_sha`. Every workspace process must be dead by now.

    `may_write` gives a reason to withhold a path, or `None`. New files in `passed_over`, made by setup before
    the agent began, are not part of the patch, and neither are new `links` of ours as long as they lead where
    they did. `holds_secret` names a secret in bytes that are to leave, withheld ones included. An entry that no
    commit may hold (links out, repositories, devices, odd names, files over a limit) is withheld; over the limit of
    files the paths in `edited` come first. An empty patch with nothing withheld means that nothing changed. Raises
    `HostileTree` for secrets and for a tree that cannot be read, `OutOfCapacity` if the machine has too little disk
    for the gate's own files.
    """
    try:
        with scratch(git, base_sha) as work_repo:
            base = listing(git, base_sha)
            diff = changes(work_repo, base, tree, limits, passed_over=passed_over, links=links, edited=edited)
            return decide(
                work_repo, base_sha, base, diff, limits, may_write=may_write, holds_secret=holds_secret
            )
    except (OSError, GitError) as error:
        raise _failed(f"the gate could not judge {tree}", error) from error


def untracked_files(
    git: Git, base_sha: str, tree: Path, *, limits: GateLimits = DEFAULT_LIMITS
) -> frozenset[str]:
    """The files of `tree` that the base does not have and its ignore rules do not leave out.

    Every process that could write there must be dead. Raises as `judge_tree` does.
    """
    try:
        with scratch(git, base_sha) as work_repo:
            return untracked(work_repo, listing(git, base_sha), tree, limits)
    except (OSError, GitError) as error:
        raise _failed(f"the gate could not read {tree}", error) from error


def _failed(what: str, error: OSError | GitError) -> AgentError:
    if shortage := capacity_error(error):
        return shortage
    return error if isinstance(error, GitError) else GateError(f"{what}: {error.strerror or error}")
