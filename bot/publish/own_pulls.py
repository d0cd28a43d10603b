"""The author of our commits, the account whose token pushes them, by its no-reply address on GitHub; and our pull
requests, recognised by mark and author, and whether other people have committed to them."""

from typing import NamedTuple

from github.PullRequest import PullRequest

from bot.github.accounts import account
from bot.github.client import GitHub
from bot.github.values import Account
from bot.policy.publish_settings import Identity
from bot.publish.commit_author import author_of
from bot.publish.thread.markers import PULL_REQUEST, MarkFields, own_fields


class OwnPull(NamedTuple):
    """A pull request that we opened, with the fields of its mark."""

    pull: PullRequest
    fields: MarkFields

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
