"""The author of our commits: the account whose token pushes them, by its no-reply address on GitHub."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.checkout.branches import Signature
from bot.contracts.threads import Account
from bot.policy.publishing import Identity

UNKNOWN = Signature("slash-agent[bot]", "slash-agent@noreply.invalid")
"""The author where no account is known. The address cannot belong to any."""

UNKNOWN_NOTE = (
    "GitHub does not say which account this token belongs to, so the commit's author is no account, and a check for "
    "sign-offs (DCO) or licence agreements (CLA) refuses it. Set `identity` in the policy to an account's name and "
    "address."
)


def author_of(account: Account | None, identity: Identity, url: str) -> Signature:
    """Return the author and committer of commits pushed by `account` to the repository at `url`. What `identity` names
    replaces the account's. Checks for sign-offs (DCO) and licence agreements (CLA) find the account by the address."""
    name, email = UNKNOWN
    if account is not None:
        name, email = account.login, noreply_address(account.login, account.id, url)
    return Signature(identity.name or name, identity.email or email)


def noreply_address(login: str, account_id: int, url: str) -> str:
    """Return the no-reply address of an account on the server of `url`, by GitHub's page "Setting your commit email
    address". GitHub Enterprise Server and ghe.com have addresses of their own host."""
    return f"{account_id}+{login}@users.noreply.{urlsplit(url).hostname or 'github.com'}"
