"""What a run may write on threads besides its diff: a closed list of proposals. `writes.json` of a bundle is one.

A proposal names no repository: it is always the request's. Whether it may be made is for `bot.policy.writes` to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

MAX_WRITES = 200
MAX_BODY = 20_000
"""Characters; GitHub takes 65,536, and nobody wants to read that."""
MAX_TITLE = 200
MAX_LABEL = 50
MAX_MENTIONS = 5

_COMMENT_MARK = re.compile(r"<!-|<[?!]|--!?>")
# Characters that show nothing: controls, format characters, fillers, tag characters and selectors beyond the usual.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
# At the start of a line, also in a list or a quotation: what bots take for a command, this one before all.
_COMMAND = re.compile(r"^[ \t>*+-]{0,20}/[A-Za-z][\w-]*(?=[ \t.:,!?]|$)", re.MULTILINE)
_MENTION = re.compile(r"(?<![\w/.])@[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class AddComment:
    number: int
    body: str
    kind: Literal["comment"] = "comment"


@dataclass(frozen=True, slots=True)
class AddReply:
    """`comment_id` is a review comment's of the thread on lines that is answered."""

    number: int
    comment_id: int
    body: str
    kind: Literal["reply"] = "reply"


@dataclass(frozen=True, slots=True)
class AddLabel:
    number: int
    label: str
    kind: Literal["add_label"] = "add_label"


@dataclass(frozen=True, slots=True)
class RemoveLabel:
    number: int
    label: str
    kind: Literal["remove_label"] = "remove_label"


@dataclass(frozen=True, slots=True)
class CloseThread:
    """GitHub knows a reason of issues only; a pull request is just closed."""

    number: int
    reason: Literal["completed", "not_planned"] = "not_planned"
    kind: Literal["close"] = "close"


@dataclass(frozen=True, slots=True)
class EditThread:
    """What is empty stays as it is."""

    number: int
    title: str = ""
    body: str = ""
    kind: Literal["edit"] = "edit"


Write = AddComment | AddReply | AddLabel | RemoveLabel | CloseThread | EditThread


@dataclass(frozen=True, slots=True)
class Writes:
    """In the order in which they were proposed."""

    writes: tuple[Write, ...]

    @property
    def trouble(self) -> str:
        """The first thing that no write may hold, as `field: why`; empty for nothing."""
        if not 0 < len(self.writes) <= MAX_WRITES:
            return f"writes: {len(self.writes):,}, and 1 to {MAX_WRITES} are allowed"
        found = ((n, trouble_in(write)) for n, write in enumerate(self.writes))
        return next((f"writes.{n}.{why}" for n, why in found if why), "")


@dataclass(frozen=True, slots=True)
class WriteCaps:
    """The most that a run may write of each kind. `label` counts labels set and taken off; `close` issues,
    `close_pulls` pull requests."""

    comment: int = 0
    reply: int = 0
    label: int = 0
    close: int = 0
    close_pulls: int = 0
    edit: int = 0

    def within(self, other: WriteCaps) -> WriteCaps:
        """The smaller of each."""
        return WriteCaps(**{name: min(most, getattr(other, name)) for name, most in self.each()})

    def each(self) -> Iterator[tuple[str, int]]:
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def __bool__(self) -> bool:
        return any(most for _, most in self.each())


def counted_as(write: Write, *, is_pull_request: bool) -> str:
    """The name among `WriteCaps` under which `write` counts."""
    if isinstance(write, AddLabel | RemoveLabel):
        return "label"
    return "close_pulls" if isinstance(write, CloseThread) and is_pull_request else write.kind


def named(write: Write) -> str:
    """What `write` would do, in a few words."""
    number = f"#{write.number}"
    match write:
        case AddComment():
            return f"comment on {number}"
        case AddReply():
            return f"reply to review comment {write.comment_id} on {number}"
        case AddLabel():
            return f"label {number} with `{write.label}`"
        case RemoveLabel():
            return f"take the label `{write.label}` off {number}"
        case CloseThread():
            return f"close {number} as {write.reason.replace('_', ' ')}"
        case EditThread():
            what = " and ".join(name for name in ("title", "body") if getattr(write, name))
            return f"edit the {what} of {number}"


def texts_of(write: Write) -> tuple[str, ...]:
    """What of `write` people will read."""
    if isinstance(write, AddComment | AddReply):
        return (write.body,)
    return (write.title, write.body) if isinstance(write, EditThread) else ()


def trouble_in(write: Write) -> str:
    """What `write` may not hold wherever it goes, as `field: why`; empty for nothing."""
    if write.number <= 0:
        return "number: expected the number of an issue or a pull request"
    if isinstance(write, AddReply) and write.comment_id <= 0:
        return "comment_id: expected the id of a review comment"
    if isinstance(write, AddLabel | RemoveLabel):
        return _label_trouble(write.label)
    if isinstance(write, EditThread):
        return _edit_trouble(write)
    if isinstance(write, AddComment | AddReply):
        return text_trouble(write.body)
    return ""


def text_trouble(text: str) -> str:
    """Why `text` may be no comment's body."""
    if not text.strip():
        return "body: expected text, got only white space"
    if len(text) > MAX_BODY:
        return f"body: {len(text):,} characters, and {MAX_BODY:,} are allowed"
    if _COMMENT_MARK.search(text):
        return "body: it holds an HTML comment, which hides text from people"
    if _HIDDEN.search(text):
        return "body: it holds characters that do not show"
    if found := _COMMAND.search(text):
        return f"body: a line begins with `{found[0].strip(' >*+-')[:20]}`, which bots take for a command"
    mentioned = len(_MENTION.findall(text))
    if mentioned > MAX_MENTIONS:
        return f"body: it mentions {mentioned:,} accounts, and {MAX_MENTIONS} are allowed"
    return ""


def _label_trouble(label: str) -> str:
    if not label.strip() or len(label) > MAX_LABEL or not label.isprintable():
        return f"label: expected one line of 1 to {MAX_LABEL} characters"
    return ""


def _edit_trouble(write: EditThread) -> str:
    if not write.title and not write.body:
        return "title: give a title, a body or both"
    if write.title and (not write.title.strip() or len(write.title) > MAX_TITLE or "\n" in write.title):
        return f"title: expected one line of at most {MAX_TITLE} characters"
    why = text_trouble(write.title) if write.title else ""
    if why:
        return f"title{why.removeprefix('body')}"
    return text_trouble(write.body) if write.body else ""
