"""Prepare a tool call for people: its subject, its arguments as fields, and its changes of files."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.contracts.journal import FileVersion
from bot.contracts.messages import ToolCall
from bot.contracts.plain_text import printable_name
from bot.contracts.text_encoding import wide_text
from bot.policy.rule import patched_paths

_LARGEST_DIFF = 64 * 1024


@dataclass(slots=True)
class ChangedPath:
    """One file that a command changed. `diff` is empty if the contents are not text or unknown."""

    path: str
    what: str
    diff: str = ""


def is_bytecode(path: str) -> bool:
    """Whether it is bytecode that Python wrote by itself: no pull request contains it."""
    return path.endswith((".pyc", ".pyo")) or "__pycache__" in path.split("/")


def changed_path(file: FileVersion) -> ChangedPath:
    if file.link is not None:
        return ChangedPath(file.path, f"became a link to {file.link}")
    if file.after is None:
        what = "removed"
    elif file.before is None:
        what = "created"
    else:
        what = "changed"
    if file.oversize:
        return ChangedPath(file.path, f"{what}, too large to keep")
    return ChangedPath(file.path, what, _diff(file))


def _diff(file: FileVersion) -> str:
    known = (file.before is None or file.before_content is not None) and (
        file.after is None or file.content is not None
    )
    if not known:
        return ""
    contents = (file.before_content or b"", file.content or b"")
    if sum(map(len, contents)) > _LARGEST_DIFF:
        return ""
    before, after = (wide_text(data) or data.decode("utf-8", "replace") for data in contents)
    if "\0" in before + after:
        return ""
    rows = difflib.unified_diff(
        before.split("\n"), after.split("\n"), f"a/{file.path}", f"b/{file.path}", lineterm=""
    )
    return "\n".join(rows)


def counts(diff: str) -> tuple[int, int]:
    rows = below_head(diff.split("\n"))
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def below_head(rows: list[str]) -> list[str]:
    """Return the rows from the first hunk on, where a row that begins with `+++` is an added line."""
    return rows[next((at for at, row in enumerate(rows) if row.startswith("@@")), len(rows)) :]


_SUBJECTS = ("command", "pattern", "path", "title", "question", "description", "prompt", "url", "name", "id")
_LONGEST_SUBJECT = 160


class Field(NamedTuple):
    """`name` is empty if the arguments are no JSON object; then `text` is all of them."""

    name: str
    text: str

    @property
    def below(self) -> bool:
        """Whether it is shown on lines of its own, where indentation is visible."""
        return not self.name or "\n" in self.text or self.text[:1].isspace() or len(self.text) > 100


def fields_of(arguments: str) -> tuple[Field, ...]:
    try:
        value = json.loads(arguments)
        if isinstance(value, dict):
            return tuple(Field(str(key), _text(item)) for key, item in value.items())
    except (ValueError, RecursionError):
        pass
    return (Field("", arguments),) if arguments else ()


def subject_of(fields: Sequence[Field]) -> str:
    """Return the subject of a call in one line: the files of a patch, its command, its path, or its first text that is
    no list or object."""
    by_name = {field.name: field.text for field in fields if field.name}
    named = next((by_name[name] for name in _SUBJECTS if by_name.get(name)), "")
    others = (text for text in by_name.values() if text.strip() and text[:1] not in ("[", "{"))
    text = ", ".join(patched_paths(by_name.get("patch"))) or named or next(others, "")
    line = printable_name(" ".join(text.split()))
    return f"{line[:_LONGEST_SUBJECT]} …" if len(line) > _LONGEST_SUBJECT else line


def call_subject(call: ToolCall | None) -> str:
    return subject_of(fields_of(call.arguments)) if call else ""


def _text(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
