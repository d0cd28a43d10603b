"""The records of a journal, in the order in which they happen.

`bot/agent/journal.py` writes and reads them. On disk a record is one line with a JSON object:
`type` (a key of `RECORDS`), `at` (seconds since the journal was opened), and the record's fields without those at their
default. The first line is the header.

Named tuples, because the same number of frozen dataclasses adds 12 ms to every start of the program.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from bot.contracts.evidence import CheckerComparison, Problem, ServerUse, TestCounts
from bot.contracts.messages import Image, Part, Usage
from bot.contracts.model import ModelInfo
from bot.contracts.outcome import CheckResult, CheckRun
from bot.contracts.request import Request, RunLimits
from bot.contracts.tools import ToolSpec

SCHEMA_VERSION = 1


class PlannedCheck(NamedTuple):
    """A check that the run is to make before and after its change."""

    name: str
    command: str
    detected: bool = False


class Header(NamedTuple):
    """The session's frozen start values. `started_at` is RFC 3339 in UTC. `policy_sha` is the commit that the
    policy was read from, empty if it is `base_sha`: for a pull request the tip of its base branch."""

    schema: int
    version: str
    started_at: str
    model: str
    info: ModelInfo
    base_sha: str
    request: Request
    system: str
    tools: tuple[ToolSpec, ...]
    limits: RunLimits
    sandbox: str = ""
    policy_sha: str = ""
    checks: tuple[PlannedCheck, ...] = ()


class UserText(NamedTuple):
    """A user message in the history: the task, the supervisor's text after the model's last response (`host`),
    or text after the results of a turn (`added`: a reminder, a skill's body)."""

    turn: int
    text: str
    origin: Literal["task", "host", "added"] = "task"
    images: tuple[Image, ...] = ()


class RequestSent(NamedTuple):
    """A request to the model. `messages` is the length of the history."""

    turn: int
    messages: int


class ProviderRetry(NamedTuple):
    """The provider sends the request again after `delay` seconds."""

    turn: int
    attempt: int
    delay: float
    reason: str


class Response(NamedTuple):
    """A whole response as it entered the history. `cost` is in USD."""

    turn: int
    parts: tuple[Part, ...]
    finish: str
    raw_reason: str
    usage: Usage = Usage()
    cost: float = 0.0


class ResponseFailed(NamedTuple):
    """A failed response; `parts` is what had arrived."""

    turn: int
    message: str
    status: int | None = None
    canceled: bool = False
    parts: tuple[Part, ...] = ()
    usage: Usage = Usage()
    cost: float = 0.0


class BudgetChanged(NamedTuple):
    """The session's usage so far."""

    turn: int
    usage: Usage
    cost: float


class CallStarted(NamedTuple):
    """A call is about to be executed. If no result follows, the run died during it."""

    turn: int
    call_id: str
    name: str


class Question(NamedTuple):
    """The tool host asks whether a tool may make all of these changes. `files` are pairs of a path and an action
    ("create", "change" or "delete"); they and the diff are claims of the host."""

    tool: str
    files: tuple[tuple[str, str], ...]
    diff: str


class PermissionDecision(NamedTuple):
    """The policy's decision on a call or on the tool host's question. `call_id` is empty for the latter."""

    tool: str
    allow: bool
    rule: str = ""
    reason: str = ""
    call_id: str = ""
    path: str = ""


class Result(NamedTuple):
    """A call's one result. `executed` is false when no handler ran; `duration` is in seconds."""

    turn: int
    call_id: str
    name: str
    content: str
    is_error: bool = False
    executed: bool = True
    denied: bool = False
    duration: float = 0.0
    metadata: Mapping[str, Any] = {}


class FileVersion(NamedTuple):
    """One file that a command changed. `before` and `after` are sha256 hex of the bytes, `None` for absent; `before` is
    empty for a file that was as the run found it.

    `content` is the new bytes, `None` if the file is absent, a link or `oversize`; `before_content` is `None` if it is
    absent or unknown. `mode` is the permission bits; `link` a symbolic link's target.
    """

    path: str
    before: str | None
    after: str | None
    mode: int = 0o644
    content: bytes | None = None
    link: str | None = None
    before_content: bytes | None = None

    @property
    def oversize(self) -> bool:
        """Whether its content is over the limit and not kept."""
        return self.after is not None and self.link is None and self.content is None


class FilesChanged(NamedTuple):
    """Files that commands changed (not edits), from a scan after the call `call_id` of turn `turn`."""

    turn: int
    files: tuple[FileVersion, ...]
    call_id: str = ""
    note: str = ""


class CheckRecord(NamedTuple):
    """One run of one check. `tests` are its counts, if known. `again`: the second run, on the same files, of a
    failed check. `as_they_were`: with the change, and the tests as the base has them."""

    name: str
    command: str
    phase: Literal["before", "after", "as_they_were"]
    run: CheckRun
    detected: bool = False
    tests: TestCounts | None = None
    again: bool = False


class DiagnosticsRecord(NamedTuple):
    """Diagnostics after a call that changed files. `tools` pairs each tool with its
    `bot.contracts.evidence.Answer`. `new` are the reported problems, `new_count` all that are new since the run
    began."""

    turn: int
    call_id: str
    tools: tuple[tuple[str, str], ...]
    new: tuple[Problem, ...] = ()
    new_count: int = 0
    note: str = ""


class Evidence(NamedTuple):
    """All results before and after the change, as reported. `look_first` are lines of text with code in backticks,
    the most severe first."""

    checks: tuple[CheckResult, ...] = ()
    diagnostics: tuple[CheckerComparison, ...] = ()
    servers: tuple[ServerUse, ...] = ()
    look_first: tuple[str, ...] = ()


class CompactionRecord(NamedTuple):
    """The conversation was compacted before the request of `turn`: `text` replaces all messages between the
    first one and number `first_kept`. `before` and `after` are tokens; `transcript` is the path of the full
    text. A `failure` is one sentence: nothing was changed. `cost` is in USD."""

    turn: int
    text: str = ""
    first_kept: int = 0
    before: int = 0
    after: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    transcript: str = ""
    failure: str = ""


class ModelChanged(NamedTuple):
    """From `turn` on another model answers: one that a skill asks for, or, with a `reason`, one of the policy's
    fallback list for the rest of the run. `reason` is why the model before it did not answer."""

    turn: int
    model: str
    reason: str = ""

    @property
    def sentence(self) -> str:
        why = f" {self.reason[:1].upper()}{self.reason[1:].rstrip('.')}." if self.reason else ""
        return f"From turn {self.turn} on the model {self.model} answers.{why}"


class Note(NamedTuple):
    """One sentence for a reader of the run."""

    text: str


class AttachedFile(NamedTuple):
    """An attached file of the request; `place` names the text that links it. `size` and `sha256` (hex) are of
    the download, which took `seconds`; it is at `path`."""

    name: str
    place: str
    size: int
    sha256: str
    path: str
    seconds: float = 0.0


class AgentStarted(NamedTuple):
    """The call `call_id` started the subagent `name`. The subagent's own records carry its name."""

    turn: int
    call_id: str
    name: str
    system: str
    prompt: str


class WriteProposed(NamedTuple):
    """The model proposed a write on a thread. `what` describes it, `refused` says why it was refused."""

    kind: str
    number: int
    what: str
    accepted: bool
    refused: str = ""


class SessionEnded(NamedTuple):
    """The loop has ended. `stop_reason` is a `bot.contracts.outcome.StopReason`."""

    stop_reason: str
    reason: str
    turns: int
    usage: Usage = Usage()
    cost: float = 0.0


class RunEnded(NamedTuple):
    """The run has ended and the gate has decided. `patch_sha256` is the hash of the patch."""

    status: str
    stop_reason: str
    reason: str
    patch_sha256: str = ""


Record = (
    Header
    | UserText
    | RequestSent
    | ProviderRetry
    | Response
    | ResponseFailed
    | BudgetChanged
    | CallStarted
    | Question
    | PermissionDecision
    | Result
    | FilesChanged
    | CheckRecord
    | DiagnosticsRecord
    | Evidence
    | AttachedFile
    | AgentStarted
    | CompactionRecord
    | ModelChanged
    | Note
    | WriteProposed
    | SessionEnded
    | RunEnded
)

RECORDS: Mapping[str, type[Record]] = {
    "header": Header,
    "user": UserText,
    "request": RequestSent,
    "retry": ProviderRetry,
    "response": Response,
    "response_failed": ResponseFailed,
    "budget": BudgetChanged,
    "call": CallStarted,
    "question": Question,
    "permission": PermissionDecision,
    "result": Result,
    "files": FilesChanged,
    "check": CheckRecord,
    "diagnosed": DiagnosticsRecord,
    "evidence": Evidence,
    "attached": AttachedFile,
    "agent": AgentStarted,
    "compacted": CompactionRecord,
    "model": ModelChanged,
    "note": Note,
    "write": WriteProposed,
    "session_ended": SessionEnded,
    "run_ended": RunEnded,
}
