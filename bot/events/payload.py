"""Read a payload file as typed fields. A missing or malformed field is a `UsageError` that names it.

Without pydantic: a refusal must come within 0.4 s of process start, and the check is of some dozens of fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from bot.contracts.errors import UsageError
from bot.github.values import Account, RepositoryData

# GitHub sends no webhook over 25 MB.
MAX_PAYLOAD = 25 * 1024 * 1024

_FULL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9_-]{1,100}(?:\[bot\])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CLONE_URL = re.compile(r"https?://[^\s@?#]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_Value = TypeVar("_Value")


def load(path: Path) -> Fields:
    """Return the payload in the file at `path`. Raises `UsageError` naming the file."""
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
    return Fields(payload)


class Fields:
    """Typed reads by dotted path. `root` is a prefix for error messages only."""

    def __init__(self, payload: Mapping[str, object], root: str = "") -> None:
        self._payload = payload
        self._root = root

    def has(self, path: str) -> bool:
        return self._find(path) is not None

    def text(self, path: str, default: str | None = None) -> str:
        """Return text that can be encoded: a lone surrogate, which JSON allows, becomes U+FFFD."""
        return _SURROGATE.sub("\ufffd", self._read(path, str, "text", default))

    def matching(self, path: str, pattern: re.Pattern[str], what: str) -> str:
        value = self.text(path)
        if not pattern.fullmatch(value):
            raise self._wrong(path, value, what)
        return value

    def number(self, path: str, default: int | None = None) -> int:
        value = self._read(path, int, "a positive whole number", default)
        if value <= 0 and value != default:
            raise self._wrong(path, value, "a positive whole number")
        return value

    def number_in_text(self, path: str) -> int:
        """Return a number that may be 0, or text as a workflow's inputs are; 0 if missing."""
        text = str(self._find(path) or "").strip()
        if not re.fullmatch(r"[0-9]{0,9}", text):
            raise self._wrong(path, text, "a whole number")
        return int(text or 0)

    def truth(self, path: str, default: bool | None = None) -> bool:
        return self._read(path, bool, "true or false", default)

    def entries(self, path: str) -> Iterator[Fields]:
        """Yield the objects of a list; none without a list."""
        for position, entry in enumerate(self._read(path, list, "a list", [])):
            if not isinstance(entry, dict):
                raise self._wrong(f"{path}.{position}", entry, "an object")
            yield Fields(entry, f"{self._root}{path}.{position}.")

    def time(self, path: str) -> str:
        return self.matching(path, _TIME, "a time as in 2026-01-31T12:00:00Z")

    def sha(self, path: str) -> str:
        return self.matching(path, _SHA, "a commit's id")

    def full_name(self, path: str) -> str:
        return self.matching(path, _FULL_NAME, "owner/name")

    def name_of(self, repository: str) -> str:
        """Return the name of a repository; empty if it was deleted."""
        return self.full_name(f"{repository}.full_name") if self.has(repository) else ""

    def account(self, path: str) -> Account | None:
        """Return an account; `None` for a deleted one."""
        if not self.has(path):
            return None
        return Account(
            login=self.matching(f"{path}.login", _LOGIN, "a login"),
            id=self.number(f"{path}.id"),
            kind=self.text(f"{path}.type", default=""),
        )

    def repository(self) -> RepositoryData:
        return RepositoryData(
            name=self.full_name("repository.full_name"),
            default_branch=self.text("repository.default_branch"),
            private=self.truth("repository.private"),
            clone_url=self.matching("repository.clone_url", _CLONE_URL, "an http or https URL"),
            read_only=next(
                (s for s in ("archived", "disabled") if self.truth(f"repository.{s}", default=False)), ""
            ),
        )

    def _read(self, path: str, kind: type[_Value], what: str, default: _Value | None) -> _Value:
        value = self._find(path)
        if value is None and default is not None:
            return default
        if type(value) is not kind:  # a bool is an int, too
            raise self._wrong(path, value, what)
        return value

    def _find(self, path: str) -> object:
        value: object = self._payload
        walked: list[str] = []
        for step in path.split("."):
            if not isinstance(value, dict):
                raise self._wrong(".".join(walked), value, "an object")
            value = value.get(step)
            walked.append(step)
            if value is None:
                return None
        return value

    def _wrong(self, path: str, value: object, what: str) -> UsageError:
        if value is None:
            return UsageError(f"The event has no field {self._root}{path}.")
        return UsageError(f"The event's field {self._root}{path} is not {what}.")
