"""Hidden marks by which a later run finds what an earlier one wrote.

A mark alone proves nothing, since anybody can copy one: whoever finds one also looks at who wrote it. It is
always the last line, and the text gate takes HTML comments out of everything above it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.contracts.threads import OWN_MARK, OWN_MARKER
from bot.github.values import Account

PULL_REQUEST = "pull-request"
PROGRESS = "progress"
ENDED = "ended"
REFUSED = "refused"
ANSWER = "answer"
SUGGESTED = "suggested"
PUSHED = "pushed"
# Said in the mark of a progress comment, for `status` and `stop`: whether a run still works on it.
ON, OVER = {"state": "on"}, {"state": "over"}
FINISHED = {**OVER, "result": "done"}
"""And in the mark of a result: the request needs no other run."""
WRITE = "write"
"""A proposed comment. Its fields: `id`, which is the proposal's, and `task`."""

_REVIEW_COMMENT = "pull_request_review_comment"
_ACTIONS_BOT = "github-actions[bot]"
_BY_WORKFLOW = (REFUSED, PULL_REQUEST, SUGGESTED)
_FIELD = re.compile(r"([a-z]+)=([A-Za-z0-9._/-]*)")


def mark(kind: str, **fields: str | int) -> str:
    """The mark as text. A value outside the closed alphabet is a mistake of ours: `ValueError`."""
    text = "".join(f" {name}={value}" for name, value in fields.items())
    written = f"{OWN_MARKER} {kind}{text} -->"
    if not OWN_MARK.fullmatch(written):
        raise ValueError(f"not a mark: {written}")
    return written


def marked(body: str, written: str) -> str:
    """`body` with its mark, on the last line."""
    return f"{body.rstrip()}\n\n{written}\n"


def read_mark(body: str, kind: str) -> Mapping[str, str] | None:
    """The fields of the mark that ends `body`, or `None` when it has none of this kind."""
    match = OWN_MARK.search(body)
    if match is None or match.group(1) != kind:
        return None
    return dict(_FIELD.findall(match.group(2)))


def request_key(event: str, comment_id: int) -> str:
    """What tells requests of a thread apart: the comment that asked. Comments on lines have ids of their own."""
    if not comment_id:
        return "thread"
    return f"r{comment_id}" if event == _REVIEW_COMMENT else str(comment_id)


def asking_comment(key: str) -> tuple[int, bool]:
    """The id of the comment that a key names, and whether it is one on lines of a diff; 0 if no comment asked."""
    digits = key.removeprefix("r")
    return (int(digits), key.startswith("r")) if digits.isdecimal() and len(digits) < 20 else (0, False)


def notice_recipient(body: str) -> str:
    """The account (its id) that a comment was the day's one word to; empty for every other comment."""
    fields = (read_mark(body, kind) for kind in (REFUSED, ANSWER))
    return next((mark_fields.get("to", "") for mark_fields in fields if mark_fields), "")


def is_ours(author: Account, me: Account | None, kind: str) -> bool:
    """Whether we wrote what `author` wrote, with a mark of this `kind`. If the token may not ask who it is, it is an
    app's: a bot.

    If we act as somebody else than the workflow's own bot, any workflow could have written as that bot, perhaps a
    stranger's text. Then only what we do write as it counts, of which readers believe nothing that they cannot see: a
    refusal, and what CI has to wait for. Of the first answer see `may_be_ours`.
    """
    if me is None:
        return author.kind == "Bot"
    return author.id == me.id or (
        author.kind == "Bot"
        and author.login == _ACTIONS_BOT
        and (me.login == _ACTIONS_BOT or kind in _BY_WORKFLOW)
    )


def may_be_ours(author: Account, me: Account | None, kind: str) -> bool:
    """`is_ours`, or the first answer, which the workflow's own bot wrote before we had a key, until we edit and so
    sign it: to find the comment to overwrite, never to trust what it says of a plan, a cost or a result."""
    by_workflow = author.kind == "Bot" and author.login == _ACTIONS_BOT
    return is_ours(author, me, kind) or (kind == PROGRESS and by_workflow and me is not None)
