"""Create repositories, forks, branches and commits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from slash_forge import pulls
from slash_forge.git import BareRepository
from slash_forge.operations.labels import DEFAULT_LABELS
from slash_forge.scenario.base import Base
from slash_forge.state import Label, Repository, Rule, User, timestamp


class Repositories(Base):
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
        """Returns `owner/name`. The owner is added if missing.

        `source` is a folder of plain files, which become the first commit (without ignored ones, by `author` or the
        owner), or a git repository, whose branches and tags are fetched. Without it the repository is empty.
        """
        with self._state.lock:
            self.add_user(owner)
            repository = self._new_repository(self._user(owner), name, private, default_branch, description)
            if source is not None and _is_repository(source):
                repository.git.fetch(source, "+refs/heads/*:refs/heads/*")
                repository.git.fetch(source, "+refs/tags/*:refs/tags/*")
            elif source is not None:
                signature = self._signature(self._user(author or owner))
                if committed_at is not None:
                    signature = replace(signature, at=int(committed_at.timestamp()))
                repository.git.commit_folder(source, "Initial commit\n", signature, default_branch)
            pulls.record_pushes(self._state, repository)
            return repository.full_name

    def make_private(self, repo: str) -> None:
        """Make the repository private: reads need a permission too."""
        with self._state.lock:
            self._repository(repo).private = True

    def fork(self, repo: str, owner: str) -> str:
        """Copy a repository to another account, as its fork."""
        with self._state.lock:
            parent = self._repository(repo)
            self.add_user(owner)
            fork = self._new_repository(
                self._user(owner), parent.name, parent.private, parent.default_branch, parent.description
            )
            fork.parent = parent
            fork.git.fetch(parent.git.path, "+refs/heads/*:refs/heads/*")
            pulls.record_pushes(self._state, fork)
            return fork.full_name

    def rename_repository(self, repo: str, full_name: str) -> str:
        """Rename or transfer a repository to `full_name`, and return that. Requests for the old name redirect."""
        owner, _, name = full_name.partition("/")
        with self._state.lock:
            repository, new_owner = self._repository(repo), self._user(owner)
            old = repository.full_name
            del self._state.repositories[old.casefold()]
            repository.owner, repository.name = new_owner, name
            self._state.add_repository(repository)
            self._state.renamed[old.casefold()] = repository
            for token in self._state.tokens.values():
                if token.repositories is not None and old in token.repositories:
                    token.repositories = token.repositories - {old} | {repository.full_name}
            return repository.full_name

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
        """The path of the bare repository."""
        return self._repository(repo).git.path

    def clone_url(self, repo: str) -> str:
        return f"{self.url}/{self._repository(repo).full_name}.git"

    def branch_sha(self, repo: str, branch: str | None = None) -> str | None:
        """The tip of a branch (default: the default branch), or None."""
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
        """Commit files to a branch, as a push would; None removes a file.

        A new branch starts at the default branch. Returns the commit's id.
        """
        with self._state.lock:
            repository = self._repository(repo)
            name = branch or repository.default_branch
            parent = repository.git.branch(name) or repository.git.branch(repository.default_branch)
            contents = {
                path: content.encode() if isinstance(content, str) else content
                for path, content in files.items()
            }
            signature = self._signature(self._user(author) if author else repository.owner)
            sha = repository.git.write_files(parent, contents, f"{message}\n", signature)
            repository.git.move_ref(f"refs/heads/{name}", sha)
            repository.pushed_at = self._state.now()
            pulls.after_push(self._state, repository)
            return sha

    def age_pushes(self, repo: str, seconds: int = 60) -> None:
        """Move the pushes recorded so far into the past."""
        with self._state.lock:
            pushes = self._repository(repo).pushes
            pushes[:] = [
                replace(one, at=timestamp(datetime.fromisoformat(one.at) - timedelta(seconds=seconds)))
                for one in pushes
            ]

    def delete_branch(self, repo: str, branch: str) -> None:
        with self._state.lock:
            repository = self._repository(repo)
            repository.git.delete_ref(f"refs/heads/{branch}")
            pulls.follow_branches(self._state, repository)

    def protect(self, repo: str, branch: str, *, approvals: int = 1) -> None:
        """Classic branch protection: no pushes to that branch, only merges after approvals."""
        with self._state.lock:
            self._repository(repo).protections[branch] = approvals

    def add_rule(
        self, repo: str, pattern: str, kind: str, parameters: Mapping[str, object] | None = None
    ) -> None:
        """A rule of a ruleset: `kind` is GitHub's type (`pull_request`, `creation`, `update`, ...).

        Pushes to a branch that matches are refused for the kinds that concern them.
        """
        with self._state.lock:
            self._repository(repo).rules.append(Rule(self._state.next_id(), pattern, kind, parameters or {}))

    def add_secret(self, repo: str, name: str) -> None:
        with self._state.lock:
            self._repository(repo).secrets[name] = self._state.now()

    def allow_actions_pull_requests(self, repo: str, allowed: bool) -> None:
        """The setting "Allow GitHub Actions to create and approve pull requests"."""
        self._repository(repo).actions_may_open_pull_requests = allowed


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())
