"""Put a commit on the head of a pull request, and report it by a comment there, once for a request."""

from collections.abc import Sequence

from bot.contracts.pulls import BRANCH_PREFIX, PullRequest
from bot.publish.body.render import render_body
from bot.publish.change.commit import CheckedCommit, check_ci_wait, ci_note, start_workflows
from bot.publish.context import PublishContext
from bot.publish.own_pulls import own_pull
from bot.publish.result import PublishResult
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import PUSHED


def is_own_head(context: PublishContext, current: PullRequest) -> bool:
    """Whether we made the pull request: the branch, the mark in the text and the author are ours."""
    if current.from_fork(context.repository) or not current.head_ref.startswith(BRANCH_PREFIX):
        return False
    pulls = context.github.pulls_from(current.head_ref)
    return any(one.number == current.number and own_pull(one, *context.accounts) for one in pulls)


def push_onto_head(
    context: PublishContext, current: PullRequest, commit: CheckedCommit, default: str, parents: Sequence[str]
) -> PublishResult:
    """Put a commit with these parents on the head, the first of them, and report it. `default` is the default branch.
    Raises `PublishError`."""
    check_ci_wait(context)
    branch = current.head_ref
    if context.github.is_dry:
        context.github.requester.record(f"push: put one commit on {branch}, the head of #{current.number}")
    else:
        never = frozenset({default, current.base_ref})
        context.remote.push_onto(commit.sha, branch, parents=parents, never=never)
    published = report_pushed(context, current, commit)
    start_workflows(context, commit.policy, branch, foreign=False)
    return published


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
