"""Pull requests in git: diff sizes, what follows a push, and merges."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slash_forge import threads
from slash_forge.diffs import ChangedFile, changed_files, empty_tree
from slash_forge.git import NULL_SHA, Commit, GitFailed
from slash_forge.state import Issue, Pull, Push, Repository, State, Trial, User


def find_head(state: State, repository: Repository, name: str) -> tuple[Repository | None, str]:
    """`branch` of this repository, or `owner:branch` of a fork; None where that owner has no fork."""
    owner, colon, branch = name.rpartition(":")
    if not colon or owner.casefold() == repository.owner.login.casefold():
        return repository, branch
    for candidate in state.repositories.values():
        if candidate.parent is repository and candidate.owner.login.casefold() == owner.casefold():
            return candidate, branch
    return None, branch


def open_pull(
    state: State,
    repository: Repository,
    source: Repository,
    head_ref: str,
    base_ref: str,
    *,
    author: User,
    title: str,
    body: str | None,
    draft: bool,
    maintainer_can_modify: bool,
    at: str | None = None,
) -> Issue:
    """The caller checks the arguments. Raises `KeyError` if a branch does not exist."""
    base_sha, head_sha = repository.git.branch(base_ref), source.git.branch(head_ref)
    if base_sha is None or head_sha is None:
        raise KeyError(base_ref if base_sha is None else head_ref)
    issue = threads.create(state, repository, author, title=title, body=body, at=at)
    issue.pull = Pull(
        id=state.next_id(),
        head_repository=source,
        head_owner=source.owner,
        head_ref=head_ref,
        head_sha=head_sha,
        base_ref=base_ref,
        base_sha=base_sha,
        draft=draft,
        # Maintainers can always push to a branch of the repository itself.
        maintainer_can_modify=source is not repository and maintainer_can_modify,
    )
    record_head(repository, issue, issue.pull)
    return issue


@dataclass(frozen=True, slots=True)
class Measures:
    """The numbers that only the full form of a pull request has."""

    commits: int
    additions: int
    deletions: int
    changed_files: int


def merge_base(repository: Repository, pull: Pull) -> str:
    """The commit that the pull request's files are compared with.

    A merged pull request keeps the base it had, because its head is part of the branch now.
    """
    git = repository.git
    base = pull.base_sha if pull.merged_at else git.branch(pull.base_ref) or pull.base_sha
    return git.merge_base(base, pull.head_sha) or empty_tree(git)


def commits(repository: Repository, pull: Pull) -> list[Commit]:
    """Oldest first, at most 250 as on GitHub."""
    git, begin, head = repository.git, merge_base(repository, pull), pull.head_sha
    return git.cached(("commits", begin, head), lambda: git.commits([head, f"^{begin}"])[::-1])


def files(repository: Repository, pull: Pull) -> list[ChangedFile]:
    return changed_files(repository.git, merge_base(repository, pull), pull.head_sha)


def measure(repository: Repository, pull: Pull) -> Measures:
    changed = files(repository, pull)
    return Measures(
        commits=len(commits(repository, pull)),
        additions=sum(file.additions for file in changed),
        deletions=sum(file.deletions for file in changed),
        changed_files=len(changed),
    )


def head_ref_name(number: int) -> str:
    """The ref under which the base repository serves a pull request's head, forks included."""
    return f"refs/pull/{number}/head"


def record_head(repository: Repository, issue: Issue, pull: Pull) -> None:
    """Bring the head commit into the base repository and point `refs/pull/N/head` at it."""
    name = head_ref_name(issue.number)
    source = pull.head_repository
    if source is not None and source is not repository:
        repository.git.fetch(source.git.path, f"+{pull.head_sha}:{name}")
    else:
        repository.git.move_ref(name, pull.head_sha)


def follow_branches(state: State, pushed: Repository) -> None:
    """After a push: update the heads of open pull requests, close those without one, mark those that it merged."""
    record_pushes(state, pushed)
    tips = {name.removeprefix("refs/heads/"): sha for name, sha in pushed.git.branches().items()}
    for repository, issue, pull in list(_opened_from(state, pushed)):
        head = tips.get(pull.head_ref)
        if head is None:
            close(state, issue)
        elif head != pull.head_sha:
            pull.head_sha = head
            pull.base_sha = repository.git.branch(pull.base_ref) or pull.base_sha
            record_head(repository, issue, pull)
            issue.updated_at = state.now()
            if repository.git.is_ancestor(head, pull.base_sha):
                # Nothing is left to merge, and nothing was merged.
                close(state, issue)
    for issue, pull in pushed.pulls():
        tip = tips.get(pull.base_ref)
        if issue.state == "open" and tip and pushed.git.is_ancestor(pull.head_sha, tip):
            mark_merged(state, issue, pull, tip)


def _opened_from(state: State, pushed: Repository) -> Iterator[tuple[Repository, Issue, Pull]]:
    for repository in state.repositories.values():
        for issue, pull in repository.pulls():
            if issue.state == "open" and pull.head_repository is pushed:
                yield repository, issue, pull


