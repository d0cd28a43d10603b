"""Issues and the threads of pull requests: comments, reactions, labels, and the signatures of our markers.

A GitHub App's comments are known by their author. Its first comment is written by the workflow's own bot, before the
key is available, and any workflow can write as that bot. When the app edits that comment it signs the marker; without
a valid signature the comment is not ours.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from bot.contracts.threads import OWN_MARK, CommentData, IssueData, TextKind
from bot.github.accounts import Accounts, account
from bot.github.bodies import fit, fit_title
from bot.github.errors import GitHubError
from bot.github.rendered import RenderedTexts
from bot.github.tokens import ACTIONS_LOGIN
from bot.github.transport import FULL, ignore_response, with_query


class Threads(RenderedTexts, Accounts):
    """Comments and reactions. With a `signer`, a comment by the workflow's own bot with a valid signature counts as
    written by the account of the token."""

    signer: Signer | None = None

    def issue(self, repository: str, number: int) -> IssueData:
        action = f"reading issue {number} of {repository}"
        parse = self._keeping(repository, TextKind.THREAD, issue_data)
        return self._get(action, f"/repos/{repository}/issues/{number}", parse, FULL)

    def comments(
        self, repository: str, number: int, since: str = "", *, html: bool = False
    ) -> Iterator[CommentData]:
        """All comments, oldest first; with `since` (RFC 3339) only those changed at or after it. `html`: for
        `rendered_text`, too."""
        path = with_query(f"/repos/{repository}/issues/{number}/comments", since=since)
        action = f"reading the comments of issue {number} of {repository}"
        if not html:
            return self._list(action, path, self._read(repository))
        parse = self._keeping(repository, TextKind.COMMENT, self._read(repository))
        return self._list(action, path, parse, media=FULL)

    def comments_of_all(self, repository: str, since: str) -> Iterator[CommentData]:
        """The comments of all issues and pull requests that changed at or after `since` (RFC 3339), newest first."""
        path = with_query(
            f"/repos/{repository}/issues/comments", since=since, sort="created", direction="desc"
        )
        return self._list(f"reading the comments of {repository}", path, self._read(repository))

    def newest_comments(self, repository: str, number: int) -> Iterator[CommentData]:
        """All comments, newest first, fetched lazily."""
        path = f"/repos/{repository}/issues/{number}/comments"
        parse = self._keeping(repository, TextKind.COMMENT, self._read(repository))
        return self._list_backwards(
            f"reading the comments of issue {number} of {repository}", path, parse, FULL
        )

    def comment(self, repository: str, comment_id: int) -> CommentData | None:
        """Return one comment of an issue's or pull request's thread; `None` if it was deleted."""
        action = f"reading comment {comment_id} of {repository}"
        parse = self._keeping(repository, TextKind.COMMENT, self._read(repository))
        return self._get_or_none(action, f"/repos/{repository}/issues/comments/{comment_id}", parse, FULL)

    def create_comment(self, repository: str, number: int, body: str) -> CommentData:
        action = f"commenting on issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/comments"
        return self._write(action, "POST", path, {"body": fit(body)}, _comment, safe=False)

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None:
        action = f"editing comment {comment_id} of {repository}"
        path = f"/repos/{repository}/issues/comments/{comment_id}"
        signed = self.signer.sign(repository, comment_id, body) if self.signer else body
        self._write(action, "PATCH", path, {"body": fit(signed)}, ignore_response, safe=True)

    def delete_comment(self, repository: str, comment_id: int) -> None:
        action = f"deleting comment {comment_id} of {repository}"
        self._write(
            action,
            "DELETE",
            f"/repos/{repository}/issues/comments/{comment_id}",
            None,
            ignore_response,
            safe=True,
        )

    def add_reaction(
        self, repository: str, comment_id: int, content: str, review_comment: bool = False
    ) -> None:
        """`content` is GitHub's name of a reaction: `eyes`, `+1`, `-1`, `confused`, `rocket` … Idempotent."""
        kind = "pulls" if review_comment else "issues"
        action = f"reacting to comment {comment_id} of {repository}"
        path = f"/repos/{repository}/{kind}/comments/{comment_id}/reactions"
        self._write(action, "POST", path, {"content": content}, ignore_response, safe=True)

    def _read(self, repository: str) -> Callable[[Any], CommentData]:
        def read(data: Any) -> CommentData:
            comment = _comment(data)
            if self.signer is None or comment.author != ACTIONS_LOGIN:
                return comment
            ours = self.signer.verifies(repository, comment.id, comment.body)
            me = self.me() if ours else None
            return replace(comment, author=me.login, author_id=me.id, author_kind=me.kind) if me else comment

        return read


def issue_data(data: Any) -> IssueData:
    """An issue, or a pull request where the API lists it among issues."""
    author = account(data["user"])
    return IssueData(
        number=int(data["number"]),
        title=str(data["title"]),
        body=str(data.get("body") or ""),
        author=author.login,
        author_kind=author.kind,
        url=str(data["html_url"]),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
        state=str(data["state"]),
        locked=bool(data["locked"]),
        is_pull_request=data.get("pull_request") is not None,
        labels=tuple(_label(label) for label in data.get("labels") or ()),
    )


