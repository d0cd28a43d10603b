"""What publishing comes to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """What there is now. Without a pull request, number 0 and empty texts: a comment tells why.

    `created` is true when this very call opened it. `commit` on a `branch` that is not the bot's own went onto the
    head of the pull request. `suggested` says that the change is a review of suggestions, at `pr_url`, on the pull
    request that is there. `notes` are soft failures, a sentence each. `written` are the writes on threads that were
    made now, `withheld` those that were not, each with why.
    """

    pr_url: str = ""
    pr_number: int = 0
    branch: str = ""
    created: bool = False
    commit: str = ""
    notes: tuple[str, ...] = ()
    suggested: bool = False
    written: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
