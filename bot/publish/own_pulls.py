"""The author of our commits, the account whose token pushes them, by its no-reply address on GitHub; and our pull
requests, recognised by mark and author, and whether other people have committed to them."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from github.PullRequest import PullRequest

from bot.checkout.branches import Signature
from bot.github.accounts import account
from bot.github.client import GitHub
from bot.github.values import Account
from bot.policy.publish_settings import Identity
from bot.publish.thread.markers import PULL_REQUEST, own_fields

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


class OwnPull(NamedTuple):
    """A pull request that we opened, with the fields of its mark."""

    pull: PullRequest
    fields: Mapping[str, str]

    @property
    def recorded(self) -> str:
        """The commit that the mark names."""
        return self.fields.get("head", "")

    @property
    def task(self) -> str:
        return self.fields.get("task", "")


def own_pull(pull: PullRequest, *accounts: Account | None) -> OwnPull | None:
    """Return `pull` if one of our `accounts` opened it, and its mark is there."""
    fields = own_fields(pull.body or "", account(pull.user), PULL_REQUEST, *accounts)
    return None if fields is None else OwnPull(pull, fields)


def is_untouched(github: GitHub, own: OwnPull, identity: Identity, tip: str = "") -> bool:
    """Whether nobody else has committed to it. The branch's `tip`, which git may know better than the API, is the
    commit that the mark names or, if a run died before it wrote the mark, the only commit and by our account."""
    tip = tip or own.pull.head.sha
    if own.recorded == tip:
        return True
    commits = github.pull_commits(own.pull.number)
    email = author_of(github.me, identity, own.pull.html_url).email
    if [one.sha for one in commits] != [tip]:
        return False
    people = (commits[0].commit.author, commits[0].commit.committer)
    return {person.email if person else "" for person in people} == {email}
