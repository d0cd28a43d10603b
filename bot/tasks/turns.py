"""Which repositories of a list are looked at in one plan: all of a short list; of a long one each once a day.

A look costs some ten calls, so a thousand repositories an hour would use up what GitHub grants. When a repository
has its turn is its own time of day, as with a task that is `daily`; no list of turns is kept anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.tasks.schedule import last_due

SHORT = 100
"""A list of so many repositories is looked at as a whole each time."""

_A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Turn:
    """A repository whose tasks are due that were due after `since` and not after `until`."""

    repository: str
    since: datetime
    until: datetime


def turns(repositories: Sequence[str], since: datetime, now: datetime) -> list[Turn]:
    """Whose turn it is. `since` is the last look at the list; a look that came late leaves nobody out."""
    if len(repositories) <= SHORT:
        return [Turn(repository, since, now) for repository in repositories]
    found = []
    for repository in repositories:
        moment = last_due("daily", repository, now)
        if moment > since:
            days = -(-(moment - since) // _A_DAY)
            found.append(Turn(repository, moment - days * _A_DAY, moment))
    return found
