"""A tool call's arguments as a person reads them: one field after the other, texts of several lines as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_SUBJECTS = ("command", "path", "pattern", "title", "question", "description", "prompt", "url", "name", "id")
_LONGEST_SUBJECT = 160


class Field(NamedTuple):
    """`name` is empty where the arguments were no JSON object: then `text` is all of them."""

    name: str
    text: str

    @property
    def below(self) -> bool:
        """Whether it needs lines of its own. Indentation is only seen at a line's start."""
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
    """What a call was about, in a line: its path, its command, else its first text that is no list or object."""
    by_name = {field.name: field.text for field in fields}
    named = next((by_name[name] for name in _SUBJECTS if by_name.get(name)), "")
    texts = (field.text for field in fields if field.text.strip() and field.text[:1] not in ("[", "{"))
    text = named or next(texts, "")
    line, _, more = text.strip().partition("\n")
    cut = len(line) > _LONGEST_SUBJECT or bool(more)
    return f"{line[:_LONGEST_SUBJECT]} …" if cut else line


def _text(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)


_LEFT_OUT = frozenset({
    "diff", "path", "before_hash", "after_hash", "mode", "spill", "fingerprint", "stamps", "code", "command",
    "diagnostics",
})  # fmt: skip
_MOST_ROWS = 40


def people_see(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a result says to people beside what the model saw, without what stands elsewhere or helps programs alone."""
    rows = []
    for name, value in metadata.items():
        if name in _LEFT_OUT or value is None or value is False or value in ("", []):
            continue
        label = name.replace("_", " ")
        if name == "files" and isinstance(value, list):
            paths = [str(file.get("path", "")) for file in value if isinstance(file, dict)]
            rows.append((label, ", ".join(paths[:_MOST_ROWS]) + (" …" if len(paths) > _MOST_ROWS else "")))
        else:
            rows.append((label, "yes" if value is True else _shown(value)))
    return rows[:_MOST_ROWS]


def _shown(value: object) -> str:
    try:
        return _text(value)
    except (ValueError, RecursionError):
        return str(type(value).__name__)
