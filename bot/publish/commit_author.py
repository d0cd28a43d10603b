"""The author of our commits: the account whose token pushes them, by its no-reply address on GitHub."""

from urllib.parse import urlsplit

from bot.checkout.branches import Signature
from bot.github.values import Account
from bot.policy.publish_settings import Identity

UNKNOWN = Signature("slash-agent[bot]", "slash-agent@noreply.invalid")
"""The author where no account is known. The address cannot belong to any."""
UNKNOWN_NOTE = (
    "GitHub does not say which account this token belongs to, so the commit's author is no account, and a check for "
    "sign-offs (DCO) or licence agreements (CLA) refuses it. Set `identity` in the policy to an account's name and "
    "address."
)


def author_of(by: Account | None, identity: Identity, url: str) -> Signature:
    """Return the author and committer of commits that `by` pushes to the repository at `url`. What `identity` names
    replaces the account's. Checks for sign-offs (DCO) and licence agreements (CLA) find the account by the address."""
    name, email = UNKNOWN
    if by is not None:
        name, email = by.login, noreply_address(by.login, by.id, url)
    return Signature(identity.name or name, identity.email or email)


def noreply_address(login: str, account_id: int, url: str) -> str:
    """Return the no-reply address of an account on the server of `url`: "Setting your commit email address"."""
    return f"{account_id}+{login}@users.noreply.{urlsplit(url).hostname or 'github.com'}"