def close(state: State, issue: Issue) -> None:
    issue.state = "closed"
    issue.closed_at = issue.updated_at = state.now()


def mark_merged(state: State, issue: Issue, pull: Pull, merge_sha: str) -> None:
    close(state, issue)
    pull.merged_at = issue.closed_at
    pull.merge_sha = merge_sha


def record_pushes(state: State, repository: Repository) -> None:
    """Record a `Push` for every branch that moved since the last call."""
    tips = repository.git.branches()
    for ref in sorted(tips.keys() | repository.tips.keys()):
        before, after = repository.tips.get(ref, NULL_SHA), tips.get(ref, NULL_SHA)
        if before != after:
            kind = _kind(repository, before, after)
            repository.pushes.append(Push(state.next_id(), ref, before, after, state.now(), kind))
    repository.tips = tips


def _kind(repository: Repository, before: str, after: str) -> str:
    if before == NULL_SHA:
        return "branch_creation"
    if after == NULL_SHA:
        return "branch_deletion"
    return "push" if repository.git.is_ancestor(before, after) else "force_push"


_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)\b", re.IGNORECASE)


def merge_ref_name(number: int) -> str:
    """The ref under which the base repository serves the test merge."""
    return f"refs/pull/{number}/merge"


def attempt(state: State, repository: Repository, issue: Issue, pull: Pull) -> Trial | None:
    """Test the merge of an open pull request and update `refs/pull/N/merge`; None if the base branch is gone.

    The result is reused until head or base moves.
    """
    git, base = repository.git, repository.git.branch(pull.base_ref)
    if base is None:
        return None
    if pull.trial and (pull.trial.base, pull.trial.head) == (base, pull.head_sha):
        return pull.trial
    name, sha, known = merge_ref_name(issue.number), None, True
    try:
        tree = git.merged_tree(base, pull.head_sha)
    except GitFailed:
        tree, known = None, False
    if tree is not None:
        message = f"Merge {pull.head_sha} into {base}\n"
        signature = state.signature(issue.author or repository.owner)
        sha = git.write_commit(tree, [base, pull.head_sha], message, signature)
        git.move_ref(name, sha)
    elif git.ref(name):
        git.delete_ref(name)
    pull.trial = Trial(base, pull.head_sha, sha, known=known)
    return pull.trial


def attempt_all(state: State, repository: Repository) -> None:
    """Called before refs are served."""
    for issue, pull in repository.pulls():
        if issue.state == "open":
            attempt(state, repository, issue, pull)


def merge(
    state: State, repository: Repository, issue: Issue, pull: Pull, user: User, *, method: str = "merge"
) -> str:
    """Merge into the base branch. Returns the merge commit. Raises `ValueError` for a conflict."""
    git, base = repository.git, repository.git.branch(pull.base_ref)
    if base is None:
        raise ValueError(f"{repository.full_name} has no branch {pull.base_ref}")
    tree = git.merged_tree(base, pull.head_sha)
    if tree is None:
        raise ValueError(f"#{issue.number} conflicts with {pull.base_ref}")
    if method == "squash":
        parents, text = [base], f"{issue.title} (#{issue.number})"
    else:
        parents = [base, pull.head_sha]
        head = f"{pull.head_owner.login}/{pull.head_ref}"
        text = f"Merge pull request #{issue.number} from {head}\n\n{issue.title}"
    sha = git.write_commit(tree, parents, f"{text}\n", state.signature(user))
    pull.base_sha, pull.merged_by, issue.closed_by = base, user, user
    git.set_ref(f"refs/heads/{pull.base_ref}", sha)
    mark_merged(state, issue, pull, sha)
    if pull.base_ref == repository.default_branch:
        _close_referenced(state, repository, issue)
    follow_branches(state, repository)
    return sha


def _close_referenced(state: State, repository: Repository, merged: Issue) -> None:
    for number in _CLOSES.findall(merged.body or ""):
        issue = repository.threads.get(int(number))
        if issue and issue.pull is None and issue.state == "open":
            close(state, issue)
            issue.state_reason = "completed"


# -- eventual consistency: after a push the API returns the old refs for some requests; git does not


@dataclass(slots=True)
class Lag:
    """`left` more API requests see the repository as it was before the push."""

    repository: Repository
    left: int


def after_push(state: State, repository: Repository) -> None:
    """Update everything that depends on branches: now, or some requests later if the test set a lag."""
    reads = state.lags.pop(repository.id, 0)
    if not reads:
        follow_branches(state, repository)
        return
    before = repository.tips
    after = repository.git.branches()
    repository.git.hidden = {
        name: before.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    state.lagging.append(Lag(repository, reads))


def count_request(state: State) -> None:
    """Called before each API request is answered; ends the lags that are over."""
    for lag in list(state.lagging):
        lag.left -= 1
        if lag.left < 0:
            state.lagging.remove(lag)
            lag.repository.git.hidden = {}
            record_pushes(state, lag.repository)
            follow_branches(state, lag.repository)
