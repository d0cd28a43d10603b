"""A comment event and the thread around it, small and easy to bend, for tests of intake."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.contracts.threads import CommentData, IssueData, Permission, RepositoryData

AT = "2026-03-01T12:00:00Z"
OCTOCAT = {"login": "octocat", "id": 583231, "type": "User"}
WRITER = Permission("write", 583231, "User", private=False, role="write")
MISSING: Any = object()


def comment_payload(body: str | None = "/agent fix it", **changes: Any) -> dict[str, Any]:
    """An `issue_comment` payload. `changes` are values by path, with `__` between the names."""
    payload: dict[str, Any] = {
        "action": "created",
        "issue": {
            "number": 7,
            "title": "Sum is wrong",
            "body": "It is off by one.",
            "html_url": "https://github.example/acme/calc/issues/7",
            "user": {"login": "reporter", "id": 11, "type": "User"},
        },
        "comment": {
            "id": 5000,
            "html_url": "https://github.example/acme/calc/issues/7#issuecomment-5000",
            "body": body,
            "created_at": AT,
            "user": dict(OCTOCAT),
            "author_association": "OWNER",
        },
        "repository": {
            "full_name": "acme/calc",
            "default_branch": "main",
            "private": False,
            "clone_url": "https://github.example/acme/calc.git",
        },
        "sender": dict(OCTOCAT),
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        target = payload
        for parent in parents:
            target = target[parent]
        if value is MISSING:
            del target[last]
        else:
            target[last] = value
    return payload


def write_payload(folder: Path, payload: object) -> Path:
    path = folder / "event.json"
    path.write_text(json.dumps(payload))
    return path


def comment(
    number: int, body: str = "hello", at: str = "2026-03-01T10:00:00Z", edited: str = ""
) -> CommentData:
    return CommentData(number, f"user{number}", number, "User", body, at, edited or at)


@dataclass
class Threads:
    """Answers what intake asks, and keeps what it was asked."""

    permission_answer: Permission = WRITER
    thread: Sequence[CommentData] = ()
    asked: list[str] = field(default_factory=list)

    def permission(self, repository: str, login: str) -> Permission:
        self.asked.append(f"permission {repository} {login}")
        return self.permission_answer

    def comments(self, repository: str, number: int) -> Iterator[CommentData]:
        self.asked.append(f"comments {repository} {number}")
        yield from self.thread

    def issue(self, repository: str, number: int) -> IssueData:
        raise AssertionError("the issue as of the trigger is in the payload")

    def repository(self, repository: str) -> RepositoryData:
        raise AssertionError("the repository is in the payload")
