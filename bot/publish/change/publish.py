"""A bundle's change, made a commit again and brought to GitHub: from an issue, or on a pull request's head."""

from __future__ import annotations

from bot.publish.change.on_branch import publish_on_branch
from bot.publish.change.on_pull import publish_on_pull
from bot.publish.change.work import Work
from bot.publish.published import Published


def publish_change(work: Work) -> Published:
    """Raises `PublishError`, `GateError`, `GitHubError`."""
    thread = work.request.thread
    if work.request.pull is not None or (thread is not None and thread.is_pull_request):
        return publish_on_pull(work)
    return publish_on_branch(work)
