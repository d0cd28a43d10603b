"""Read, open and edit pull requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.threads import PushData, TextKind
from bot.github.accounts import account
from bot.github.bodies import fit, fit_title
from bot.github.errors import GitHubError
from bot.github.rendered import RenderedTexts
from bot.github.transport import FULL, PAGE, ignore_response, with_query
from bot.github.values import CommitData, PullData

# Seconds after each look for a pull request that is being opened. A job that is cancelled has ten seconds in all.
_OPENING = (1.0, 1.0, 2.0, 0.0)
# Seconds before each new attempt to open a pull request for a head that the API does not see yet.
_HEAD_UNSEEN = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0)


class Pulls(RenderedTexts):
    """Comments of pull requests are in `threads`, reviews in `reviews`."""

    def pull(self, repository: str, number: int) -> PullRequest:
        action = f"reading pull request {number} of {repository}"
        parse = self._keeping(repository, TextKind.THREAD, _pull)
        return self._get(action, f"/repos/{repository}/pulls/{number}", parse, FULL)

    def pushes(self, repository: str, branch: str) -> list[PushData] | None:
        """See `PullReader.pushes`. One page: 100 pushes, newest first."""
        path = with_query(f"/repos/{repository}/activity", ref=f"refs/heads/{branch}", per_page=str(PAGE))
        action = f"reading the pushes to {branch} of {repository}"
        try:
            return self._get(action, path, lambda data: [_push(row) for row in data])
        except GitHubError as error:
            # A private fork is not there for a token of the repository that it was forked from; an older GitHub
            # Enterprise Server has no such list.
            if error.status in (403, 404):
                return None
            raise

    def pulls(self, repository: str, state: str = "open") -> Iterator[PullData]:
        """Newest first. `state` is `open`, `closed` or `all`."""
        path = with_query(f"/repos/{repository}/pulls", state=state)
        return self._list(f"listing the pull requests of {repository}", path, _pull_data)

    def pulls_from(self, repository: str, branch: str, state: str = "open") -> list[PullData]:
        """The pull requests in `state` whose head is or was `branch` of this very repository."""
        owner = repository.partition("/")[0]
        path = with_query(f"/repos/{repository}/pulls", state=state, head=f"{owner}:{branch}")
        pulls = self._list(f"looking for pull requests of {branch} in {repository}", path, _pull_data)
        return [
            p for p in pulls if p.head_branch == branch and p.head_repository.lower() == repository.lower()
        ]

    def pull_commits(self, repository: str, number: int) -> list[CommitData]:
        """Oldest first; GitHub names 250 at most."""
        action = f"reading the commits of pull request {number} of {repository}"
        return list(self._list(action, f"/repos/{repository}/pulls/{number}/commits", _commit))

    def open_pull(
        self, repository: str, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> PullData:
        """Raises `GitHubError` 422 if one is open already, or if the plan has no drafts."""
        fields = {
            "title": fit_title(title),
            "body": fit(body),
            "head": head,
            "base": base,
            "draft": draft,
        }
        action = f"opening a pull request for {head} in {repository}"
        for pause in (*_HEAD_UNSEEN, None):
            try:
                # Safe to repeat: GitHub allows one open pull request for a head and base.
                return self._write(
                    action, "POST", f"/repos/{repository}/pulls", fields, _pull_data, safe=True
                )
            except GitHubError as error:
                # Just after a push, GitHub may not find the branch yet.
                if pause is None or error.status != 422 or not error.says("head is invalid"):
                    raise
                self._pace.sleep(pause)
        raise AssertionError("unreachable")

    def opened_meanwhile(self, repository: str, branch: str) -> PullData | None:
        """Return the open pull request of `branch`. Waits a few seconds for one that is being opened."""
        for pause in _OPENING:
            if pulls := self.pulls_from(repository, branch):
                return pulls[0]
            self._pace.sleep(pause)
        return None

    def edit_pull(self, repository: str, number: int, *, title: str, body: str) -> None:
        action = f"editing pull request {number} of {repository}"
        fields = {"title": fit_title(title), "body": fit(body)}
        self._write(
            action, "PATCH", f"/repos/{repository}/pulls/{number}", fields, ignore_response, safe=True
        )

    def request_review(self, repository: str, number: int, login: str) -> None:
        action = f"asking {login} to review pull request {number} of {repository}"
        path = f"/repos/{repository}/pulls/{number}/requested_reviewers"
        self._write(action, "POST", path, {"reviewers": [login]}, ignore_response, safe=True)


def _pull(data: Any) -> PullRequest:
    head, base, author = data["head"], data["base"], account(data["user"])
    merged = bool(data.get("merged") or data.get("merged_at"))
    return PullRequest(
        number=int(data["number"]),
        state=PullState.MERGED if merged else PullState(data["state"]),
        draft=bool(data.get("draft")),
        locked=bool(data["locked"]),
        author=author.login,
        author_id=author.id,
        head_sha=str(head["sha"]),
        head_ref=str(head["ref"]),
        head_repository=_name(head),
        base_ref=str(base["ref"]),
        base_sha=str(base["sha"]),
        maintainer_can_modify=bool(data.get("maintainer_can_modify")),
        changed_files=int(data.get("changed_files") or 0),
        conflicting=data.get("mergeable") is False,
        updated_at=str(data.get("updated_at") or ""),
    )


def _push(data: Any) -> PushData:
    return PushData(before=str(data["before"]), after=str(data["after"]), at=str(data["timestamp"]))


def _pull_data(data: Any) -> PullData:
    return PullData(
        number=int(data["number"]),
        url=str(data["html_url"]),
        title=str(data["title"]),
        body=str(data.get("body") or ""),
        draft=bool(data.get("draft")),
        head_branch=str(data["head"]["ref"]),
        head_sha=str(data["head"]["sha"]),
        head_repository=_name(data["head"]),
        base_branch=str(data["base"]["ref"]),
        author=account(data["user"]),
        state=str(data["state"]),
        created_at=str(data.get("created_at") or ""),
        updated_at=str(data.get("updated_at") or ""),
        closed_at=str(data.get("closed_at") or ""),
        merged_at=str(data.get("merged_at") or ""),
        labels=tuple(str(label["name"]) for label in data.get("labels") or ()),
    )


def _name(end: Any) -> str:
    """The name of the head's repository; empty if the fork was deleted."""
    return str(end["repo"]["full_name"]) if end.get("repo") else ""


def _commit(data: Any) -> CommitData:
    commit = data["commit"]
    author, committer = commit.get("author") or {}, commit.get("committer") or {}
    return CommitData(str(data["sha"]), str(author.get("email") or ""), str(committer.get("email") or ""))
