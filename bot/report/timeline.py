"""The timeline of a journal: turns with their calls, and other entries. `build_timeline.py` fills it, the templates
show it. `key` is the anchor in the page."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bot.agent.versions import Version, changed_files
from bot.contracts.journal import (
    DiagnosticsRecord,
    FileVersion,
    PermissionDecision,
    ProviderRetry,
    Question,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
    WriteProposed,
)
from bot.contracts.messages import Image, ToolCall, Usage
from bot.contracts.plain_text import printable_name
from bot.gate.text_encoding import wide_text
from bot.policy.rule import patched_paths
from bot.report.call_filters import FILTERS

_LARGEST_DIFF = 64 * 1024


class ChangedPath(NamedTuple):
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
    what = "removed" if file.after is None else "created" if file.before is None else "changed"
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
    """Return the added and removed lines. From the first hunk on a row that begins with `+++` is an added line."""
    rows = diff.split("\n")
    rows = rows[next((at for at, row in enumerate(rows) if row.startswith("@@")), len(rows)) :]
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


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
    """Return the subject of a call in one line: files of a patch, command, path, or the first text that is no list."""
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


@dataclass
class Call:
    """A tool call with all its records. `inputs` are its arguments as fields for people."""

    id: str
    name: str
    inputs: Sequence[Field] = ()
    complete: bool = True
    permissions: list[PermissionDecision] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    result: Result | None = None
    files: list[ChangedPath] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    diagnosed: list[DiagnosticsRecord] = field(default_factory=list)
    key: str = ""

    @property
    def state(self) -> str:
        if self.result is None:
            return "no result: the run ended here"
        if self.result.denied:
            return "denied"
        if not self.result.executed:
            return "not run"
        return "error" if self.result.is_error else "ok"

    @property
    def subject(self) -> str:
        """Its subject in one line."""
        return subject_of(self.inputs)

    @property
    def changes(self) -> list[ChangedPath]:
        """The files that the call changed, by edit or by command."""
        if self.result is None or self.result.is_error:
            return self.files
        edits = changed_files(self.result.metadata)
        return [ChangedPath(edit["path"], "", str(edit.get("diff", ""))) for edit in edits] + self.files

    @property
    def exit_code(self) -> int | None:
        value = self.result.metadata.get("exit_code") if self.result is not None else None
        return value if isinstance(value, int) else None

    @property
    def new_problems(self) -> int:
        return sum(one.new_count for one in self.diagnosed)

    @property
    def tags(self) -> str:
        """The filters of the page that it matches."""
        return " ".join(tag for tag, (_, applies) in FILTERS.items() if applies(self))


@dataclass
class Turn:
    """One request to the model, its response, and the calls of the response. `at` is when it was sent, `answered` when
    the response was complete (0 for never), `ended` when its last call had its result, all in seconds."""

    number: int
    at: float
    thoughts: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    retries: list[ProviderRetry] = field(default_factory=list)
    failure: ResponseFailed | None = None
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    files: list[ChangedPath] = field(default_factory=list)
    answered: float = 0.0
    ended: float = 0.0
    key: str = ""

    @property
    def kind(self) -> str:
        return "turn"

    @property
    def held(self) -> int:
        """Tokens of the request."""
        return self.usage.input + self.usage.cache_read + self.usage.cache_write

    @property
    def cached(self) -> int:
        """The share of the request that came from the vendor's cache, in percent."""
        return 100 * self.usage.cache_read // self.held if self.held else 0

    @property
    def thinking_seconds(self) -> float:
        """The duration of the response."""
        return max(0.0, self.answered - self.at)

    @property
    def working_seconds(self) -> float:
        """The duration of its tool calls, with questions to people."""
        return max(0.0, self.ended - max(self.answered, self.at))


class Agent(NamedTuple):
    """A subagent that a call started, with a timeline of its own."""

    name: str
    system: str
    prompt: str
    timeline: Timeline


@dataclass
class TextEntry:
    """A user message or, by its `origin`, a "note" for readers, or the "summary" of a part of the conversation."""

    at: float
    origin: str
    text: str
    images: Sequence[Image] = ()
    before: int = 0
    after: int = 0
    cost: float = 0.0
    transcript: str = ""
    key: str = ""

    @property
    def kind(self) -> str:
        return "note" if self.origin == "note" else "said"


class VersionRow(NamedTuple):
    """A version of a file; `step` and `diff` are the anchors of its step and of its diff, empty for none."""

    version: Version
    step: str = ""
    diff: str = ""
    restore: str = ""


@dataclass
class FileRow:
    """A changed file with the tools that did it, and its versions. With `net`, counts are of the change."""

    path: str
    tools: list[str] = field(default_factory=list)
    additions: int = 0
    removals: int = 0
    net: bool = False
    versions: Sequence[VersionRow] = ()


@dataclass
class Timeline:
    entries: list[Turn | TextEntry] = field(default_factory=list)
    files: dict[str, FileRow] = field(default_factory=dict)
    writes: list[WriteProposed] = field(default_factory=list)
    session: SessionEnded | None = None
    run: RunEnded | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    seconds: float = 0.0

    @property
    def turns(self) -> list[Turn]:
        return [item for item in self.entries if isinstance(item, Turn)]

    def count(self, tag: str) -> int:
        """Return how many calls match that filter, with those of subagents."""
        calls = [call for turn in self.turns for call in turn.calls]
        below = sum(agent.timeline.count(tag) for call in calls for agent in call.agents)
        failed = sum(turn.failure is not None for turn in self.turns) if tag == "error" else 0
        return below + failed + sum(tag in call.tags.split() for call in calls)
