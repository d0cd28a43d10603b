"""Issues and the threads of pull requests: comments, reactions and labels; and texts with GitHub's HTML of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from github.GithubObject import NotSet
from github.Issue import Issue
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.PullRequestComment import PullRequestComment
from github.PullRequestReview import PullRequestReview

from bot.github.accounts import Accounts, account
from bot.github.signatures import Signer
from bot.github.tokens import ACTIONS_LOGIN
from bot.github.transport import ApiPart, ApiRequester, stamp
from bot.github.values import Account, CommentData, IssueData, TextKind

T = TypeVar("T")
TextT = TypeVar("TextT", Issue, IssueComment, PullRequest, PullRequestComment, PullRequestReview)


class RenderedText(NamedTuple):
    """`author` has the id 0 for a deleted account."""

    author: Account
    body: str
    html: str


class RenderedTexts(ApiPart):
    """Reads of texts with their HTML. A text that a list or a thread has brought is not requested again."""

    def __init__(self, requester: ApiRequester, repository: str) -> None:
        super().__init__(requester, repository)
        self._texts: dict[tuple[TextKind, int], RenderedText] = {}
        self.conversation: dict[int, CommentData] = {}
        """What `newest_comments` has read, by id."""

    def rendered_text(self, kind: TextKind, number: int, own_id: int) -> RenderedText | None:
        """`number` is the thread's, `own_id` the text's own; `None` where it was deleted."""
        if kept := self._texts.get((kind, own_id or number)):
            return kept
        path = {
            TextKind.THREAD: f"issues/{number}",
            TextKind.COMMENT: f"issues/comments/{own_id}",
            TextKind.REVIEW: f"pulls/{number}/reviews/{own_id}",
            TextKind.REVIEW_COMMENT: f"pulls/comments/{own_id}",
        }[kind]
        # Whatever the kind, what is read of it are the fields of a comment.
        text = IssueComment(self.requester, url=f"{self.root}/{path}")
        return self._parsed_or_none(lambda: _rendered_text(text.complete()))

    def _keeping(self, kind: TextKind, parse: Callable[[TextT], T]) -> Callable[[TextT], T]:
        """Return `parse`, for an object whose text is kept."""

        def keep(found: TextT) -> T:
            identity = found.raw_data["number" if kind is TextKind.THREAD else "id"]
            if "body_html" in found.raw_data:
                self._texts[kind, identity] = _rendered_text(found)
            return parse(found)

        return keep


def _rendered_text(found: TextT) -> RenderedText:
    body = found.body or ""
    # Without its HTML a text is of no use: an answer that lacks it is one of an unknown shape.
    html = (found.raw_data["body_html"] or "") if body else ""
    return RenderedText(account(found.user), body, html)


class Threads(RenderedTexts, Accounts):
    """With a `signer`, a comment by the workflow's own bot with a valid signature counts as the token's account's."""

    signer: Signer | None = None

    def issue(self, number: int) -> IssueData:
        issue = self.source.get_issue(number)
        parse = self._keeping(TextKind.THREAD, _issue)
        return self._parsed(lambda: parse(issue.complete()))

    def comments(self, number: int, since: str = "") -> Iterator[CommentData]:
        """All comments, oldest first; with `since` (RFC 3339) only those changed at or after it."""
        issue = self.source.get_issue(number)
        comments = issue.get_comments(since=datetime.fromisoformat(since) if since else NotSet)
        return self._each(comments, self._keeping(TextKind.COMMENT, self._comment_of))

    def comments_of_all(self, since: str) -> Iterator[CommentData]:
        """The comments of all issues and pull requests that changed at or after `since` (RFC 3339), newest first."""
        comments = self.source.get_issues_comments(
            sort="created", direction="desc", since=datetime.fromisoformat(since)
        )
        return self._each(comments, self._comment_of)

    def newest_comments(self, number: int) -> Iterator[CommentData]:
        """All comments, newest first, fetched lazily."""
        path = f"{self.root}/issues/{number}/comments"
        comments = self.requester.newest_first(IssueComment, path)
        parse = self._keeping(TextKind.COMMENT, self._comment_of)
        for comment in self._each(comments, parse):
            self.conversation[comment.id] = comment
            yield comment

    def create_comment(self, number: int, body: str) -> CommentData:
        issue = self.source.get_issue(number)
        return self._parsed(lambda: _comment(issue.create_comment(body)))

    def edit_comment(self, comment_id: int, body: str) -> None:
        signed = self.signer.sign(self.name, comment_id, body) if self.signer else body
        self._comment(comment_id).edit(signed)

    def delete_comment(self, comment_id: int) -> None:
        self._comment(comment_id).delete()

    def add_reaction(self, comment_id: int, content: str, on_lines: bool = False) -> None:
        """`content` is GitHub's name of a reaction: `eyes`, `+1`, `-1`, `confused`, `rocket` … Idempotent."""
        pull = self.source.get_pull(0)
        comment = pull.get_review_comment(comment_id) if on_lines else self._comment(comment_id)
        comment.create_reaction(content)

    def _comment(self, comment_id: int) -> IssueComment:
        # The issue's number is no part of a comment's address.
        return self.source.get_issue(0).get_comment(comment_id)

    def _comment_of(self, data: IssueComment) -> CommentData:
        comment = _comment(data)
        if self.signer is None or comment.author.login != ACTIONS_LOGIN:
            return comment
        me = self.me if self.signer.verifies(self.name, comment.id, comment.body) else None
        return replace(comment, author=me) if me else comment

    def issues(
        self, state: str = "open", labels: Sequence[str] = (), *, quietest: bool = False
    ) -> Iterator[IssueData]:
        """Newest first, or the least recently updated. `labels`: those that have all of them."""
        issues = self.source.get_issues(
            state=state,
            labels=list(labels) or NotSet,
            sort="updated" if quietest else NotSet,
            direction="asc" if quietest else NotSet,
        )
        return self._each(issues, self._keeping(TextKind.THREAD, _issue))

    def create_issue(self, *, title: str, body: str, labels: Sequence[str] = ()) -> IssueData:
        create = self.source.create_issue
        return self._parsed(lambda: _issue(create(title, body, labels=list(labels))))

    def edit_issue(self, number: int, *, title: str | None = None, body: str | None) -> None:
        """`None` leaves a field unchanged."""
        issue = self.source.get_issue(number)
        issue.edit(NotSet if title is None else title, NotSet if body is None else body)

    def close_issue(self, number: int, reason: str) -> None:
        """`reason` is `completed` or `not_planned`. A pull request's number closes the pull request."""
        self.source.get_issue(number).edit(state="closed", state_reason=reason)

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """GitHub creates missing labels."""
        self._post(f"{self.root}/issues/{number}/labels", {"labels": list(labels)})

    def remove_label(self, number: int, label: str) -> None:
        """Succeeds if the label is not set."""
        # PyGithub would leave a slash in the label's name as it is.
        path = f"{self.root}/issues/{number}/labels/{quote(label, safe='')}"
        self._parsed_or_none(partial(self._post, path, None, "DELETE"))


def _issue(issue: Issue) -> IssueData:
    """An issue, or a pull request where the API lists it among issues."""
    return IssueData(
        number=issue.number,
        title=issue.title,
        body=issue.body or "",
        author=account(issue.user),
        url=issue.html_url,
        created_at=stamp(issue.created_at),
        updated_at=stamp(issue.updated_at),
        state=issue.state,
        locked=issue.locked,
        is_pull_request=issue.pull_request is not None,
        labels=tuple(label.name for label in issue.labels or ()),
    )


def _comment(comment: IssueComment) -> CommentData:
    return CommentData(
        id=comment.id,
        author=account(comment.user),
        body=comment.body or "",
        created_at=stamp(comment.created_at),
        updated_at=stamp(comment.updated_at),
    )
