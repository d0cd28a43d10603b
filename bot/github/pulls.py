"""Read, open and edit pull requests."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from github.Commit import Commit
from github.PullRequest import PullRequest as Pull

from bot.contracts.pulls import PullRequest, PullState
from bot.github.accounts import account, graphql_account
from bot.github.errors import HIDDEN, GitHubError
from bot.github.threads import RenderedTexts
from bot.github.transport import PAGE, stamp, unchanged
from bot.github.values import PushData, TextKind

# Seconds before each new attempt to open a pull request for a head that the API does not see yet.
_HEAD_UNSEEN = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0)


# "Mentions" are what the timeline of the issue shows: in a text, a commit, or a link that somebody set.
_MENTIONING = """
query mentioning($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) {
    timelineItems(last: 100, itemTypes: [CROSS_REFERENCED_EVENT, CONNECTED_EVENT]) { nodes {
      ... on CrossReferencedEvent { source { ...pull } }
      ... on ConnectedEvent { subject { ...pull } }
    } }
  } }
}
fragment pull on PullRequest {
  number url body state headRefOid
  repository { nameWithOwner }
  author { __typename login ... on User { databaseId } ... on Bot { databaseId } }
}
"""


class Pulls(RenderedTexts):
    """Comments of pull requests are in `threads`, reviews in `reviews`."""

    def pull(self, number: int) -> PullRequest:
        pull = self.source.get_pull(number)
        parse = self._keeping(TextKind.THREAD, _pull)
        return self._parsed(lambda: parse(pull.complete()))

    def pushes(self, repository: str, branch: str) -> list[PushData] | None:
        """Return the newest 100 pushes to a branch, also of a fork; `None` without a list, as of a private one."""
        path, ref = f"/repos/{repository}/activity", f"refs/heads/{branch}"

        def parse(data: Any) -> list[PushData]:
            return [PushData(str(one["after"]), str(one["timestamp"])) for one in data]

        # A private fork is not there for a token of the repository that it was forked from; an older GitHub Enterprise
        # Server has no such list.
        return self._parsed_or_none(partial(self._get, path, parse, ref=ref, per_page=PAGE), HIDDEN)

    def pulls(self, state: str = "open") -> Iterator[Pull]:
        """Newest first. `state` is `open`, `closed` or `all`."""
        return self._each(self.source.get_pulls(state=state), _whole)

    def pulls_mentioning(self, number: int) -> list[Pull]:
        """Return the open pull requests that mention this issue, by number, without their branches. One request."""
        with self.requester.known_shape():
            nodes = self._query(_MENTIONING, number=number)["issue"]["timelineItems"]["nodes"]
            named = [one.get("source") or one.get("subject") or {} for one in nodes]
            here = {
                one["number"]: Pull(self.requester, {}, _pull_of_graphql(one), completed=True)
                for one in named
                if one.get("state") == "OPEN"
                and str(one["repository"]["nameWithOwner"]).lower() == self.name.lower()
            }
        return [here[number] for number in sorted(here)]

    def pulls_from(self, branch: str, state: str = "open") -> list[Pull]:
        """The pull requests in `state` whose head is or was `branch` of this very repository."""
        head = f"{self.name.partition('/')[0]}:{branch}"
        objects = self.source.get_pulls(state=state, head=head)
        return [
            pull
            for pull in self._each(objects, _whole)
            if pull.head.ref == branch and head_repository(pull).lower() == self.name.lower()
        ]

    def pull_commits(self, number: int) -> list[Commit]:
        """Oldest first; GitHub names 250 at most."""
        commits = self.source.get_pull(number).get_commits()
        return list(self._each(commits, unchanged))

    def open_pull(self, *, title: str, body: str, head: str, base: str, draft: bool) -> Pull:
        """Raises `GitHubError` 422 if one is open already, or if the plan has no drafts."""
        create = self.source.create_pull
        for pause in (*_HEAD_UNSEEN, None):
            try:
                return self._parsed(lambda: _whole(create(base, head, title=title, body=body, draft=draft)))
            except GitHubError as error:
                # Just after a push, GitHub may not find the branch yet.
                if pause is None or error.status != 422 or not error.says("head is invalid"):
                    raise
                self.requester.pace.sleep(pause)
        raise AssertionError("unreachable")

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        self.source.get_pull(number).edit(title, body)

    def request_review(self, number: int, login: str) -> None:
        self.source.get_pull(number).create_review_request([login])


def _pull(pull: Pull) -> PullRequest:
    return PullRequest(
        number=pull.number,
        state=PullState.MERGED if pull.merged or pull.merged_at else PullState(pull.state),
        locked=pull.locked,
        author=account(pull.user).login,
        head_sha=pull.head.sha,
        head_ref=pull.head.ref,
        head_repository=head_repository(pull),
        base_ref=pull.base.ref,
        base_sha=pull.base.sha,
        changed_files=pull.changed_files or 0,
        updated_at=stamp(pull.updated_at),
    )


def _whole(pull: Pull) -> Pull:
    """Return `pull`. Raises for a field of another type than GitHub documents, also of its two ends."""
    unchanged(pull.head)
    unchanged(pull.base)
    return unchanged(pull)


def head_repository(pull: Pull) -> str:
    """Return the name of the head's repository; empty if the fork was deleted."""
    return pull.head.repo.full_name if pull.head.repo else ""


def _pull_of_graphql(node: Any) -> dict[str, Any]:
    """Return a pull request in the words of REST. The repository is its own, which its head need not be in."""
    author = graphql_account(node["author"])
    return {
        "number": int(node["number"]),
        "html_url": str(node["url"]),
        "body": str(node["body"] or ""),
        "head": {"sha": str(node["headRefOid"])},
        "user": {"login": author.login, "id": author.id, "type": author.kind},
    }
