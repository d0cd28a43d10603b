"""GitHub's API as the few questions and deeds that the bot knows, over PyGithub.

Every method names what it does for the error sentence, and goes through `_ask`, the one place where retries
happen and where PyGithub's exceptions become ours. Nothing is cached but a repository's own data and
who we are.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from bot.contracts.threads import CommentData, IssueData, Permission, RepositoryData
from bot.github.errors import Failure, GitHubError, failure_from, sentence
from bot.github.retry import Pace, wait_before_retry
from bot.github.values import Account, CommitData, PullData

if TYPE_CHECKING:
    import github
    from github.GithubObject import GithubObject
    from github.Issue import Issue
    from github.IssueComment import IssueComment
    from github.NamedUser import NamedUser
    from github.Organization import Organization
    from github.PaginatedList import PaginatedList
    from github.PullRequest import PullRequest
    from github.Repository import Repository

T = TypeVar("T")
G = TypeVar("G", bound="GithubObject")

_PAGE = 100
_TIMEOUT = 30
_GHOST = Account("ghost", 0, "User")


def connect(token: str, api_url: str, *, pace: Pace | None = None) -> GitHub:
    """A client for the API at `api_url`. Asks nothing yet; PyGithub is imported here (125 ms)."""
    import github

    hub = github.Github(
        auth=github.Auth.Token(token) if token else None,
        base_url=api_url.rstrip("/"),
        timeout=_TIMEOUT,
        per_page=_PAGE,
        user_agent="slash-agent",
        lazy=True,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
    )
    return GitHub(hub, pace or Pace())


class GitHub:
    """Made by `connect`. Methods raise `GitHubError`. Not for two threads at once: each has its own."""

    def __init__(self, hub: github.Github, pace: Pace) -> None:
        self._hub = hub
        self._pace = pace
        self._repositories: dict[str, RepositoryData] = {}
        self._asked_who = False
        self._me: Account | None = None

    # Reading

    def me(self) -> Account | None:
        """Whose token this is, or `None`: an installation token, Actions' own included, may not ask."""
        if not self._asked_who:
            self._me = self._ask_who()
            self._asked_who = True
        return self._me

    def _ask_who(self) -> Account | None:
        try:
            data = self._get("/user", "asking whose token this is")
        except GitHubError as error:
            if error.status in (403, 404):
                return None
            raise
        return Account(str(data["login"]), int(data["id"]), str(data.get("type", "User")))

    def repository(self, repository: str) -> RepositoryData:
        if repository not in self._repositories:
            data = self._get(f"/repos/{repository}", f"reading the repository {repository}")
            self._repositories[repository] = RepositoryData(
                name=str(data["full_name"]),
                default_branch=str(data["default_branch"]),
                private=bool(data["private"]),
                clone_url=str(data["clone_url"]),
            )
        return self._repositories[repository]

    def permission(self, repository: str, login: str) -> Permission:
        """See `ThreadReader.permission`. Two requests, three for a stranger on a public repository."""
        private = self.repository(repository).private
        name = quote(login, safe="")
        doing = f"asking what {login} may do on {repository}"
        try:
            data = self._get(f"/repos/{repository}/collaborators/{name}/permission", doing)
        except GitHubError as error:
            if error.status == 404:
                return Permission("none", 0, "", private)
            raise
        user = data.get("user") or {}
        level, role = str(data["permission"]), str(data.get("role_name") or data["permission"])
        return Permission(
            level=level,
            user_id=int(user.get("id") or 0),
            kind=str(user.get("type") or ""),
            private=private,
            role=role,
            collaborator=self._is_collaborator(repository, name, level, role, private),
        )

    def _is_collaborator(self, repository: str, name: str, level: str, role: str, private: bool) -> bool:
        if level == "none":
            return False
        if private or level != "read" or role != "read":
            return True
        try:
            self._get(f"/repos/{repository}/collaborators/{name}", f"asking who collaborates on {repository}")
        except GitHubError as error:
            # 404: not listed. 403: a token without push access may not know, and then nobody is.
            if error.status in (403, 404):
                return False
            raise
        return True

    def file(self, repository: str, path: str, ref: str) -> str | None:
        """The text of a file at `ref`; `None` where there is no file of that name."""
        query = f"/repos/{repository}/contents/{quote(path)}?ref={quote(ref, safe='')}"
        try:
            data = self._get(query, f"reading {path} of {repository} at {ref}")
        except GitHubError as error:
            if error.status == 404:
                return None
            raise
        if data.get("type") != "file":
            return None
        return base64.b64decode(str(data.get("content", ""))).decode(errors="replace")

    def issue(self, repository: str, number: int) -> IssueData:
        issue = self._issue(repository, number)

        def read() -> IssueData:
            author = _account(issue.user)
            return IssueData(
                number=issue.number,
                title=issue.title,
                body=issue.body or "",
                author=author.login,
                author_kind=author.kind,
                url=issue.html_url,
                created_at=_time(issue.created_at),
                updated_at=_time(issue.updated_at),
                state=issue.state,
                locked=issue.locked,
                is_pull_request=issue.pull_request is not None,
            )

        return self._ask(f"reading issue {number} of {repository}", read)

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]:
        """All comments, oldest first; with `since` (RFC 3339) only those changed at or after it."""
        issue = self._issue(repository, number)
        pages = issue.get_comments(since=datetime.fromisoformat(since)) if since else issue.get_comments()
        for comment in self._pages(f"reading the comments of issue {number} of {repository}", pages):
            yield _comment(comment)

    def open_pulls(self, repository: str, branch: str) -> list[PullData]:
        """The open pull requests whose head is `branch` of this very repository."""
        owner = repository.partition("/")[0]
        pages = self._repository(repository).get_pulls(state="open", head=f"{owner}:{branch}")
        found = map(_pull, self._pages(f"looking for pull requests of {branch} in {repository}", pages))
        return [
            p for p in found if p.head_branch == branch and p.head_repository.lower() == repository.lower()
        ]

    def pull_commits(self, repository: str, number: int) -> list[CommitData]:
        pages = self._repository(repository).get_pull(number).get_commits()
        commits = self._pages(f"reading the commits of pull request {number} of {repository}", pages)
        return [
            CommitData(c.sha, c.commit.author.email or "", c.commit.committer.email or "") for c in commits
        ]

    def contains(self, repository: str, branch: str, sha: str) -> bool:
        """Whether the commit `sha` is part of `branch`: its head, or an ancestor of it."""
        path = f"/repos/{repository}/compare/{quote(sha, safe='')}...{quote(branch, safe='')}?per_page=1"
        try:
            data = self._get(path, f"comparing {sha[:12]} with {branch} of {repository}")
        except GitHubError as error:
            if error.status == 404:
                return False
            raise
        return data.get("status") in ("identical", "ahead")

    # Writing

    def create_comment(self, repository: str, number: int, body: str) -> CommentData:
        issue = self._issue(repository, number)
        doing = f"commenting on issue {number} of {repository}"
        return _comment(self._write(doing, lambda: issue.create_comment(body), safe=False))

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None:
        comment = self._issue(repository, number).get_comment(comment_id)
        self._write(f"editing comment {comment_id} of {repository}", lambda: comment.edit(body))

    def open_pull(
        self, repository: str, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> PullData:
        """Raises `GitHubError` 422 where one is open already, and where the plan knows no drafts."""
        repo = self._repository(repository)

        def create() -> PullRequest:
            return repo.create_pull(base=base, head=head, title=title, body=body, draft=draft)

        # Safe to repeat: GitHub allows one open pull request for a head and base.
        return _pull(self._write(f"opening a pull request for {head} in {repository}", create))

    def edit_pull(self, repository: str, number: int, *, title: str, body: str) -> None:
        pull = self._repository(repository).get_pull(number)
        doing = f"editing pull request {number} of {repository}"
        self._write(doing, lambda: pull.edit(title=title, body=body))

    def request_review(self, repository: str, number: int, login: str) -> None:
        pull = self._repository(repository).get_pull(number)
        doing = f"asking {login} to review pull request {number} of {repository}"
        self._write(doing, lambda: pull.create_review_request(reviewers=[login]))

    # The border

    def _repository(self, repository: str) -> Repository:
        return self._hub.get_repo(repository)

    def _issue(self, repository: str, number: int) -> Issue:
        return self._repository(repository).get_issue(number)

    def _get(self, path: str, doing: str) -> dict[str, Any]:
        _, data = self._ask(doing, lambda: self._hub.requester.requestJsonAndCheck("GET", path))
        return data if isinstance(data, dict) else {}

    def _pages(self, doing: str, pages: PaginatedList[G]) -> Iterator[G]:
        """Page by page, so that a failure on the tenth repeats the tenth and not the first nine."""
        for number in count():
            page = self._ask(doing, lambda number=number: pages.get_page(number))  # type: ignore[misc]  # mypy cannot type a lambda's default
            yield from page
            if len(page) < _PAGE:
                return

    def _write(self, doing: str, operation: Callable[[], T], *, safe: bool = True) -> T:
        self._pace.before_write()
        return self._ask(doing, operation, safe=safe)

    def _ask(self, doing: str, operation: Callable[[], T], *, safe: bool = True) -> T:
        from github import GithubException
        from requests import RequestException

        attempt = 0
        while True:
            attempt += 1
            try:
                return operation()
            except GithubException as error:
                cause: Exception = error
                failure = failure_from(error.status or 0, error.data, error.headers)
            except (RequestException, ValueError) as error:
                # No connection, a time-out, or (ValueError) an answer that is not JSON.
                cause, failure = error, Failure(0, f"{type(error).__name__}")
            wait = wait_before_retry(failure, attempt, self._pace.now(), safe=safe)
            if wait is None:
                raise GitHubError(sentence(failure, doing), failure) from cause
            self._pace.sleep(wait)


def _comment(comment: IssueComment) -> CommentData:
    author = _account(comment.user)
    return CommentData(
        id=comment.id,
        author=author.login,
        author_id=author.id,
        author_kind=author.kind,
        body=comment.body or "",
        created_at=_time(comment.created_at),
        updated_at=_time(comment.updated_at),
    )


def _pull(pull: PullRequest) -> PullData:
    head_repository = pull.head.repo
    return PullData(
        number=pull.number,
        url=pull.html_url,
        title=pull.title,
        body=pull.body or "",
        draft=pull.draft,
        head_branch=pull.head.ref,
        head_sha=pull.head.sha,
        head_repository=head_repository.full_name if head_repository else "",
        base_branch=pull.base.ref,
        author=_account(pull.user),
    )


def _account(user: NamedUser | Organization | None) -> Account:
    """Null is what GitHub gives for an account that was deleted, whatever PyGithub's types say."""
    return Account(user.login, user.id, user.type) if user else _GHOST


def _time(moment: datetime | None) -> str:
    """RFC 3339 with a `Z`, as GitHub writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""
