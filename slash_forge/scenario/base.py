"""Base class of the parts of `Forge`: its state, its server, and lookups by name."""

from __future__ import annotations

from pathlib import Path

from slash_forge.faults import Faults
from slash_forge.git import Signature
from slash_forge.server import Server
from slash_forge.state import Comment, Issue, Pull, Repository, State, User


class Base:
    """People, repositories and threads that were not added are a `KeyError`: a mistake of the caller's."""

    _folder: Path
    _state: State
    _faults: Faults
    _server: Server

    @property
    def url(self) -> str:
        """What `GITHUB_SERVER_URL` would be."""
        return self._server.site.html

    @property
    def api_url(self) -> str:
        """What `GITHUB_API_URL` would be."""
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
