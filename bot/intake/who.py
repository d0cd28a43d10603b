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
from bot.intake.asked import Asked
from bot.intake.payload import Account


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody who gets no answer in the thread. `reason` is one sentence for the log."""

    reason: str


def identify(asked: Asked, threads: ThreadReader, bots: Collection[int]) -> Actor | Stranger:
    """The account that is answerable for what was asked, with its tier. Asks the API once; for a bot not at all.

    Where nobody asked but the policy (a schedule, a failed run) its word is the tier, and nobody is looked up.
    """
    asker = asked.asker
    if asked.tier is not None:
        return Actor(asker.login, asker.id, asked.tier) if asker else Actor(asked.tier.value, 0, asked.tier)
    if asker is None:
        return Stranger("The account that gave the command is deleted.")
    if asked.sender is not None and asked.sender.id != asker.id:
        return Stranger(f"{asked.sender.login} sent this event, but {asker.login} wrote what asks.")
    if asked.sender is not None and _looks_like_bot(asked.sender):
        return _bot(asker, bots)
    return standing(asker, asked.repository.name, threads, bots)


def standing(
    account: Account, repository: str, threads: ThreadReader, bots: Collection[int]
) -> Actor | Stranger:
    """What `account` is in `repository`, by its id."""
    if _looks_like_bot(account):
        return _bot(account, bots)
    permission = threads.permission(repository, account.login)
    if permission.user_id != account.id:
        return Stranger(
            f"GitHub knows {account.login} as account {permission.user_id or 'none'}, not as {account.id}."
        )
    if permission.kind == "Bot":
        return _bot(account, bots)
    if permission.kind != "User":
        return Stranger(
            f"{account.login} is an account of type {permission.kind or 'unknown'}, not a person."
        )
    return Actor(account.login, account.id, tier_of(permission))


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
