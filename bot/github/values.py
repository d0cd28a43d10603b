"""What publishing reads of GitHub, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """`kind` is `User`, `Bot` or `Organization`. `ghost` with id 0 is a deleted account."""

    login: str
    id: int
    kind: str


@dataclass(frozen=True, slots=True)
class PullData:
    """One pull request. `head_repository` is empty where the fork was deleted."""

    number: int
    url: str
    title: str
    body: str
    draft: bool
    head_branch: str
    head_sha: str
    head_repository: str
    base_branch: str
    author: Account


@dataclass(frozen=True, slots=True)
class CommitData:
    """One commit of a pull request, by the e-mail addresses that are in the commit itself."""

    sha: str
    author_email: str
    committer_email: str
