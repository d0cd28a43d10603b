"""One API call: its caller, parameters and fields, and the validation that operations share."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlencode

from slash_forge import access, errors
from slash_forge.access import Caller
from slash_forge.shapes.site import Site
from slash_forge.state import Access, Comment, Download, Issue, Repository, Role, State, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. `body` is JSON data, bytes with their own content type, or None."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json; charset=utf-8"

    def encoded(self) -> bytes:
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class Call:
    """Operations get one of these and return a `Reply` or raise an `ApiError`."""

    state: State
    site: Site
    caller: Caller
    path: str
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    accept: str

    # -- the requested object

    def repository(self, resources: str = "metadata", requested: Access = "read") -> Repository:
        """The repository of the path, once the token's permissions for it are checked."""
        name = f"{self.params['owner']}/{self.params['repo']}"
        repository = access.visible(self.state, self.caller, name)
        if resources != "metadata" and not self.caller.may(repository, resources, requested):
            raise self.caller.refusal()
        return repository

    def actions(self, *, write: bool = False) -> Repository:
        """The repository for what belongs to its workflows. A caller who writes needs the role, too."""
        repository = self.repository("actions", "write" if write else "read")
        if write:
            self.require(repository, Role.WRITE)
        return repository

    def thread(self, requested: Access = "read") -> tuple[Repository, Issue]:
        """The issue or pull request of the path. A pull request needs one of the two permissions."""
        repository = self.repository()
        issue = repository.threads.get(self.number("issue_number"))
        if issue is None:
            raise errors.not_found()
        self.check_thread(repository, issue, requested)
        return repository, issue

    def check_thread(self, repository: Repository, issue: Issue, requested: Access) -> None:
        resources = "issues|pull_requests" if issue.pull else "issues"
        if not self.caller.may(repository, resources, requested):
            raise self.caller.refusal()

    def comment(self, requested: Access = "read") -> tuple[Repository, Issue, Comment]:
        repository = self.repository()
        match = repository.comments.get(self.number("comment_id"))
        if match is None:
            raise errors.not_found()
        self.check_thread(repository, match[0], requested)
        return repository, *match

    def number(self, name: str) -> int:
        value = self.params[name]
        if not value.isdigit():
            raise errors.not_found()
        return int(value)

    @property
    def user(self) -> User:
        """The signed-in user. Raises a 401 without one."""
        if self.caller.user is None:
            raise errors.requires_authentication()
        return self.caller.user

    def require(self, repository: Repository, role: Role, message: str = "") -> None:
        """Raise a 403 without the role. The message differs between operations."""
        _ = self.user
        if self.caller.role(repository) < role:
            raise errors.forbidden(message or "Must have admin rights to Repository.")

    def wants(self, media: str) -> bool:
        """Whether the Accept header asks for `diff`, `patch`, `raw` or another of GitHub's own types."""
        return (
            f"application/vnd.github.{media}" in self.accept
            or f"application/vnd.github.v3.{media}" in self.accept
        )

    # -- the body

    def fields(self) -> Mapping[str, Any]:
        if self.body is None:
            return {}
        if not isinstance(self.body, dict):
            raise errors.ApiError(422, "Invalid request.\n\nFor 'links/0/schema', the body is not an object.")
        return self.body

    def text(self, name: str, *, required: bool = False) -> str | None:
        """A string of the body. A 422 for another type, or for its absence where it is required."""
        value = self.fields().get(name)
        if value is None:
            if required:
                raise errors.ApiError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
            return None
        if not isinstance(value, str):
            raise _wrong_type(name, value, "a string")
        return value

    def required(self, name: str) -> str:
        return self.text(name, required=True) or ""

    def flag(self, name: str, default: bool) -> bool:
        value = self.fields().get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise _wrong_type(name, value, "a boolean")
        return value

    def names(self, name: str) -> list[str]:
        """A list of strings of the body; a single string counts as a list of one."""
        value = self.fields().get(name, [])
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _wrong_type(name, value, "an array of strings")
        return value

    def redirect_to_store(self, data: bytes, content_type: str) -> Reply:
        """Redirect to a store on another host, as GitHub does for logs and artifacts."""
        secret = secrets.token_hex(16)
        self.state.downloads[secret] = Download(data, content_type)
        return Reply(302, None, {"Location": f"{self.site.store}/{secret}"})

    # -- lists

    def page(self, items: Sequence[T], render: Callable[[T], object], key: str = "") -> Reply:
        """One page of a list, with GitHub's Link header."""
        per_page = min(max(_positive(self.query.get("per_page"), 30), 1), 100)
        number = max(_positive(self.query.get("page"), 1), 1)
        last = max((len(items) + per_page - 1) // per_page, 1)
        chosen = items[(number - 1) * per_page : number * per_page]
        headers = {"Link": link} if (link := self._links(number, last)) else {}
        rendered = [render(item) for item in chosen]
        body = {"total_count": len(items), key: rendered} if key else rendered
        return Reply(200, body, headers)

    def _links(self, number: int, last: int) -> str:
        targets = {}
        if number > 1:
            targets["prev"] = min(number - 1, last)
            targets["first"] = 1
        if number < last:
            targets["next"] = number + 1
            targets["last"] = last
        base = f"{self.site.api}{self.path}"
        return ", ".join(
            f'<{base}?{urlencode({**self.query, "page": page})}>; rel="{relation}"'
            for relation, page in targets.items()
        )


Operation = Callable[[Call], Reply]
# Method, path template (see `Router`) and operation.
Route = tuple[str, str, Operation]


def entity_tag(body: bytes) -> str:
    return f'W/"{hashlib.sha256(body).hexdigest()}"'


def _positive(text: str | None, default: int) -> int:
    return int(text) if text and text.isdigit() else default


def _wrong_type(name: str, value: object, requested: str) -> errors.ApiError:
    value_text = json.dumps(value)
    return errors.ApiError(
        422, f"Invalid request.\n\nFor 'properties/{name}', {value_text} is not {requested}."
    )