def _label(data: Any) -> str:
    """GitHub's schema also allows a bare name."""
    return str(data["name"] if isinstance(data, Mapping) else data)


def _comment(data: Any) -> CommentData:
    author = account(data["user"])
    return CommentData(
        id=int(data["id"]),
        author=author.login,
        author_id=author.id,
        author_kind=author.kind,
        body=str(data.get("body") or ""),
        created_at=str(data["created_at"]),
        updated_at=str(data["updated_at"]),
    )


_FIELD = re.compile(r" sig=([0-9a-f]*)")
_LENGTH = 32
"""Hexadecimal digits, so 128 bits."""


class Signer:
    """`key` is the app's private key. A signature holds for one mark in one comment of one repository."""

    def __init__(self, key: str) -> None:
        self._key = key.strip().replace("\\n", "\n").encode()

    def sign(self, repository: str, comment_id: int, body: str) -> str:
        """`body` with its marker signed; unchanged without a marker."""
        mark = OWN_MARK.search(body)
        if mark is None:
            return body
        plain = _FIELD.sub("", mark.group())
        signature = self._signature(repository, comment_id, plain)
        return body[: mark.start()] + plain.replace(" -->", f" sig={signature} -->")

    def verifies(self, repository: str, comment_id: int, body: str) -> bool:
        mark = OWN_MARK.search(body)
        signatures = _FIELD.findall(mark.group()) if mark else []
        if mark is None or len(signatures) != 1:
            return False
        plain = _FIELD.sub("", mark.group())
        return hmac.compare_digest(signatures[0], self._signature(repository, comment_id, plain))

    def _signature(self, repository: str, comment_id: int, mark: str) -> str:
        message = f"slash-agent mark\n{repository.lower()}\n{comment_id}\n{mark.strip()}"
        return hmac.new(self._key, message.encode(), "sha256").hexdigest()[:_LENGTH]


class Issues(RenderedTexts):
    """Issues, and pull requests, which GitHub lists among them: see `is_pull_request`."""

    def issues(self, repository: str, state: str = "open", labels: Sequence[str] = ()) -> Iterator[IssueData]:
        """Newest first. `labels`: those that have all of them."""
        path = with_query(f"/repos/{repository}/issues", state=state, labels=",".join(labels))
        parse = self._keeping(repository, TextKind.THREAD, issue_data)
        return self._list(f"listing the issues of {repository}", path, parse, media=FULL)

    def quietest_issues(
        self, repository: str, state: str = "open", labels: Sequence[str] = ()
    ) -> Iterator[IssueData]:
        """The least recently updated first."""
        path = with_query(
            f"/repos/{repository}/issues",
            state=state,
            labels=",".join(labels),
            sort="updated",
            direction="asc",
        )
        parse = self._keeping(repository, TextKind.THREAD, issue_data)
        return self._list(f"listing the issues of {repository}", path, parse, media=FULL)

    def create_issue(
        self, repository: str, *, title: str, body: str, labels: Sequence[str] = ()
    ) -> IssueData:
        fields = {"title": fit_title(title), "body": fit(body), "labels": list(labels)}
        action = f"opening an issue in {repository}"
        return self._write(action, "POST", f"/repos/{repository}/issues", fields, issue_data, safe=False)

    def edit_issue(
        self, repository: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        """`None` leaves a field unchanged."""
        fields = {}
        if title is not None:
            fields["title"] = fit_title(title)
        if body is not None:
            fields["body"] = fit(body)
        self._edit(f"editing issue {number} of {repository}", repository, number, fields)

    def close_issue(self, repository: str, number: int, reason: str = "completed") -> None:
        """`reason` is `completed` or `not_planned`. A pull request's number closes the pull request."""
        fields = {"state": "closed", "state_reason": reason}
        self._edit(f"closing issue {number} of {repository}", repository, number, fields)

    def add_labels(self, repository: str, number: int, labels: Sequence[str]) -> None:
        """GitHub creates missing labels."""
        action = f"labelling issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/labels"
        self._write(action, "POST", path, {"labels": list(labels)}, ignore_response, safe=True)

    def remove_label(self, repository: str, number: int, label: str) -> None:
        """Succeeds if the label is not set."""
        action = f"taking the label {label} off issue {number} of {repository}"
        path = f"/repos/{repository}/issues/{number}/labels/{quote(label, safe='')}"
        try:
            self._write(action, "DELETE", path, None, ignore_response, safe=True)
        except GitHubError as error:
            if error.status != 404:
                raise

    def _edit(self, action: str, repository: str, number: int, fields: dict[str, str]) -> None:
        self._write(
            action, "PATCH", f"/repos/{repository}/issues/{number}", fields, ignore_response, safe=True
        )
