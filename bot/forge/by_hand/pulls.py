"""Pull requests as people open, merge and change them on the web."""

from __future__ import annotations

from typing import Literal

from bot.forge import merging, pulls
from bot.forge.by_hand.base import Base


class Pulls(Base):
    def open_pull(
        self,
        repo: str,
        login: str,
        head: str,
        *,
        base: str | None = None,
        title: str = "A change",
        body: str | None = None,
        draft: bool = False,
        maintainer_can_modify: bool = True,
        at: str | None = None,
    ) -> int:
        """Open one as `login`; `head` is a branch, or `owner:branch` of a fork. Returns its number."""
        with self._state.lock:
            repository = self._repository(repo)
            source, head_ref = pulls.find_head(self._state, repository, head)
            if source is None:
                raise KeyError(head)
            issue = pulls.open_pull(
                self._state,
                repository,
                source,
                head_ref,
                base or repository.default_branch,
                author=self._user(login),
                title=title,
                body=body,
                draft=draft,
                maintainer_can_modify=maintainer_can_modify,
                at=at,
            )
            return issue.number

    def set_pull(
        self, repo: str, number: int, *, draft: bool | None = None, maintainer_can_modify: bool | None = None
    ) -> None:
        """Turn it into a draft or make it ready, and let maintainers push to its head or not."""
        with self._state.lock:
            _, _, pull = self._pull(repo, number)
            pull.draft = pull.draft if draft is None else draft
            if maintainer_can_modify is not None:
                pull.maintainer_can_modify = maintainer_can_modify

    def merge(self, repo: str, number: int, login: str, method: Literal["merge", "squash"] = "merge") -> str:
        """Merge a pull request. Returns the id of the commit that did. A conflict is a `ValueError`."""
        with self._state.lock:
            repository, issue, pull = self._pull(repo, number)
            return merging.merge(self._state, repository, issue, pull, self._user(login), method=method)
