"""A repository: what it is, who may do what on it, its files, branches and commits."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bot.contracts.threads import Permission, RepositoryData
from bot.github.border import Border, nothing, with_query
from bot.github.errors import GitHubError
from bot.github.retry import Pace

if TYPE_CHECKING:
    import github


class Repositories(Border):
    """Reads only."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        super().__init__(hub, pace)
        self._repositories: dict[str, RepositoryData] = {}

    def repository(self, repository: str) -> RepositoryData:
        """Asked once."""
        if repository not in self._repositories:
            doing = f"reading the repository {repository}"
            self._repositories[repository] = self._one(doing, f"/repos/{repository}", _repository)
        return self._repositories[repository]

    def know(self, data: RepositoryData) -> None:
        """What an event's payload says of its repository need not be asked."""
        self._repositories[data.name] = data

    def permission(self, repository: str, login: str) -> Permission:
        """See `ThreadReader.permission`. Two requests, three for a stranger on a public repository."""
        private = self.repository(repository).private
        path = f"/repos/{repository}/collaborators/{quote(login, safe='')}"
        doing = f"asking what {login} may do on {repository}"
        found = self._one_or_none(doing, f"{path}/permission", lambda data: _permission(data, private))
        if found is None:
            return Permission("none", 0, "", private)
        return replace(found, collaborator=self._is_collaborator(repository, path, found))

    def _is_collaborator(self, repository: str, path: str, found: Permission) -> bool:
        if found.level == "none":
            return False
        if found.private or found.level != "read" or found.role != "read":
            return True
        try:
            self._one(f"asking who collaborates on {repository}", path, nothing)
        except GitHubError as error:
            # 404: not listed. 403: a token without push access may not know, and then nobody is.
            if error.status in (403, 404):
                return False
            raise
        return True

    def file(self, repository: str, path: str, ref: str) -> str | None:
        """The text of a file at `ref`; `None` where there is no file of that name."""
        query = f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref, safe='')}"
        return self._one_or_none(f"reading {path} of {repository} at {ref}", query, _text)

    def folder(self, repository: str, path: str, ref: str) -> list[str]:
        """The names of the files in a folder at `ref`, at most 1,000; none where there is no such folder."""
        query = f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref, safe='')}"
        return self._one_or_none(f"listing {path} of {repository} at {ref}", query, _files) or []

    def branch_sha(self, repository: str, branch: str) -> str:
        """The commit that `branch` is at; empty where there is no such branch."""
        path = f"/repos/{repository}/git/ref/heads/{quote(branch)}"
        doing = f"looking where the branch {branch} of {repository} is"
        return self._one_or_none(doing, path, lambda data: str(data["object"]["sha"])) or ""

    def wait_for_branch(self, repository: str, branch: str, sha: str, seconds: float = 15.0) -> bool:
        """Ask until the API sees `branch` at `sha`, as it may not at once after a push; whether it does in time."""
        pause = 0.5
        while self.branch_sha(repository, branch) != sha:
            if seconds <= 0:
                return False
            self._pace.sleep(min(pause, seconds))
            seconds, pause = seconds - pause, pause * 2
        return True

    def contains(self, repository: str, branch: str, sha: str) -> bool:
        """Whether the commit `sha` is part of `branch`: its head, or an ancestor of it."""
        path = f"/repos/{repository}/compare/{quote(sha, safe='')}...{quote(branch, safe='')}"
        doing = f"comparing {sha[:12]} with {branch} of {repository}"
        status = self._one_or_none(doing, with_query(path, per_page="1"), lambda data: str(data["status"]))
        return status in ("identical", "ahead")


def _repository(data: Any) -> RepositoryData:
    return RepositoryData(
        name=str(data["full_name"]),
        default_branch=str(data["default_branch"]),
        private=bool(data["private"]),
        clone_url=str(data["clone_url"]),
    )


def _permission(data: Any, private: bool) -> Permission:
    user = data.get("user") or {}
    return Permission(
        level=str(data["permission"]),
        user_id=int(user.get("id") or 0),
        kind=str(user.get("type") or ""),
        private=private,
        role=str(data.get("role_name") or data["permission"]),
    )


def _text(data: Any) -> str | None:
    """`None` for a folder (a list), a link and a submodule."""
    if not isinstance(data, dict) or data.get("type") != "file":
        return None
    return base64.b64decode(str(data.get("content", ""))).decode(errors="replace")


def _files(data: Any) -> list[str]:
    """A file of that name is an object and not a list."""
    return [str(entry["name"]) for entry in data if entry["type"] == "file"] if isinstance(data, list) else []
