"""Our pull requests: recognised by mark and author, and whether other people have committed to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.contracts.threads import Account
from bot.github.client import GitHub
from bot.github.values import PullData
from bot.policy.publishing import Identity
from bot.publish.author import author_of
from bot.publish.thread.markers import PULL_REQUEST, own_fields


@dataclass(frozen=True, slots=True)
class OwnPull:
    """A pull request that we opened, with the fields of its mark."""

    pull: PullData
    fields: Mapping[str, str]

    @property
    def recorded(self) -> str:
        """The commit that the mark names."""
        return self.fields.get("head", "")

    @property
    def task(self) -> str:
        return self.fields.get("task", "")


def own_pull(pull: PullData, *accounts: Account | None) -> OwnPull | None:
    """Return `pull` if one of our `accounts` opened it, and its mark is there."""
    fields = own_fields(pull.body, pull.author, PULL_REQUEST, *accounts)
    return None if fields is None else OwnPull(pull, fields)


def is_untouched(github: GitHub, repository: str, own: OwnPull, identity: Identity, tip: str = "") -> bool:
    """Whether nobody else has committed to it. The branch's `tip`, which git may know better than the API, is the
    commit that the mark names or, if a run died before it wrote the mark, the only commit and by our account."""
    tip = tip or own.pull.head_sha
    if own.recorded == tip:
        return True
    commits = github.pull_commits(repository, own.pull.number)
    email = author_of(github.me(), identity, own.pull.url).email
    if [one.sha for one in commits] != [tip]:
        return False
    people = (commits[0].commit.author, commits[0].commit.committer)
    return {person.email if person else "" for person in people} == {email}
