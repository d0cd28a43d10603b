"""Who is asking: an account's tier, from GitHub's permission API and never from the payload's own word.

`author_association`, a `[bot]` suffix and an account's type each proved forgeable or meaningless elsewhere;
the numeric id is what counts. The payload's login is only how the API is asked; the id that it answers must
be the payload's, since a login can pass to another account.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bot.contracts.request import Actor, Tier
from bot.contracts.threads import Permission, ThreadReader
from bot.intake.event import Account, CommentEvent


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who gets no answer in the thread. `reason` is one sentence for the log."""

    reason: str


def identify(event: CommentEvent, threads: ThreadReader, bots: Collection[int]) -> Actor | Stranger:
    """The account behind a comment with its tier. Asks the API once; for a bot not at all."""
    author = event.author
    if author is None:
        return Stranger("The comment's author is a deleted account.")
    if event.sender is not None and event.sender.id != author.id:
        return Stranger(f"{event.sender.login} sent this event, but {author.login} wrote the comment.")
    if _looks_like_bot(author) or (event.sender is not None and _looks_like_bot(event.sender)):
        return _bot(author, bots)
    permission = threads.permission(event.repository.name, author.login)
    if permission.user_id != author.id:
        return Stranger(
            f"GitHub knows {author.login} as account {permission.user_id or 'none'}, not as {author.id}."
        )
    if permission.kind == "Bot":
        return _bot(author, bots)
    if permission.kind != "User":
        return Stranger(f"{author.login} is an account of type {permission.kind or 'unknown'}, not a person.")
    return Actor(author.login, author.id, tier_of(permission))


def tier_of(permission: Permission) -> Tier:
    """A person's tier. A level that is not known counts as none."""
    if permission.level in ("admin", "maintain", "write"):
        return Tier.MAINTAINER
    if permission.level == "triage" or permission.role == "triage":
        return Tier.CONTRIBUTOR
    if permission.level == "read" and (permission.private or permission.collaborator):
        return Tier.CONTRIBUTOR
    return Tier.OUTSIDER


def _looks_like_bot(account: Account) -> bool:
    """Enough to refuse, never enough to trust."""
    return account.kind == "Bot" or account.login.endswith("[bot]")


def _bot(account: Account, bots: Collection[int]) -> Actor | Stranger:
    if account.id in bots:
        return Actor(account.login, account.id, Tier.BOT)
    return Stranger(f"{account.login} is a bot, and the policy's `bots` does not list its id {account.id}.")
