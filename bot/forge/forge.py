"""The forge itself: start it, fill it, and do by hand what people would do on the web."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from bot.forge import events, pulls
from bot.forge.faults import Exchange, Fault, Faults
from bot.forge.git import BareRepository, Signature
from bot.forge.labels import DEFAULT_LABELS
from bot.forge.server import Server
from bot.forge.state import Access, Comment, Issue, Label, Pull, Repository, Role, State, Token, User
from bot.forge.web.pages import Pages

Permission = Literal["admin", "maintain", "write", "triage", "read"]

ACTIONS_BOT = "github-actions[bot]"


class Forge:
    """A small GitHub on a loopback port, until it is closed. Use it as a context manager.

    Methods that name a repository take `owner/name`; those that act for somebody take a login. People and
    repositories that were not added are a `KeyError`: a mistake of the caller's, not an answer of GitHub's.
    """

    def __init__(self, port: int = 0, clock: Callable[[], datetime] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="forge-"))
        self._state = State(clock or (lambda: datetime.now(UTC)))
        self._faults = Faults()
        try:
            self._server = Server(port, self._state, self._faults, lambda site: Pages(self._state, site))
        except OSError:
            shutil.rmtree(self._folder)
            raise
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="forge", daemon=True
        )
        self._thread.start()
        self.add_user(ACTIONS_BOT, kind="Bot", id=41_898_282)

    def __enter__(self) -> Forge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and remove everything from the disk. May be called twice."""
        if self._thread.is_alive():
            self._server.close()
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """What `GITHUB_SERVER_URL` would be."""
        return self._server.site.html

    @property
    def api_url(self) -> str:
        """What `GITHUB_API_URL` would be."""
        return self._server.site.api

    @property
    def requests(self) -> list[Exchange]:
        """Every request so far, in the order in which they were answered."""
        return self._server.exchanges

    # -- people

    def add_user(
        self,
        login: str,
        *,
        kind: Literal["User", "Bot", "Organization"] = "User",
        name: str | None = None,
        email: str | None = None,
        id: int | None = None,
    ) -> int:
        """Add an account, or find it. Returns its id."""
        with self._state.lock:
            user = self._state.user(login)
            if user is None:
                number = id if id is not None else self._state.next_id()
                user = User(number, login, kind, name, email, self._state.now())
                self._state.users[login.casefold()] = user
            return user.id

    def add_organisation(self, login: str, members: Iterable[str] = ()) -> int:
        with self._state.lock:
            number = self.add_user(login, kind="Organization")
            self._user(login).members.update(self._user(member).id for member in members)
            return number

    def delete_user(self, login: str) -> None:
        """What they wrote stays, by nobody. Their tokens die."""
        with self._state.lock:
            user = self._state.users.pop(login.casefold())
            self._state.tokens = {
                value: token for value, token in self._state.tokens.items() if token.user is not user
            }
            for repository in self._state.repositories.values():
                repository.roles.pop(user.id, None)
                for issue in repository.threads.values():
                    issue.author = None if issue.author is user else issue.author
                    for comment in issue.comments:
                        comment.author = None if comment.author is user else comment.author

    def grant(self, repo: str, login: str, permission: Permission) -> None:
        """Make somebody a collaborator, or change what they may."""
        with self._state.lock:
            self._repository(repo).roles[self._user(login).id] = Role[permission.upper()]

    def token(
        self,
        login: str = ACTIONS_BOT,
        permissions: Mapping[str, Access] | None = None,
        *,
        repo: str | None = None,
    ) -> str:
        """A token that acts for `login`.

        Without `permissions` it may all that its user may; with them, only what they name: `contents`,
        `issues`, `pull_requests`, `workflows` ..., each "read" or "write". With `repo` it reaches that
        repository alone. A bot's token with both is what Actions gives a job.
        """
        with self._state.lock:
            user = self._user(login)
            prefix = "ghs" if user.kind == "Bot" else "ghp" if permissions is None else "github_pat"
            value = f"{prefix}_{secrets.token_hex(18)}"
            repositories = None if repo is None else frozenset({self._repository(repo).full_name})
            granted = None if permissions is None else dict(permissions)
            self._state.tokens[value] = Token(value, user, granted, repositories)
            return value

    def revoke_token(self, value: str) -> None:
        """From now on this token is a 401: an expired one, seen from outside."""
        with self._state.lock:
            del self._state.tokens[value]

    # -- repositories

    def create_repository(
        self,
        owner: str,
        name: str,
        source: Path | None = None,
        *,
        private: bool = False,
        default_branch: str = "main",
        description: str | None = None,
        author: str | None = None,
        committed_at: datetime | None = None,
    ) -> str:
        """Returns `owner/name`. The owner is added where it is new.

        `source` is a folder: of plain files, which become the first commit (ignored ones left out, by
        `author`, else the owner), or a git repository, whose branches and tags are taken over. Without one the
        repository is empty.
        """
        with self._state.lock:
            self.add_user(owner)
            repository = self._new_repository(self._user(owner), name, private, default_branch, description)
            if source is not None and _is_repository(source):
                repository.git.take(source, "+refs/heads/*:refs/heads/*")
                repository.git.take(source, "+refs/tags/*:refs/tags/*")
            elif source is not None:
                who = self._signature(self._user(author or owner))
                if committed_at is not None:
                    who = replace(who, at=int(committed_at.timestamp()))
                repository.git.commit_folder(source, "Initial commit\n", who, default_branch)
            return repository.full_name

    def fork(self, repo: str, owner: str) -> str:
        """Copy a repository to another account, as its fork."""
        with self._state.lock:
            parent = self._repository(repo)
            self.add_user(owner)
            fork = self._new_repository(
                self._user(owner), parent.name, parent.private, parent.default_branch, parent.description
            )
            fork.parent = parent
            fork.git.take(parent.git.path, "+refs/heads/*:refs/heads/*")
            return fork.full_name

    def delete_repository(self, repo: str) -> None:
        """Pull requests from it stay in the parent, without a head repository."""
        with self._state.lock:
            repository = self._repository(repo)
            del self._state.repositories[repository.full_name.casefold()]
            for other in self._state.repositories.values():
                for _, pull in other.pulls():
                    if pull.head_repository is repository:
                        pull.head_repository = None
            shutil.rmtree(repository.git.path)

    def _new_repository(
        self, owner: User, name: str, private: bool, default_branch: str, description: str | None
    ) -> Repository:
        if self._state.repository(f"{owner.login}/{name}") is not None:
            raise ValueError(f"{owner.login}/{name} is already there")
        number, now = self._state.next_id(), self._state.now()
        git = BareRepository.create(self._folder / f"{number}.git", default_branch)
        repository = Repository(number, owner, name, private, default_branch, git, description, now, now, now)
        for label, color, text in DEFAULT_LABELS:
            repository.labels[label] = Label(self._state.next_id(), label, color, text, default=True)
        self._state.add_repository(repository)
        return repository

    def git_folder(self, repo: str) -> Path:
        """The bare repository on disk, for looking at."""
        return self._repository(repo).git.path

    def clone_url(self, repo: str) -> str:
        return f"{self.url}/{self._repository(repo).full_name}.git"

    def branch_sha(self, repo: str, branch: str | None = None) -> str | None:
        """The tip of a branch, of the default branch without a name; None where there is none."""
        repository = self._repository(repo)
        return repository.git.branch(branch or repository.default_branch)

    def commit(
        self,
        repo: str,
        files: Mapping[str, bytes | str | None],
        *,
        branch: str | None = None,
        message: str = "Update files",
        author: str | None = None,
    ) -> str:
        """Commit files onto a branch, as a push would; None removes one.

        A branch that is new begins at the default one. Returns the commit's id.
        """
        with self._state.lock:
            repository = self._repository(repo)
            name = branch or repository.default_branch
            parent = repository.git.branch(name) or repository.git.branch(repository.default_branch)
            contents = {
                path: content.encode() if isinstance(content, str) else content
                for path, content in files.items()
            }
            who = self._signature(self._user(author) if author else repository.owner)
            sha = repository.git.write_files(parent, contents, f"{message}\n", who)
            repository.git.set_ref(f"refs/heads/{name}", sha)
            repository.pushed_at = self._state.now()
            pulls.follow_branches(self._state, repository)
            return sha

    def delete_branch(self, repo: str, branch: str) -> None:
        with self._state.lock:
            repository = self._repository(repo)
            repository.git.delete_ref(f"refs/heads/{branch}")
            pulls.follow_branches(self._state, repository)

    def allow_actions_pull_requests(self, repo: str, allowed: bool) -> None:
        """The setting "Allow GitHub Actions to create and approve pull requests"."""
        self._repository(repo).actions_may_open_pull_requests = allowed

    # -- threads

    def create_issue(
        self,
        repo: str,
        login: str,
        title: str,
        body: str | None = None,
        *,
        labels: Sequence[str] = (),
        at: str | None = None,
    ) -> int:
        """Returns the number. `at` is its time of writing (RFC 3339, UTC), now without one."""
        with self._state.lock:
            repository = self._repository(repo)
            number = max(repository.threads, default=0) + 1
            when = at or self._state.now()
            issue = Issue(self._state.next_id(), number, title, body, self._user(login), when, when)
            issue.labels = [repository.labels[name.casefold()] for name in labels]
            repository.threads[number] = issue
            return number

    def comment(
        self, repo: str, number: int, login: str, body: str, *, at: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Comment on a thread. Returns the comment's id and the event that GitHub would send."""
        with self._state.lock:
            issue = self._repository(repo).threads[number]
            when = at or self._state.now()
            comment = Comment(self._state.next_id(), self._user(login), body, when, when)
            issue.comments.append(comment)
            issue.updated_at = max(issue.updated_at, when)
            return comment.id, self.issue_comment_event(repo, comment.id)

    def edit_comment(self, repo: str, comment_id: int, body: str, *, at: str | None = None) -> None:
        with self._state.lock:
            _, comment = self._comment(repo, comment_id)
            comment.body = body
            comment.updated_at = at or self._state.now()

    def delete_comment(self, repo: str, comment_id: int) -> None:
        with self._state.lock:
            issue, comment = self._comment(repo, comment_id)
            issue.comments.remove(comment)

    def set_thread(
        self,
        repo: str,
        number: int,
        *,
        state: Literal["open", "closed"] | None = None,
        locked: bool | None = None,
    ) -> None:
        """Close, reopen, lock or unlock, as a maintainer would."""
        with self._state.lock:
            issue = self._repository(repo).threads[number]
            if state == "closed":
                pulls.close(self._state, issue)
            elif state == "open":
                issue.state, issue.closed_at, issue.closed_by = "open", None, None
            issue.locked = issue.locked if locked is None else locked

    def merge(self, repo: str, number: int, login: str) -> str:
        """Merge a pull request with a merge commit. Returns the commit's id."""
        with self._state.lock:
            repository = self._repository(repo)
            issue = repository.threads[number]
            pull = _pull(issue)
            base = repository.git.branch(pull.base_ref)
            if base is None:
                raise ValueError(f"{repo} has no branch {pull.base_ref}")
            tree = repository.git.text("merge-tree", "--write-tree", base, pull.head_sha).splitlines()[0]
            source = f"{pull.head_owner.login}/{pull.head_ref}"
            message = f"Merge pull request #{number} from {source}\n\n{issue.title}\n"
            who = self._signature(self._user(login))
            sha = repository.git.write_commit(tree, [base, pull.head_sha], message, who)
            pull.base_sha, pull.merged_by = base, self._user(login)
            repository.git.set_ref(f"refs/heads/{pull.base_ref}", sha)
            pulls.follow_branches(self._state, repository)
            return sha

    def issue_comment_event(
        self, repo: str, comment_id: int, action: Literal["created", "edited", "deleted"] = "created"
    ) -> dict[str, Any]:
        """The payload of `issue_comment`, as GitHub would deliver it now."""
        with self._state.lock:
            issue, comment = self._comment(repo, comment_id)
            return events.issue_comment(self._server.site, self._repository(repo), issue, comment, action)

    # -- trouble

    def fail_next(
        self,
        method: str = "*",
        path: str = "",
        status: int = 500,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        times: int = 1,
    ) -> None:
        """Answer the next matching requests so, without carrying them out.

        `path` is a regular expression, searched in the path from the root (`/api/v3/...`,
        `/owner/name.git/...`); `body` is JSON data, or text or bytes to send as they are.
        """
        self._faults.add(Fault(method, re.compile(path), status, dict(headers or {}), body), times)

    def delay_next(self, method: str = "*", path: str = "", *, seconds: float, times: int = 1) -> None:
        """Answer the next matching requests as usual, but late."""
        self._faults.add(Fault(method, re.compile(path), delay=seconds), times)

    def drop_next(
        self, method: str = "*", path: str = "", *, times: int = 1, after_effect: bool = False
    ) -> None:
        """Close the connection instead of answering; with `after_effect` carry the request out first."""
        self._faults.add(Fault(method, re.compile(path), drop=True, after_effect=after_effect), times)

    @property
    def faults_waiting(self) -> int:
        return self._faults.waiting

    # -- finding

    def _user(self, login: str) -> User:
        return self._state.users[login.casefold()]

    def _repository(self, repo: str) -> Repository:
        return self._state.repositories[repo.casefold()]

    def _comment(self, repo: str, comment_id: int) -> tuple[Issue, Comment]:
        for issue in self._repository(repo).threads.values():
            for comment in issue.comments:
                if comment.id == comment_id:
                    return issue, comment
        raise KeyError(comment_id)

    def _signature(self, user: User) -> Signature:
        email = user.email or f"{user.id}+{user.login}@users.noreply.github.com"
        return Signature(user.name or user.login, email, self._state.epoch())


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def _pull(issue: Issue) -> Pull:
    if issue.pull is None:
        raise ValueError(f"#{issue.number} is not a pull request")
    return issue.pull
