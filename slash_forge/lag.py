"""Eventual consistency: after a push the API returns the old refs for some requests; git does not."""

from __future__ import annotations

from dataclasses import dataclass

from slash_forge import pulls
from slash_forge.state import Repository, State


@dataclass(slots=True)
class Lag:
    """`left` requests of the API still see the repository as it was before the push."""

    repository: Repository
    left: int


def after_push(state: State, repository: Repository) -> None:
    """Let everything follow a push, now or, where that was asked for, some requests later."""
    reads = state.lags.pop(repository.id, 0)
    if not reads:
        pulls.follow_branches(state, repository)
        return
    before = repository.tips
    after = repository.git.branches()
    repository.git.hidden = {
        name: before.get(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    state.lagging.append(Lag(repository, reads))


def count(state: State) -> None:
    """One request of the API is about to be answered."""
    for lag in list(state.lagging):
        lag.left -= 1
        if lag.left < 0:
            state.lagging.remove(lag)
            lag.repository.git.hidden = {}
            pulls.note(state, lag.repository)
            pulls.follow_branches(state, lag.repository)
