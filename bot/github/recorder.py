"""A GitHub that is read but not written: `--dry-run`. Each write becomes a line that says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING, Any

from bot.contracts.pulls import Annotation, Side
from bot.contracts.threads import CommentData, IssueData
from bot.github.host import Host
from bot.github.reads import Reads
from bot.github.values import Account, PullData, ReviewCommentData, ReviewData, ReviewDraft, TreeEntry

if TYPE_CHECKING:
    from bot.github.border import Leaving

_NOBODY = Account("slash-agent", 0, "Bot")


@dataclass(frozen=True, slots=True)
class Write:
    """One write that did not happen: what it was, in a line, and the text it would have carried."""

    line: str
    body: str = ""

    def __str__(self) -> str:
        return f"would {self.line}" + (f":\n{indent(self.body.rstrip(), '    ')}" if self.body else "")


class Recorder(Reads):
    """Wraps a `Host`: reads go through, writes go to `say` and into `writes`. What is made has the id 0. `leaving` is
    the gate's, as of a client: a log is read by more people than a thread."""

    def __init__(self, host: Host, say: Callable[[str], None], leaving: Leaving | None = None) -> None:
        super().__init__(host)
        self._say = say
        self._leaving = leaving
        self.writes: list[Write] = []

    def record(self, line: str, body: str = "") -> None:
        """Say one write that is not of the API, such as a push."""
        if self._leaving is not None:
            fit: Any = self._leaving("", {"message": line, "body": body})
            line, body = fit["message"], fit["body"]
        write = Write(line, body)
        self.writes.append(write)
        self._say(str(write))

    # Threads

    def create_comment(self, repository: str, number: int, body: str) -> CommentData:
        self.record(f"comment on {repository}#{number}", body)
        return CommentData(0, _NOBODY.login, _NOBODY.id, _NOBODY.kind, body, "", "")

    def edit_comment(self, repository: str, number: int, comment_id: int, body: str) -> None:
        which = f"comment {comment_id}" if comment_id else "the new comment"
        self.record(f"edit {which} on {repository}#{number}", body)

    def delete_comment(self, repository: str, comment_id: int) -> None:
        self.record(f"delete comment {comment_id} of {repository}")

    def add_reaction(
        self, repository: str, comment_id: int, content: str, review_comment: bool = False
    ) -> None:
        kind = "review comment" if review_comment else "comment"
        self.record(f"react to {kind} {comment_id} of {repository} with {content}")

    # Pull requests

    def wait_for_branch(self, repository: str, branch: str, sha: str, seconds: float = 15.0) -> bool:
        """Nothing was pushed, so there is nothing to wait for."""
        return True

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

    # Reviews

    def create_review(
        self,
        repository: str,
        number: int,
        *,
        commit_sha: str,
        body: str,
        event: str,
        comments: Sequence[ReviewDraft],
    ) -> ReviewData:
        remarks = [f"{_where(one)}\n{indent(one.body.rstrip(), '    ')}" for one in comments]
        line = f"review {repository}#{number} at {commit_sha[:12]} ({event}, {len(comments)} comments)"
        self.record(line, "\n\n".join([body.rstrip(), *remarks]))
        return ReviewData(0, _NOBODY, body, _STATES.get(event, "PENDING"), commit_sha, "")

    def reply_to_review_comment(
        self, repository: str, number: int, comment_id: int, body: str
    ) -> ReviewCommentData:
        self.record(f"reply to review comment {comment_id} on {repository}#{number}", body)
        return ReviewCommentData(
            0, _NOBODY, body, "", 0, 0, Side.RIGHT, "", "", in_reply_to=comment_id, review_id=0, created_at="",
            updated_at="",
        )  # fmt: skip

    def edit_review_comment(self, repository: str, comment_id: int, body: str) -> None:
        self.record(f"edit review comment {comment_id} of {repository}", body)

    # Checks and runs

    def create_check_run(
        self,
        repository: str,
        *,
        name: str,
        head_sha: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation],
        external_id: str = "",
    ) -> int:
        line = f"report the check {name!r} on {head_sha[:12]} of {repository}: {conclusion}"
        self.record(line, "\n".join([title, "", summary, *map(_remark, annotations)]))
        return 0

    def add_annotations(
        self, repository: str, check_run: int, *, title: str, summary: str, annotations: Sequence[Annotation]
    ) -> None:
        line = f"add {len(annotations)} annotations to check run {check_run} of {repository}"
        self.record(line, "\n".join(map(_remark, annotations)))

    def create_blob(self, repository: str, content: bytes) -> str:
        self.record(f"store {len(content):,} bytes in {repository}")
        return ""

    def create_tree(self, repository: str, base_tree: str, entries: Sequence[TreeEntry]) -> str:
        self.record(f"store a tree in {repository}", "\n".join(one.path for one in entries))
        return ""

    def create_commit(self, repository: str, *, message: str, tree: str, parent: str) -> str:
        self.record(f"make a commit on {parent[:12]} in {repository}", message)
        return ""

    def cancel_run(self, repository: str, run_id: int) -> None:
        self.record(f"cancel run {run_id} of {repository}")

    def dispatch_workflow(
        self, repository: str, workflow: str, ref: str, inputs: Mapping[str, str] | None = None
    ) -> None:
        said = "\n".join(f"{name}: {value}" for name, value in (inputs or {}).items())
        self.record(f"start the workflow {workflow} on {ref} in {repository}", said)

    # Issues

    def create_issue(
        self, repository: str, *, title: str, body: str, labels: Sequence[str] = ()
    ) -> IssueData:
        labelled = f", labelled {', '.join(labels)}" if labels else ""
        self.record(f"open an issue in {repository}, titled {title!r}{labelled}", body)
        return IssueData(0, title, body, _NOBODY.login, _NOBODY.kind, "", "", "")

    def edit_issue(
        self, repository: str, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        titled = "" if title is None else f", titled {title!r}"
        self.record(f"edit issue {repository}#{number}{titled}", body or "")

    def close_issue(self, repository: str, number: int, reason: str = "completed") -> None:
        self.record(f"close issue {repository}#{number} as {reason.replace('_', ' ')}")

    def add_labels(self, repository: str, number: int, labels: Sequence[str]) -> None:
        self.record(f"label {repository}#{number} with {', '.join(labels)}")

    def remove_label(self, repository: str, number: int, label: str) -> None:
        self.record(f"take the label {label} off {repository}#{number}")


_STATES = {"COMMENT": "COMMENTED", "APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}


def _where(comment: ReviewDraft) -> str:
    first = f"{comment.start_line}-" if comment.start_line else ""
    return f"{comment.path}:{first}{comment.line} ({comment.side})"


def _remark(one: Annotation) -> str:
    return f"{one.path}:{one.line}: {one.level}: {f'{one.title}: ' if one.title else ''}{one.message}"
