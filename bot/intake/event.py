"""An event's payload file as a value: what GitHub says happened, checked field by field.

Read by hand and not with pydantic: a refusal must come within 0.4 s of process start, and the check is of a
dozen fields. The payload is a snapshot: what it holds counts, whatever the thread says when somebody looks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.contracts.threads import RepositoryData

COMMENT = "issue_comment"
"""The one event that asks for anything in this version."""

# GitHub sends no webhook over 25 MB.
MAX_PAYLOAD = 25 * 1024 * 1024

_FULL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(?:\[bot\])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_CLONE_URL = re.compile(r"https?://[^\s@?#]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Account:
    login: str
    id: int
    kind: str


@dataclass(frozen=True, slots=True)
class CommentEvent:
    """An `issue_comment` event. `author` is `None` where GitHub no longer knows the account (a ghost).

    `sender` is who caused the event, which for an edit need not be the comment's author.
    """

    action: str
    repository: RepositoryData
    number: int
    title: str
    body: str
    opened_by: str
    url: str
    on_pull_request: bool
    comment_id: int
    comment_url: str
    comment_body: str
    commented_at: str
    author: Account | None
    sender: Account | None


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """An event that this version does nothing with."""

    name: str
    action: str


Event = CommentEvent | OtherEvent


def read_event(name: str, path: Path) -> Event:
    """The event in the payload file at `path`. Raises `UsageError` naming the file or the field at fault."""
    payload = _load(path)
    fields = _Fields(payload)
    if name != COMMENT:
        return OtherEvent(name, fields.text("action", default=""))
    return CommentEvent(
        action=fields.text("action"),
        repository=_repository(fields),
        number=fields.number("issue.number"),
        title=fields.text("issue.title"),
        body=fields.text("issue.body", default=""),
        opened_by=fields.text("issue.user.login", default="ghost"),
        url=fields.text("issue.html_url"),
        on_pull_request=fields.has("issue.pull_request"),
        comment_id=fields.number("comment.id"),
        comment_url=fields.text("comment.html_url"),
        comment_body=fields.text("comment.body", default=""),
        commented_at=fields.matching("comment.created_at", _TIME, "a time as in 2026-01-31T12:00:00Z"),
        author=_account(fields, "comment.user"),
        sender=_account(fields, "sender"),
    )


def _repository(fields: _Fields) -> RepositoryData:
    return RepositoryData(
        name=fields.matching("repository.full_name", _FULL_NAME, "owner/name"),
        default_branch=fields.text("repository.default_branch"),
        private=fields.truth("repository.private"),
        clone_url=fields.matching("repository.clone_url", _CLONE_URL, "an http or https URL"),
    )


def _account(fields: _Fields, path: str) -> Account | None:
    if not fields.has(path):
        return None
    return Account(
        login=fields.matching(f"{path}.login", _LOGIN, "a login"),
        id=fields.number(f"{path}.id"),
        kind=fields.text(f"{path}.type", default=""),
    )


def _load(path: Path) -> Mapping[str, object]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_PAYLOAD + 1)
    except OSError as error:
        raise UsageError(f"The event file {path} cannot be read: {error.strerror}.") from error
    if len(content) > MAX_PAYLOAD:
        raise UsageError(f"The event file {path} is over {MAX_PAYLOAD} bytes.")
    try:
        payload = json.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise UsageError(f"The event file {path} is nested too deeply.") from error
    except ValueError as error:
        raise UsageError(f"The event file {path} is not JSON: {error}.") from error
    if not isinstance(payload, dict):
        raise UsageError(f"The event file {path} does not hold a JSON object.")
    return payload


class _Fields:
    """Typed reads by dotted path. What is missing or of the wrong type is a `UsageError` naming the path."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self._payload = payload

    def has(self, path: str) -> bool:
        return self._find(path) is not None

    def text(self, path: str, default: str | None = None) -> str:
        """Text fit to be encoded: a lone surrogate, which JSON can spell, becomes U+FFFD."""
        value = self._find(path)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._wrong(path, value, "text")
        return _SURROGATE.sub("\ufffd", value)

    def matching(self, path: str, pattern: re.Pattern[str], what: str) -> str:
        value = self.text(path)
        if not pattern.fullmatch(value):
            raise UsageError(f"The event's field {path} is not {what}.")
        return value

    def number(self, path: str) -> int:
        value = self._find(path)
        if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            raise self._wrong(path, value, "a positive whole number")
        return value

    def truth(self, path: str) -> bool:
        value = self._find(path)
        if not isinstance(value, bool):
            raise self._wrong(path, value, "true or false")
        return value

    def _find(self, path: str) -> object:
        found: object = self._payload
        walked: list[str] = []
        for step in path.split("."):
            if not isinstance(found, dict):
                raise self._wrong(".".join(walked), found, "an object")
            found = found.get(step)
            walked.append(step)
            if found is None:
                return None
        return found

    @staticmethod
    def _wrong(path: str, value: object, what: str) -> UsageError:
        if value is None:
            return UsageError(f"The event has no field {path}.")
        return UsageError(f"The event's field {path} is not {what}.")
