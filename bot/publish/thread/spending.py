"""The cost of an account's runs today, read from the marks of our own progress comments.

The mark of a run has the account, the day it began and its cost; until it ends, its maximum cost, so that a second run
beside it has less. Only people who may write can delete our comments. Runs without a thread (a schedule, a review on a
push) have no such comment, and count for nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from bot.contracts.request import Actor
from bot.contracts.threads import CommentData
from bot.github.values import Account
from bot.publish.thread.markers import PROGRESS, is_ours, read_mark

_BY, _ON, _USD = "by", "on", "usd"
# Comments that are looked at: whoever reaches the end of them has had their day.
MOST = 2000
_MORE_THAN_ANY = 1e6


class CommentLister(Protocol):
    def comments_of_all(self, repository: str, since: str) -> Iterator[CommentData]: ...

    def me(self) -> Account | None: ...


def spending(actor: Actor, now: str, usd: float) -> Mapping[str, str]:
    """Fields for a run's mark: its maximum or actual cost. `now` is its start, RFC 3339."""
    return {_BY: str(actor.id), _ON: now[:10], _USD: f"{usd:.4f}"}


def cost(usd: float) -> Mapping[str, str]:
    """The field that changes when the run is over."""
    return {_USD: f"{usd:.4f}"}


def cost_today(
    github: CommentLister,
    repository: str,
    actor: Actor,
    now: str,
    run: str = "",
    *,
    runs: Collection[str] | None = None,
    most: float = _MORE_THAN_ANY,
) -> float | None:
    """USD of the runs that `actor` began on the day of `now`, but for the run `run`; `None` if there are more
    comments than are looked at. One call for 100 comments that changed today. Raises `GitHubError`.

    A mark is only a text: a run counts once, with at most `most`, and if `runs` are known, only one of these."""
    costs: dict[str, float] = {}
    for number, comment in enumerate(github.comments_of_all(repository, f"{now[:10]}T00:00:00Z")):
        if number >= MOST:
            return None
        fields = read_mark(comment.body, PROGRESS)
        if fields is None or fields.get(_BY) != str(actor.id) or fields.get(_ON) != now[:10]:
            continue
        author, of = Account(comment.author, comment.author_id, comment.author_kind), fields.get("run", "")
        if (run and of == run) or (runs is not None and of not in runs):
            continue
        if is_ours(author, github.me(), PROGRESS):
            costs[of] = max(costs.get(of, 0.0), min(_amount(fields.get(_USD, "")), most))
    return sum(costs.values())


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        return 0.0
    # Capped, so that a sum stays finite.
    return min(amount, _MORE_THAN_ANY) if amount >= 0 else 0.0
