"""What a run may write on threads besides its diff: a closed list of proposals. A bundle's `writes.json` is
one.

A proposal names no repository: it is always the request's. `bot.policy.writes` decides whether it is allowed.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from bot.contracts.plain_text import UNSEEN

MAX_WRITES = 200
MAX_BODY = 20_000
"""Characters; GitHub's limit is 65,536, which is too long to read."""
MAX_TITLE = 200
MAX_LABEL = 50
MAX_MENTIONS = 5

_COMMENT_MARK = re.compile(r"<!-|<[?!]|--!?>")
# At the start of a line, also in a list or a quotation: what bots take for a command, this one before all.
_COMMAND = re.compile(r"^[ \t>*+-]{0,20}/[A-Za-z][\w-]*(?=[ \t.:,!?]|$)", re.MULTILINE)
_MENTION = re.compile(r"(?<![\w/.])@[A-Za-z0-9]")


WriteKind = Literal["comment", "reply", "add_label", "remove_label", "close", "edit"]

FIELDS: Mapping[WriteKind, tuple[str, ...]] = {
    "comment": ("body",),
    "reply": ("comment_id", "body"),
    "add_label": ("label",),
    "remove_label": ("label",),
    "close": ("reason",),
    "edit": ("title", "body"),
}
"""The fields of each kind, beside the number of the thread."""


class Write(NamedTuple):
    """One write on the thread `number`. `comment_id` is a review comment of the answered review thread. An empty title
    or body of an edit leaves the current one. GitHub records a `reason` for issues only."""

    kind: WriteKind
    number: int
    body: str = ""
    title: str = ""
    label: str = ""
    comment_id: int = 0
    reason: Literal["completed", "not_planned"] = "not_planned"


class Writes(NamedTuple):
    """Writes in the order of their proposals."""

    writes: tuple[Write, ...]

    @property
    def problem(self) -> str:
        """The first invalid value, as `field: why`; empty for none."""
        if not 0 < len(self.writes) <= MAX_WRITES:
            return f"writes: {len(self.writes):,}, and 1 to {MAX_WRITES} are allowed"
        problems = ((n, write_problem(write)) for n, write in enumerate(self.writes))
        return next((f"writes.{n}.{why}" for n, why in problems if why), "")


class WriteCaps(NamedTuple):
    """The maximum number of writes of each kind in a run. `label` counts labels added and removed; `close`
    issues, `close_pulls` pull requests."""

    comment: int = 0
    reply: int = 0
    label: int = 0
    close: int = 0
    close_pulls: int = 0
    edit: int = 0

    def __bool__(self) -> bool:
        return any(tuple(self))


def cap_name(write: Write, *, is_pull_request: bool) -> str:
    """Return the field of `WriteCaps` that counts `write`."""
    if "label" in FIELDS[write.kind]:
        return "label"
    return "close_pulls" if write.kind == "close" and is_pull_request else write.kind


_DESCRIPTIONS: Mapping[WriteKind, str] = {
    "comment": "comment on #{0.number}",
    "reply": "reply to review comment {0.comment_id} on #{0.number}",
    "add_label": "label #{0.number} with `{0.label}`",
    "remove_label": "take the label `{0.label}` off #{0.number}",
    "close": "close #{0.number} as {reason}",
    "edit": "edit the {what} of #{0.number}",
}


def describe_write(write: Write) -> str:
    """Return a short description of `write`."""
    what = " and ".join(name for name in FIELDS["edit"] if getattr(write, name))
    return _DESCRIPTIONS[write.kind].format(write, reason=write.reason.replace("_", " "), what=what)


def texts_of(write: Write) -> tuple[str, ...]:
    """Return the texts of `write` that people read."""
    return tuple(getattr(write, name) for name in FIELDS[write.kind] if name in ("title", "body"))


def write_problem(write: Write) -> str:
    """Return why `write` is invalid anywhere, as `field: why`; empty for none."""
    if write.number <= 0:
        return "number: expected the number of an issue or a pull request"
    for name, default in Write._field_defaults.items():
        if name not in FIELDS[write.kind] and getattr(write, name) != default:
            return f"{name}: a write of the kind {write.kind} has none"
    if write.kind == "reply" and write.comment_id <= 0:
        return "comment_id: expected the id of a review comment"
    match write.kind:
        case "add_label" | "remove_label":
            label = write.label
            if not label.strip() or len(label) > MAX_LABEL or not label.isprintable():
                return f"label: expected one line of 1 to {MAX_LABEL} characters"
            return ""
        case "edit":
            return _edit_problem(write)
        case "comment" | "reply":
            return text_problem(write.body)
        case "close":
            return ""


def text_problem(text: str) -> str:
    """Return why `text` is invalid as the body of a comment; empty for none."""
    if not text.strip():
        return "body: expected text, got only white space"
    if len(text) > MAX_BODY:
        return f"body: {len(text):,} characters, and {MAX_BODY:,} are allowed"
    if _COMMENT_MARK.search(text):
        return "body: it holds an HTML comment, which hides text from people"
    if UNSEEN.search(text.replace("\r\n", "\n")):
        return "body: it holds characters that do not show"
    if match := _COMMAND.search(text):
        return f"body: a line begins with `{match[0].strip(' >*+-')[:20]}`, which bots take for a command"
    mentioned = len(_MENTION.findall(text))
    if mentioned > MAX_MENTIONS:
        return f"body: it mentions {mentioned:,} accounts, and {MAX_MENTIONS} are allowed"
    return ""


def _edit_problem(write: Write) -> str:
    if not write.title and not write.body:
        return "title: give a title, a body or both"
    if write.title and (not write.title.strip() or len(write.title) > MAX_TITLE or "\n" in write.title):
        return f"title: expected one line of at most {MAX_TITLE} characters"
    why = text_problem(write.title) if write.title else ""
    if why:
        return f"title{why.removeprefix('body')}"
    return text_problem(write.body) if write.body else ""
