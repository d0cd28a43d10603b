"""The thread in which a request was made, and the key that distinguishes it from the others there."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.request import Request, Trigger
from bot.publish.thread.markers import request_key


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """Where one request stands. `key` tells requests of a thread apart: `request_key` of the comment that asked.

    `since` (RFC 3339) spares reading what was there before the request; empty reads all. `lines` is the first
    comment of the thread on lines of a diff in which the request stands, 0 for the conversation. `run` is the
    Actions run that works on it and `of` the key of the request that it repeats: our marks carry both. `url` is the
    address of the issue or pull request.
    """

    repository: str
    number: int
    key: str
    since: str = ""
    lines: int = 0
    run: str = ""
    of: str = ""
    url: str = ""


def thread_ref_of(request: Request) -> ThreadRef | None:
    """`None` if the request came from no thread."""
    if request.thread is None or not request.repository:
        return None
    trigger, pull = request.trigger, request.pull
    return ThreadRef(
        request.repository,
        request.thread.number,
        trigger_key(trigger, pull.head_sha if pull else "") if trigger else "thread",
        trigger.at if trigger else "",
        request.anchor.id if request.anchor else 0,
        url=request.thread.url,
    )


def trigger_key(trigger: Trigger, head_sha: str) -> str:
    """The key of a request. Of a failed run on a pull request it names the head and that run, so that how often a
    head was tried can be told."""
    failed = trigger.url.rstrip("/").rpartition("/")[2]
    if trigger.event == "workflow_run" and head_sha and failed.isdecimal():
        return f"{tries_key(head_sha)}{failed}"
    return request_key(trigger.event, trigger.comment_id)


def tries_key(head_sha: str) -> str:
    """What the keys of all requests begin with that failed runs at this head made."""
    return f"w{head_sha[:12]}-"
