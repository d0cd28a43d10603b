"""Small event payloads and a fake thread API, for tests of the intake."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bot.contracts.errors import AgentError
from bot.contracts.pulls import FailedCheck, PullRequest, PullState, ReviewText, ReviewThread
from bot.events.event_request import EventRequest
from bot.github.values import Account, CommentData, IssueData, Permission, PushData, RepositoryData, TextKind
from slash_forge.rendering import to_html

AT = "2026-03-01T12:00:00Z"
OCTOCAT = {"login": "octocat", "id": 583231, "type": "User"}
REPORTER = {"login": "reporter", "id": 11, "type": "User"}
WRITER = Permission("write", 583231, "User", private=False, role="write")
MISSING: Any = object()
Given = TypeVar("Given")


def comment_payload(body: str | None = "/agent fix it", **changes: Any) -> dict[str, Any]:
    """An `issue_comment` payload. `changes` are values by path, with `__` between the names."""
    payload: dict[str, Any] = {
        "action": "created",
        "issue": {
            "number": 7,
            "title": "Sum is wrong",
            "body": "It is off by one.",
            "html_url": "https://github.example/acme/calc/issues/7",
            "user": dict(REPORTER),
            "updated_at": AT,
            "created_at": "2026-03-01T08:00:00Z",
            "locked": False,
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
            "id": 99,
            "full_name": "acme/calc",
            "default_branch": "main",
            "private": False,
            "clone_url": "https://github.example/acme/calc.git",
        },
        "sender": dict(OCTOCAT),
    }
    return with_changes(payload, changes)


def with_changes(payload: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
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
    return CommentData(number, Account(f"user{number}", number, "User"), body, at, edited or at)


@dataclass(frozen=True)
class FakeText:
    body: str
    html: str


@dataclass
class Threads:
    """A fake of the API that the intake reads; `calls` records the calls."""

    permission_answer: Permission = WRITER
    thread: Sequence[CommentData] = ()
    calls: list[str] = field(default_factory=list)
    pull_answer: PullRequest | None = None
    push_list: Sequence[PushData] | None = ()
    review: Sequence[ReviewThread] = ()
    failed: Sequence[FailedCheck] | AgentError = ()
    statuses: Sequence[FailedCheck] | AgentError = ()
    reviewed: Sequence[ReviewText] | AgentError = ()
    on_issue: bool = False
    issue_body: str = "It was off by one."
    texts: dict[tuple[TextKind, int], str] = field(default_factory=dict)
    """By kind and id (0 for the thread's own): what GitHub has now, beside what the lists hold."""
    html: Callable[[str], str] = to_html
    name: str = "acme/calc"

    def remember(self, request: EventRequest) -> None:
        """GitHub has the texts of the payload."""
        if source := request.source:
            self.texts.setdefault((source.kind, source.identity), source.body)
        if request.subject:
            self.texts.setdefault((TextKind.THREAD, 0), request.subject.body)

    def rendered_text(self, kind: TextKind, number: int, identity: int) -> FakeText | None:
        texts = {
            (TextKind.THREAD, 0): self.issue_body,
            **{(TextKind.COMMENT, one.id): one.body for one in self.thread},
            **{(TextKind.REVIEW_COMMENT, c.id): c.body for one in self.review for c in one.comments},
            **self.texts,
        }
        if not isinstance(self.reviewed, AgentError):
            texts = {(TextKind.REVIEW, one.id): one.body for one in self.reviewed} | texts
        body = texts.get((kind, identity))
        return None if body is None else FakeText(body, self.html(body))

    def permission(self, login: str) -> Permission:
        self.calls.append(f"permission {self.name} {login}")
        return self.permission_answer

    def newest_comments(self, number: int) -> Iterator[CommentData]:
        self.calls.append(f"comments {self.name} {number}")
        yield from reversed(self.thread)

    def issue(self, number: int) -> IssueData:
        self.calls.append(f"issue {self.name} {number}")
        url = f"https://github.example/{self.name}/{'issues' if self.on_issue else 'pull'}/{number}"
        return IssueData(
            number, "Mend the sum", self.issue_body, Account("reporter", 11, "User"), url, AT, AT,
            is_pull_request=not self.on_issue,
        )  # fmt: skip

    @property
    def repository(self) -> RepositoryData:
        self.calls.append(f"repository {self.name}")
        return RepositoryData(self.name, "main", private=False, clone_url="https://github.example/x.git")

    def pull(self, number: int) -> PullRequest:
        self.calls.append(f"pull {self.name} {number}")
        return self.pull_answer or pull_request(number)

    def pushes(self, repository: str, branch: str) -> list[PushData] | None:
        self.calls.append(f"pushes {repository} {branch}")
        return None if self.push_list is None else list(self.push_list)

    def review_threads(self, number: int) -> list[ReviewThread]:
        self.calls.append(f"review_threads {self.name} {number}")
        return list(self.review)

    def failed_checks(self, sha: str) -> list[FailedCheck]:
        self.calls.append(f"failed_checks {self.name} {sha}")
        return _given(self.failed)

    def failed_statuses(self, sha: str) -> list[FailedCheck]:
        self.calls.append(f"failed_statuses {self.name} {sha}")
        return _given(self.statuses)

    def newest_reviews(self, number: int) -> Iterator[ReviewText]:
        self.calls.append(f"reviews {self.name} {number}")
        yield from reversed(_given(self.reviewed))


def _given(answer: Sequence[Given] | AgentError) -> list[Given]:
    if isinstance(answer, AgentError):
        raise answer
    return list(answer)


HEAD = "a" * 40


def pull_request(number: int = 7, **changes: Any) -> PullRequest:
    """An open pull request from the branch `fix` of `acme/calc`, last updated at the trigger."""
    pull = PullRequest(
        number, PullState.OPEN, locked=False, author="reporter", head_sha=HEAD,
        head_ref="fix", head_repository="acme/calc", base_ref="main", base_sha="b" * 40, changed_files=3, updated_at=AT,
    )  # fmt: skip
    return pull._replace(**changes)


def pull_payload(action: str = "opened", **changes: Any) -> dict[str, Any]:
    """A `pull_request` payload; the same pull request as `pull_request()`'s."""
    payload: dict[str, Any] = {
        "action": action,
        "pull_request": {
            "number": 7,
            "title": "Mend the sum",
            "body": "It was off by one.",
            "html_url": "https://github.example/acme/calc/pull/7",
            "user": dict(REPORTER),
            "created_at": "2026-03-01T08:00:00Z",
            "updated_at": AT,
            "locked": False,
            "draft": False,
            "head": {"sha": HEAD, "ref": "fix", "repo": {"full_name": "acme/calc"}},
            "base": {"sha": "b" * 40, "ref": "main"},
        },
        "repository": comment_payload()["repository"],
        "sender": dict(OCTOCAT),
    }
    return with_changes(payload, changes)


def review_payload(body: str | None = "/agent fix it", **changes: Any) -> dict[str, Any]:
    payload = pull_payload("submitted")
    payload["review"] = {
        "id": 6000,
        "html_url": "https://github.example/acme/calc/pull/7#pullrequestreview-6000",
        "body": body,
        "submitted_at": AT,
        "user": dict(OCTOCAT),
    }
    return with_changes(payload, changes)


def review_comment_payload(body: str | None = "/agent fix this", **changes: Any) -> dict[str, Any]:
    payload = pull_payload("created")
    payload["comment"] = {
        "id": 5000,
        "html_url": "https://github.example/acme/calc/pull/7#discussion_r5000",
        "body": body,
        "created_at": AT,
        "user": dict(OCTOCAT),
        "path": "calc/sum.py",
        "line": 12,
        "start_line": 10,
        "side": "RIGHT",
        "diff_hunk": "@@ -9,3 +9,4 @@\n def add(a, b):\n+    return a - b",
        "in_reply_to_id": 4000,
    }
    return with_changes(payload, changes)


def on_pull(body: str | None = "/agent fix it", **changes: Any) -> dict[str, Any]:
    """An `issue_comment` payload under a pull request."""
    payload = comment_payload(body)
    payload["issue"]["pull_request"] = {"url": "https://api.github.example/repos/acme/calc/pulls/7"}
    payload["issue"]["html_url"] = "https://github.example/acme/calc/pull/7"
    return with_changes(payload, changes)


def issue_payload(action: str = "opened", **changes: Any) -> dict[str, Any]:
    payload = comment_payload()
    del payload["comment"]
    payload["action"] = action
    return with_changes(payload, changes)


def pull_of_run(number: int = 7, **changes: Any) -> dict[str, Any]:
    """A pull request as a `workflow_run` names it."""
    pull: dict[str, Any] = {
        "number": number,
        "base": {"ref": "main", "sha": "f" * 40, "repo": {"id": 99, "name": "calc"}},
        "head": {"ref": "fix", "sha": HEAD, "repo": {"id": 99, "name": "calc"}},
    }
    return with_changes(pull, changes)


def run_payload(**changes: Any) -> dict[str, Any]:
    """A `workflow_run` payload: CI failed on the pull request of `pull_request()`."""
    payload: dict[str, Any] = {
        "action": "completed",
        "workflow_run": {
            "id": 77,
            "name": "CI",
            "event": "pull_request",
            "status": "completed",
            "conclusion": "failure",
            "head_sha": HEAD,
            "head_branch": "fix",
            "head_repository": {"full_name": "acme/calc"},
            "pull_requests": [pull_of_run()],
            "html_url": "https://github.example/acme/calc/actions/runs/77",
            "updated_at": AT,
            "actor": dict(OCTOCAT),
        },
        "repository": comment_payload()["repository"],
        "sender": dict(OCTOCAT),
    }
    return with_changes(payload, changes)
