"""Base class of the parts of `Forge`: its state and server, lookups by name, accounts and their tokens."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from slash_forge.access import App, Installation
from slash_forge.faults import Faults
from slash_forge.git import Signature
from slash_forge.reviews import Review, ReviewComment
from slash_forge.server import Server
from slash_forge.state import ACTIONS_BOT, Access, Comment, Issue, Pull, Repository, Role, State, Token, User

Permission = Literal["admin", "maintain", "write", "triage", "read"]


class Base:
    """An unknown account, repository or thread raises a `KeyError`: a mistake of the caller."""

    _folder: Path
    _state: State
    _faults: Faults
    _server: Server

    @property
    def url(self) -> str:
        """The value of `GITHUB_SERVER_URL`."""
        return self._server.site.html

    @property
    def api_url(self) -> str:
        """The value of `GITHUB_API_URL`."""
        return self._server.site.api

    def _user(self, login: str) -> User:
        return self._state.users[login.casefold()]

    def _repository(self, repo: str) -> Repository:
        return self._state.repositories[repo.casefold()]

    def _comment(self, repo: str, comment_id: int) -> tuple[Issue, Comment]:
        return self._repository(repo).comments[comment_id]

    def _pull(self, repo: str, number: int) -> tuple[Repository, Issue, Pull]:
        repository = self._repository(repo)
        issue = repository.threads[number]
        if issue.pull is None:
            raise ValueError(f"#{number} is not a pull request")
        return repository, issue, issue.pull

    def _signature(self, user: User) -> Signature:
        return self._state.signature(user)

    # -- accounts

    def add_user(
        self,
        login: str,
        *,
        kind: Literal["User", "Bot", "Organization"] = "User",
        name: str | None = None,
        email: str | None = None,
        id: int | None = None,
    ) -> int:
        """Add an account unless it exists. Returns its id."""
        with self._state.lock:
            user = self._state.user(login)
            if user is None:
                number = id if id is not None else self._state.next_id()
                user = User(number, login, kind, name, email, self._state.now())
                self._state.users[login.casefold()] = user
            return user.id

    def add_organisation(self, login: str, members: Iterable[str] = ()) -> int:
        with self._state.lock:
            number = self.add_user(login, kind="Organization")
            self._user(login).members.update(self._user(member).id for member in members)
            return number

    def delete_user(self, login: str) -> None:
        """Their tokens stop working; what they wrote stays without an author."""
        with self._state.lock:
            user = self._state.users.pop(login.casefold())
            self._state.tokens = {
                value: token for value, token in self._state.tokens.items() if token.user is not user
            }
            for repository in self._state.repositories.values():
                repository.roles.pop(user.id, None)
                for issue in repository.threads.values():
                    _remove_author(issue, user)

    def grant(self, repo: str, login: str, permission: Permission) -> None:
        """Set the role of a collaborator."""
        with self._state.lock:
            self._repository(repo).roles[self._user(login).id] = Role[permission.upper()]

    def token(
        self,
        login: str = ACTIONS_BOT,
        permissions: Mapping[str, Access] | None = None,
        *,
        repo: str | None = None,
    ) -> str:
        """A token that acts for `login`.

        Without `permissions` it has all rights of the user; with them, only those named: `contents`,
        `issues`, `pull_requests`, `workflows` ..., each "read" or "write". With `repo` it is limited to that
        repository. A bot's token with both is like the one that Actions gives a job.
        """
        with self._state.lock:
            user = self._user(login)
            prefix = "ghs" if user.kind == "Bot" else "ghp" if permissions is None else "github_pat"
            value = f"{prefix}_{secrets.token_hex(18)}"
            repositories = None if repo is None else frozenset({self._repository(repo).full_name})
            granted = None if permissions is None else dict(permissions)
            self._state.tokens[value] = Token(value, user, granted, repositories)
            return value

    def register_app(
        self,
        slug: str,
        public_key: str,
        permissions: Mapping[str, Access],
        *,
        owner: str,
        id: int | None = None,
    ) -> int:
        """Register a GitHub App with its public key (PEM). Returns the app's id."""
        with self._state.lock:
            self.add_user(owner)
            self.add_user(f"{slug}[bot]", kind="Bot")
            number = id if id is not None else self._state.next_id()
            self._state.apps[number] = App(
                number,
                slug,
                public_key,
                dict(permissions),
                self._user(owner),
                self._user(f"{slug}[bot]"),
                self._state.now(),
            )
            return number

    def install_app(self, app_id: int, account: str, repositories: Iterable[str] | None = None) -> int:
        """On all of an account's repositories, or on these (`owner/name`). Returns the installation's id."""
        with self._state.lock:
            names = None if repositories is None else frozenset(repositories)
            installation = Installation(
                self._state.next_id(), self._state.apps[app_id], self._user(account), names, self._state.now()
            )
            self._state.installations[installation.id] = installation
            return installation.id

    def tokens_of(self, login: str) -> list[Token]:
        """Every token of `login`, oldest first, with those that an app created."""
        with self._state.lock:
            return [token for token in self._state.tokens.values() if token.user.login == login]

    def revoke_token(self, value: str) -> None:
        """Requests with this token get a 401, as with an expired one."""
        with self._state.lock:
            del self._state.tokens[value]


def _remove_author(issue: Issue, user: User) -> None:
    reviews = issue.pull.reviews if issue.pull else []
    written: list[Issue | Comment | Review | ReviewComment] = [issue, *issue.comments, *reviews]
    written += [one for review in reviews for one in review.comments]
    for one in written:
        one.author = None if one.author is user else one.author
