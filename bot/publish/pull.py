"""Whether the pull request that a bundle is for is the one that the run went by."""

from __future__ import annotations

from bot.contracts.errors import PublishError
from bot.contracts.pulls import PullRequest, PullState
from bot.contracts.request import Request


def check_request(request: Request, base_sha: str) -> PullRequest:
    """The pull request that the bundle is for. Raises `PublishError` where its parts do not belong together."""
    asked, thread = request.pull, request.thread
    if asked is None:
        raise PublishError(
            "The bundle names no pull request, and its request is about one: nothing was done."
        )
    if thread is not None and (thread.number, thread.is_pull_request) != (asked.number, True):
        raise PublishError(f"The bundle is for #{asked.number}, and its thread is another: nothing was done.")
    if asked.head_sha != base_sha:
        raise PublishError(
            f"The bundle's change is to {base_sha[:12]}, and the head of #{asked.number} was "
            f"{asked.head_sha[:12]}: nothing was done."
        )
    return asked


def check_now(request: Request, now: PullRequest) -> None:
    """Raises `PublishError` where what the run went by is not so any more, or never was."""
    if now.base_ref != request.base_ref:
        raise PublishError(
            f"The base of #{now.number} is {now.base_ref}, and the run was for {request.base_ref}: ask again."
        )


def check_open(now: PullRequest) -> None:
    if now.state is not PullState.OPEN:
        raise PublishError(f"#{now.number} was {now.state} while the run was under way: nothing was pushed.")
