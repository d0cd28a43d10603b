"""Close a task's own open pull request, if a run of the task found nothing to change any more."""

from __future__ import annotations

from bot.contracts.outcome import Status, StopReason
from bot.github.errors import GitHubError
from bot.publish.change.target import task_pulls
from bot.publish.context import PublishContext
from bot.publish.markdown import safe_line
from bot.publish.thread.markers import PULL_REQUEST, mark, marked


def close_obsolete(context: PublishContext) -> tuple[str, ...]:
    """Close the pull request with a sentence, unless people have committed to it; returns soft failures. Its mark says
    that we closed it, so that it is nobody's "no"."""
    outcome, task, github = context.outcome, context.request.task, context.github
    if not task or outcome.status is not Status.NO_CHANGE or outcome.stop_reason is not StopReason.END_TURN:
        return ()
    try:
        # By its mark: after a closed pull request the branch of the task has another name.
        for own in task_pulls(context):
            pull = own.pull
            if (own.task, own.recorded) != (task, pull.head_sha):
                continue
            reason = safe_line(outcome.reason)
            text = f"Closed: the task {task} finds nothing to change at {outcome.base_sha[:12]} any more. {reason}"
            body = pull.body.rstrip().rpartition("\n")[0]
            closed = marked(body, mark(PULL_REQUEST, **{**own.fields, "obsolete": "1"}))
            github.edit_pull(context.repository, pull.number, title=pull.title, body=closed)
            github.create_comment(context.repository, pull.number, text)
            github.close_issue(context.repository, pull.number, "not_planned")
            context.say(f"#{pull.number} is obsolete and was closed")
    except GitHubError as error:
        return (f"The task's obsolete pull request could not be closed: {error}",)
    return ()
