"""A GitHub that is read but not written: `--dry-run`. Each write becomes a line that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import indent

from bot.contracts.threads import CommentData
from bot.github.host import Host
from bot.github.values import Account, CommitData, PullData

_NOBODY = Account("slash-agent", 0, "Bot")


@dataclass(frozen=True, slots=True)
class Write:
    """One write that did not happen: what it was, in a line, and the text it would have carried."""

    line: str
    body: str = ""

    def __str__(self) -> str:
        return f"would {self.line}" + (f":\n{indent(self.body.rstrip(), '    ')}" if self.body else "")


class Recorder:
    """Wraps a `Host`: reads go through, writes go to `say` and into `writes`."""

    def __init__(self, host: Host, say: Callable[[str], None]) -> None:
        self._host = host
        self._say = say
        self.writes: list[Write] = []

    def record(self, line: str, body: str = "") -> None:
        """Say one write that is not of the API, such as a push."""
        write = Write(line, body)
        self.writes.append(write)
        self._say(str(write))

    # Reads

    def me(self) -> Account | None:
        return self._host.me()

    def comments(self, repository: str, number: int, since: str = "") -> Iterator[CommentData]:
        return self._host.comments(repository, number, since)

    def open_pulls(self, repository: str, branch: str) -> list[PullData]:
        return self._host.open_pulls(repository, branch)

    def pull_commits(self, repository: str, number: int) -> list[CommitData]:
        return self._host.pull_commits(repository, number)

    def contains(self, repository: str, branch: str, sha: str) -> bool:
        return self._host.contains(repository, branch, sha)

    # Writes

    def create_comment(self, repository: str, number: int, body: str) -> CommentData:
        self.record(f"comment on {repository}#{number}", body)
        return CommentData(0, _NOBODY.login, _NOBODY.id, _NOBODY.kind, body, "", "")

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None:
        which = f"comment {comment_id}" if comment_id else "the new comment"
        self.record(f"edit {which} on {repository}#{number}", body)

    def open_pull(
        self, repository: str, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> PullData:
        kind = "a draft pull request" if draft else "a pull request"
        self.record(f"open {kind} in {repository}, {head} onto {base}, titled {title!r}", body)
        return PullData(0, "", title, body, draft, head, "", repository, base, _NOBODY)

    def edit_pull(self, repository: str, number: int, *, title: str, body: str) -> None:
        self.record(f"edit pull request {repository}#{number}, titled {title!r}", body)

    def request_review(self, repository: str, number: int, login: str) -> None:
        which = f"pull request {repository}#{number}" if number else f"the new pull request in {repository}"
        self.record(f"ask {login} to review {which}")
