"""Merging a pull request: tried beforehand, as `refs/pull/N/merge`, and done."""

from __future__ import annotations

import re

from bot.forge import pulls
from bot.forge.git import GitFailed
from bot.forge.state import Issue, Pull, Repository, State, Trial, User

_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b", re.IGNORECASE)


def merge_ref_name(number: int) -> str:
    """The ref under which the base repository serves what merging would give."""
    return f"refs/pull/{number}/merge"


def attempt(state: State, repository: Repository, issue: Issue, pull: Pull) -> Trial | None:
    """What merging would give now; None where the base branch is gone. Keeps `refs/pull/N/merge` right.

    Only for an open pull request. Tried anew only after one of its ends moved.
    """
    git, base = repository.git, repository.git.branch(pull.base_ref)
    if base is None:
        return None
    if pull.trial and (pull.trial.base, pull.trial.head) == (base, pull.head_sha):
        return pull.trial
    clean = git.merges_cleanly(base, pull.head_sha)
    name, sha = merge_ref_name(issue.number), None
    if clean:
        message = f"Merge {pull.head_sha} into {base}\n"
        who = state.signature(issue.author or repository.owner)
        sha = git.write_commit(git.merged_tree(base, pull.head_sha), [base, pull.head_sha], message, who)
        git.set_ref(name, sha)
    elif git.ref(name):
        git.delete_ref(name)
    pull.trial = Trial(base, pull.head_sha, sha, known=clean is not None)
    return pull.trial


def attempt_all(state: State, repository: Repository) -> None:
    """Before the refs are told to somebody."""
    for issue, pull in repository.pulls():
        if issue.state == "open":
            attempt(state, repository, issue, pull)


def merge(
    state: State,
    repository: Repository,
    issue: Issue,
    pull: Pull,
    who: User,
    *,
    method: str = "merge",
    title: str | None = None,
    message: str | None = None,
) -> str:
    """Put the result on the base branch. Returns its commit. A conflict is a `ValueError`."""
    git, base = repository.git, repository.git.branch(pull.base_ref)
    if base is None:
        raise ValueError(f"{repository.full_name} has no branch {pull.base_ref}")
    try:
        tree = git.merged_tree(base, pull.head_sha)
    except GitFailed as error:
        raise ValueError(f"#{issue.number} conflicts with {pull.base_ref}") from error
    if method == "squash":
        parents, words = [base], f"{title or f'{issue.title} (#{issue.number})'}\n\n{message or ''}"
    else:
        parents = [base, pull.head_sha]
        head = f"{pull.head_owner.login}/{pull.head_ref}"
        words = f"{title or f'Merge pull request #{issue.number} from {head}'}\n\n{message or issue.title}"
    sha = git.write_commit(tree, parents, f"{words.rstrip()}\n", state.signature(who))
    pull.base_sha, pull.merged_by, issue.closed_by = base, who, who
    git.set_ref(f"refs/heads/{pull.base_ref}", sha)
    pulls.mark_merged(state, issue, pull, sha)
    if pull.base_ref == repository.default_branch:
        _close_named(state, repository, issue)
    pulls.follow_branches(state, repository)
    return sha


def _close_named(state: State, repository: Repository, merged: Issue) -> None:
    for number in _CLOSES.findall(merged.body or ""):
        issue = repository.threads.get(int(number))
        if issue and issue.pull is None and issue.state == "open":
            pulls.close(state, issue)
            issue.state_reason = "completed"
