"""Report a commit on the head of a pull request by a comment there, once for a request."""

from bot.contracts.pulls import PullRequest
from bot.publish.body.render import render_body
from bot.publish.change.commit import CheckedCommit, ci_note
from bot.publish.context import PublishContext
from bot.publish.result import PublishResult
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import PUSHED


def report_pushed(context: PublishContext, current: PullRequest, commit: CheckedCommit) -> PublishResult:
    """Report a commit on the head by a comment; that of a round is in the comment on all rounds."""
    if not context.request.round:
        with context.tolerating("The comment on the commit could not be posted"):
            _post(context.with_notes(ci_note(context, commit.policy, foreign=False)), current, commit)
    url = f"{context.web}/pull/{current.number}"
    return PublishResult(url, current.number, current.head_ref, False, commit.sha)


def _post(context: PublishContext, current: PullRequest, commit: CheckedCommit) -> None:
    """Post the comment once for a request. Raises `GitHubError`."""
    ref = context.thread_ref or ThreadRef(context.github, current.number, f"commit-{commit.sha[:12]}")
    body = render_body(context.outcome, commit.verdict.files, links=context.links, closing=False)
    if ref.lines:
        body = f"<details><summary>What changed, and how it was checked</summary>\n\n{body}\n\n</details>"
    text = f"**Pushed {commit.sha} to this pull request.**\n\n{body}"
    fields = {"result": "done"} if context.finished else {}
    context.failures.extend(ref.put_result(PUSHED, text, "Pushed", fields))
