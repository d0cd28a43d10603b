"""Who pushed what when: the list of pushes that the server itself keeps, whatever dates are in the commits."""

from __future__ import annotations

from bot.forge.state import Push, Repository, State

NOTHING = "0" * 40


def note(state: State, repository: Repository) -> None:
    """Take down every branch that is not where it was when this was last called."""
    tips = {ref.name: ref.sha for ref in repository.git.refs("refs/heads")}
    for ref in sorted(tips.keys() | repository.tips.keys()):
        before, after = repository.tips.get(ref, NOTHING), tips.get(ref, NOTHING)
        if before != after:
            kind = _kind(repository, before, after)
            repository.pushes.append(Push(state.next_id(), ref, before, after, state.now(), kind))
    repository.tips = tips


def _kind(repository: Repository, before: str, after: str) -> str:
    if before == NOTHING:
        return "branch_creation"
    if after == NOTHING:
        return "branch_deletion"
    return "push" if repository.git.is_ancestor(before, after) else "force_push"
