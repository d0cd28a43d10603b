"""The timeline of a journal: turns with their calls, and other entries. `build_timeline.py` fills it, the templates
show it. `key` is the anchor in the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.agent.versions import Version, changed_files
from bot.contracts.journal import (
    DiagnosticsRecord,
    PermissionDecision,
    ProviderRetry,
    Question,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
    WriteProposed,
)
from bot.contracts.messages import Image, Usage
from bot.report.calls import ChangedPath, Field, subject_of


@dataclass(slots=True)
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
        tags = {
            "denied": self.state == "denied",
            "error": self.state not in ("ok", "denied"),
            "edit": bool(self.changes),
            "problem": self.new_problems > 0,
        }
        return " ".join(tag for tag, true in tags.items() if true)


@dataclass(slots=True)
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


@dataclass(frozen=True, slots=True)
class Agent:
    """A subagent that a call started, with a timeline of its own."""

    name: str
    system: str
    prompt: str
    timeline: Timeline


@dataclass(slots=True)
class TextEntry:
    """A user message of the history or, by its `origin`, a "note" for readers, or the "summary" that replaces a
    part of the conversation."""

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


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a file; `step` and `diff` are the anchors of its step and of its diff, empty for none."""

    version: Version
    step: str = ""
    diff: str = ""
    restore: str = ""


@dataclass(slots=True)
class FileRow:
    """A file that edits or commands changed, with the tools that did, and its versions. Its counts are those of all
    edits or, with `net`, of the published change."""

    path: str
    tools: list[str] = field(default_factory=list)
    additions: int = 0
    removals: int = 0
    net: bool = False
    versions: Sequence[VersionRow] = ()


@dataclass(slots=True)
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
