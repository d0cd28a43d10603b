"""Read a repository: its data, permissions, settings, files, branches and commits; and create git objects in it."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bot.contracts.threads import Permission, RepositoryData
from bot.github.errors import GitHubError
from bot.github.retry import Pace
from bot.github.transport import ApiTransport, ignore_response, with_query

if TYPE_CHECKING:
    import github


from collections.abc import Sequence
from dataclasses import dataclass

from bot.github.values import TreeEntry


class Repositories(ApiTransport):
    """Reads only."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        super().__init__(hub, pace)
        self._repositories: dict[str, RepositoryData] = {}

    def repository(self, repository: str) -> RepositoryData:
        """Requested once."""
        if repository not in self._repositories:
            action = f"reading the repository {repository}"
            self._repositories[repository] = self._get(action, f"/repos/{repository}", _repository)
        return self._repositories[repository]

    def current_name(self, repository: str) -> str:
        """Return the current name, requested each time: it may have been renamed or transferred."""
        action = f"reading the repository {repository}"
        return self._get(action, f"/repos/{repository}", lambda data: str(data["full_name"]))

    def remember(self, data: RepositoryData) -> None:
        """Store the data from an event's payload, which saves a request."""
        self._repositories[data.name] = data

    def permission(self, repository: str, login: str) -> Permission:
        """See `ThreadReader.permission`. Two requests, three for a stranger on a public repository."""
        private = self.repository(repository).private
        path = f"/repos/{repository}/collaborators/{quote(login, safe='')}"
        action = f"asking what {login} may do on {repository}"
        permission = self._get_or_none(action, f"{path}/permission", lambda data: _permission(data, private))
        if permission is None:
            return Permission("none", 0, "", private)
        return replace(permission, collaborator=self._is_collaborator(repository, path, permission))

    def _is_collaborator(self, repository: str, path: str, permission: Permission) -> bool:
        if permission.level == "none":
            return False
        if permission.private or permission.level != "read" or permission.role != "read":
            return True
        try:
            self._get(f"asking who collaborates on {repository}", path, ignore_response)
        except GitHubError as error:
            # 404: not listed. 403: a token without push access may not know, and then nobody is.
            if error.status in (403, 404):
                return False
            raise
        return True

    def file(self, repository: str, path: str, ref: str) -> str | None:
        """Return the text of a file at `ref`; `None` if there is none."""
        query = f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref, safe='')}"
        return self._get_or_none(f"reading {path} of {repository} at {ref}", query, _text)

    def folder(self, repository: str, path: str, ref: str) -> list[str]:
        """Return the names of the files in a folder at `ref`, at most 1,000; none if there is no such folder."""
        query = f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref, safe='')}"
        return self._get_or_none(f"listing {path} of {repository} at {ref}", query, _files) or []

    def contains(self, repository: str, branch: str, sha: str) -> bool:
        """Whether the commit `sha` is the head of `branch` or an ancestor of it."""
        path = f"/repos/{repository}/compare/{quote(sha, safe='')}...{quote(branch, safe='')}"
        action = f"comparing {sha[:12]} with {branch} of {repository}"
        status = self._get_or_none(action, with_query(path, per_page="1"), lambda data: str(data["status"]))
        return status in ("identical", "ahead")


def _repository(data: Any) -> RepositoryData:
    return RepositoryData(
        name=str(data["full_name"]),
        default_branch=str(data["default_branch"]),
        private=bool(data["private"]),
        clone_url=str(data["clone_url"]),
        read_only=next((state for state in ("archived", "disabled") if data.get(state)), ""),
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
    """Return `[]` for a file: it is an object and not a list."""
    return [str(entry["name"]) for entry in data if entry["type"] == "file"] if isinstance(data, list) else []


class GitData(ApiTransport):
    """Create objects without a ref. Except for commits, the same content gives the same object."""

    def create_blob(self, repository: str, content: bytes) -> str:
        """Returns its id."""
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        action = f"storing a file in {repository}"
        return self._write(action, "POST", f"/repos/{repository}/git/blobs", body, _sha, safe=True)

    def create_tree(self, repository: str, base_tree: str, entries: Sequence[TreeEntry]) -> str:
        """Create a tree from `base_tree` with `entries` replaced. Returns its id."""
        body = {"base_tree": base_tree, "tree": [_entry(one) for one in entries]}
        action = f"storing a tree in {repository}"
        return self._write(action, "POST", f"/repos/{repository}/git/trees", body, _sha, safe=True)

    def create_commit(self, repository: str, *, message: str, tree: str, parent: str) -> str:
        """Create a commit by the token's account, dated now. Returns its id."""
        body = {"message": message, "tree": tree, "parents": [parent]}
        action = f"making a commit in {repository}"
        return self._write(action, "POST", f"/repos/{repository}/git/commits", body, _sha, safe=True)


def _entry(one: TreeEntry) -> dict[str, str | None]:
    named: dict[str, str | None] = {"path": one.path, "mode": one.mode, "type": "blob"}
    if one.text is not None:
        return {**named, "content": one.text}
    return {**named, "sha": one.sha or None}


def _sha(data: object) -> str:
    if not isinstance(data, dict):
        raise TypeError("no object")
    return str(data["sha"])


@dataclass(frozen=True, slots=True)
class ActionsSettings:
    """`may_open_pulls` is the setting "Allow GitHub Actions to create and approve pull requests"."""

    enabled: bool
    may_open_pulls: bool


class Settings(ApiTransport):
    """Settings; `None` if the token may not read one. Most need an administrator."""

    def actions_settings(self, repository: str) -> ActionsSettings | None:
        path = f"/repos/{repository}/actions/permissions"
        action = f"reading the Actions settings of {repository}"
        try:
            enabled = self._get(action, path, lambda data: bool(data["enabled"]))
            opens = self._get(
                action, f"{path}/workflow", lambda data: bool(data["can_approve_pull_request_reviews"])
            )
        except GitHubError as error:
            _raise_unless_hidden(error)
            return None
        return ActionsSettings(enabled, opens)

    def branch_rules(self, repository: str, branch: str) -> list[str]:
        """Return the types of the rules for a branch of that name, which need not exist."""
        path = f"/repos/{repository}/rules/branches/{quote(branch, safe='')}"
        action = f"reading the rules of {repository} for {branch}"
        return self._get(action, path, lambda data: [str(rule["type"]) for rule in data])

    def secret_names(self, repository: str) -> list[str] | None:
        """Names of the repository's own secrets; GitHub never gives a value."""
        path = f"/repos/{repository}/actions/secrets?per_page=100"
        action = f"reading the names of the secrets of {repository}"
        try:
            return self._get(action, path, lambda data: [str(secret["name"]) for secret in data["secrets"]])
        except GitHubError as error:
            _raise_unless_hidden(error)
            return None

    def permissions(self, repository: str) -> dict[str, bool]:
        """Return the token's permissions (`push`, `pull`, `admin` …); empty if GitHub does not report them."""
        action = f"reading what the token may on {repository}"

        def parse(data: Any) -> dict[str, bool]:
            return {str(name): bool(value) for name, value in (data.get("permissions") or {}).items()}

        return self._get(action, f"/repos/{repository}", parse)


def _raise_unless_hidden(error: GitHubError) -> None:
    """403 and 404 mean that the token has no access; raise anything else again."""
    if error.status not in (403, 404):
        raise error
