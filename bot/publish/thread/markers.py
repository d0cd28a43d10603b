"""Hidden marks by which a later run recognises what an earlier one wrote, and the keys of requests in them.

Anybody can copy a mark, so a reader must also check its author. A mark is always the last line, and the text gate
removes HTML comments from everything above it.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from bot.contracts.request import Trigger
from bot.github.values import OWN_MARK, OWN_MARKER, Account

MarkFields = Mapping[str, str]
"""What a mark says besides its kind, by name."""
NO_FIELDS: MarkFields = MappingProxyType({})

PULL_REQUEST = "pull-request"
PROGRESS = "progress"
ENDED = "ended"
REFUSED = "refused"
ANSWER = "answer"
SUGGESTED = "suggested"
PUSHED = "pushed"
# Fields in the mark of a progress comment, for `status` and `stop`: whether a run is active.
ON, OVER = {"state": "on"}, {"state": "over"}
FINISHED = {**OVER, "result": "done"}
"""Fields in the mark of a result: the request needs no other run."""
WRITE = "write"
"""The kind of a comment that a run proposed. Fields: `id` of the proposal, and `task`."""

_REVIEW_COMMENT = "pull_request_review_comment"
_ACTIONS_BOT = "github-actions[bot]"
_BY_WORKFLOW = (REFUSED, PULL_REQUEST, SUGGESTED)
_FIELD = re.compile(r"([a-z]+)=([A-Za-z0-9._/-]*)")


def mark(kind: str, **fields: str | int) -> str:
    """Return the mark as text. Raises `ValueError` for a value with other characters than a mark allows."""
    text = "".join(f" {name}={value}" for name, value in fields.items())
    written = f"{OWN_MARKER} {kind}{text} -->"
    if not OWN_MARK.fullmatch(written):
        raise ValueError(f"not a mark: {written}")
    return written


def marked(body: str, written: str) -> str:
    """Return `body` with its mark on the last line."""
    return f"{body.rstrip()}\n\n{written}\n"


def mark_of(body: str) -> tuple[str, MarkFields]:
    """Return kind and fields of the mark at the end of `body`; the kind is empty without one."""
    match = OWN_MARK.search(body)
    return (match.group(1), dict(_FIELD.findall(match.group(2)))) if match else ("", {})


def read_mark(body: str, kind: str) -> MarkFields | None:
    """Return the fields of the mark of this kind at the end of `body`, or `None`."""
    written, fields = mark_of(body)
    return fields if written == kind else None


def own_fields(body: str, author: Account, kind: str, *accounts: Account | None) -> MarkFields | None:
    """Return the fields of the mark of this kind, `None` if there is none or the text is by none of our `accounts`."""
    fields = read_mark(body, kind)
    return fields if fields is not None and any(is_ours(author, one, kind) for one in accounts) else None


def request_key(event: str, comment_id: int) -> str:
    """Return the key of a request in its thread, that of its comment; one on lines has a prefix."""
    if not comment_id:
        return "thread"
    return f"r{comment_id}" if event == _REVIEW_COMMENT else str(comment_id)


def asking_comment(key: str) -> tuple[int, bool]:
    """Return the id of the comment that a key names, and whether it is on lines of a diff; 0 for no comment."""
    return number_in(key.removeprefix("r")), key.startswith("r")


def number_in(digits: str) -> int:
    """Return the number in a field of a mark or in a key, 0 if there is none."""
    return int(digits) if digits.isdecimal() and len(digits) < 20 else 0


def acts_as_itself(me: Account | None) -> bool:
    """Whether no other workflow writes as the account of our token, unlike as `github-actions[bot]`."""
    return me is not None and me.login != _ACTIONS_BOT


def is_ours(author: Account, me: Account | None, kind: str) -> bool:
    """Whether a text by `author` with a mark of this `kind` is ours. If `me` is unknown, the token is an app's, and
    every bot counts.

    If we act as another account than the workflow's own bot, any workflow could have written as that bot, perhaps a
    stranger's text. Then only kinds that we write as that bot count, none of which is trusted beyond its visible text:
    refusals, and what CI has to wait for. For the first answer see `may_be_ours`.
    """
    if me is None:
        return author.kind == "Bot"
    is_workflow = author.kind == "Bot" and author.login == _ACTIONS_BOT
    return author.id == me.id or (is_workflow and (me.login == _ACTIONS_BOT or kind in _BY_WORKFLOW))


def may_be_ours(author: Account, me: Account | None, kind: str) -> bool:
    """Whether `is_ours`, or the first progress comment, which the workflow's own bot writes before our key is
    available. Use it to find the comment to overwrite, never to trust its statements on a plan, a cost or a result."""
    by_workflow = author.kind == "Bot" and author.login == _ACTIONS_BOT
    return is_ours(author, me, kind) or (kind == PROGRESS and by_workflow and me is not None)


def trigger_key(trigger: Trigger, head_sha: str) -> str:
    """Return the key of a request; for a failed run with head and run, so that the tries at a head can be counted."""
    failed = trigger.url.rstrip("/").rpartition("/")[2]
    if trigger.event == "workflow_run" and head_sha and failed.isdecimal():
        return f"{tries_key(head_sha)}{failed}"
    return request_key(trigger.event, trigger.comment_id)


TRIES = "w"


def tries_key(head_sha: str) -> str:
    """Return the prefix of the keys of all requests by failed runs at this head; all such keys begin with `TRIES`."""
    return f"{TRIES}{head_sha[:12]}-"
