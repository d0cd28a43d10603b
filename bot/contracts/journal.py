"""The lines of a journal: what is kept of a run, in the order in which it happened.

`bot/agent/journal.py` writes and reads them. On disk a line is one JSON object: `type` (the name in
`RECORDS`), `at` (seconds since the journal was opened), `masked` (true where the redactor changed something),
and the record's fields, those at their default left out. The first line is the header.

Named tuples, since as many frozen dataclasses cost 14 ms at every start of the program, and these 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from bot.contracts.limits import Limits
from bot.contracts.messages import Image, Part, Role, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import ModelInfo
from bot.contracts.outcome import CheckResult, CheckRun
from bot.contracts.problems import Compared, Problem, ServerUse
from bot.contracts.request import Request
from bot.contracts.tested import Coverage, TestCounts
from bot.contracts.tools import ToolSpec

SCHEMA_VERSION = 1

_NOTHING: Mapping[str, Any] = {}


class Header(NamedTuple):
    """What the session was started with, frozen for its whole length. `started_at` is RFC 3339 in UTC. `policy_sha` is
    the commit whose policy was kept, empty where that is `base_sha`: of a pull request the tip of its base branch."""

    schema: int
    version: str
    started_at: str
    model: str
    info: ModelInfo
    base_sha: str
    request: Request
    system: str
    tools: tuple[ToolSpec, ...]
    limits: Limits
    sandbox: str = ""
    policy_sha: str = ""


class UserText(NamedTuple):
    """A user message put into the history: the task, what the host said when the model was done (`host`), or what
    followed the results of a turn (`added`: a reminder, a skill's body). `images` are the pictures with it."""

    turn: int
    text: str
    origin: Literal["task", "host", "added"] = "task"
    images: tuple[Image, ...] = ()


class Recalled(NamedTuple):
    """A message of the run that is gone on from, as it stands in the history of this one before its first request."""

    role: Role
    parts: tuple[Part, ...]


class RequestSent(NamedTuple):
    """A request to the model; `messages` is how many the history held, `digest` a hash of them: of the first so many of
    a later request it is the same, unless the conversation was made shorter in between."""

    turn: int
    messages: int
    digest: str = ""


class CallOpened(NamedTuple):
    """The stream named a tool call; its arguments follow as deltas of the same `block`."""

    turn: int
    block: int
    call_id: str
    name: str


class Delta(NamedTuple):
    """Streamed text, several deltas joined. `block` is the tool call's for `arguments`."""

    turn: int
    kind: Literal["text", "thinking", "arguments"]
    text: str
    block: int = -1


class Retried(NamedTuple):
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
    """A response that could not be had; `parts` is what had arrived."""

    turn: int
    message: str
    status: int | None = None
    canceled: bool = False
    parts: tuple[Part, ...] = ()
    usage: Usage = Usage()
    cost: float = 0.0


class BudgetChanged(NamedTuple):
    """What the session has used so far."""

    turn: int
    usage: Usage
    cost: float


class CallStarted(NamedTuple):
    """A call is about to be executed. Without a result line after it, the run died in it."""

    turn: int
    call_id: str
    name: str


class Question(NamedTuple):
    """The tool host asks whether it may write. `diff` is what it would write; `more` are the further files, each with
    its action, of a question about several."""

    tool: str
    path: str
    action: str
    diff: str
    more: tuple[tuple[str, str], ...] = ()


class Permitted(NamedTuple):
    """What policy said of a call or of the tool host's question. `call_id` is empty for the latter."""

    tool: str
    allow: bool
    rule: str = ""
    reason: str = ""
    call_id: str = ""
    path: str = ""


class Result(NamedTuple):
    """A call's one answer. `executed` is false when no handler ran; `duration` is in seconds."""

    turn: int
    call_id: str
    name: str
    content: str
    is_error: bool = False
    executed: bool = True
    denied: bool = False
    duration: float = 0.0
    metadata: Mapping[str, Any] = _NOTHING
    images: tuple[Image, ...] = ()


class FileVersion(NamedTuple):
    """One changed file with its bytes on both sides. `before` and `after` are sha256 hex, `None` for absent.

    The contents are `None` where the file is absent or over the limit (`oversize`), `before_content` also
    where nobody had it. `mode` is the permission bits; `link` a symbolic link's target.
    """

    path: str
    before: str | None
    after: str | None
    mode: int = 0o644
    before_content: bytes | None = None
    content: bytes | None = None
    oversize: bool = False
    link: str | None = None


class FilesChanged(NamedTuple):
    """Files that commands changed, edits apart, seen by a scan after the call `call_id` of turn `turn`."""

    turn: int
    files: tuple[FileVersion, ...]
    call_id: str = ""
    note: str = ""


class Checked(NamedTuple):
    """One run of one check. `tests` are its figures, where they are known. With `again` it is the second run on the
    same files of one that had failed."""

    name: str
    command: str
    phase: Literal["before", "after"]
    run: CheckRun
    detected: bool = False
    tests: TestCounts | None = None
    again: bool = False


class Diagnosed(NamedTuple):
    """What language servers said after a call that changed files. `tools` are those asked, each with how it answered
    (`bot.contracts.problems.Answer`); `new` what was shown, `new_count` all that is new since the agent began; `hidden`
    were there before. `waited` is in seconds, what the model was kept waiting."""

    turn: int
    call_id: str
    tools: tuple[tuple[str, str], ...]
    new: tuple[Problem, ...] = ()
    new_count: int = 0
    fixed: int = 0
    hidden: int = 0
    waited: float = 0.0
    note: str = ""


class Evidence(NamedTuple):
    """All that was run before and after, as it is told. `look_first` are lines of Markdown, the gravest first."""

    checks: tuple[CheckResult, ...] = ()
    diagnostics: tuple[Compared, ...] = ()
    servers: tuple[ServerUse, ...] = ()
    coverage: Coverage | None = None
    look_first: tuple[str, ...] = ()


class Compacted(NamedTuple):
    """The conversation was made shorter before the request of `turn`: `text` stands for everything between the first
    message and number `first_kept`. `before` and `after` are the tokens held; `transcript` is where the rest can be
    looked up. With a `failure`, one sentence, nothing was changed. `cost` is in USD. With `dropped`, only the results
    of these calls were left out of the conversation, and there is no summary."""

    turn: int
    text: str = ""
    first_kept: int = 0
    before: int = 0
    after: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    transcript: str = ""
    failure: str = ""
    dropped: tuple[str, ...] = ()


class Note(NamedTuple):
    """Something a reader of the run should know, in one sentence."""

    text: str


class AgentStarted(NamedTuple):
    """The call `call_id` started the subagent `name` of type `kind`. Its own lines carry its name."""

    turn: int
    call_id: str
    name: str
    kind: str
    system: str
    prompt: str


class WriteProposed(NamedTuple):
    """The model proposed a write on a thread. `what` says it in a few words, `refused` why it was not accepted."""

    kind: str
    number: int
    what: str
    accepted: bool
    refused: str = ""


class SessionEnded(NamedTuple):
    """The loop is over. `stop_reason` is of `bot.contracts.outcome.StopReason`."""

    stop_reason: str
    reason: str
    turns: int
    usage: Usage = Usage()
    cost: float = 0.0


class RunEnded(NamedTuple):
    """The run is over and the gate has judged. `patch_sha256` is what a replay must reach."""

    status: str
    stop_reason: str
    reason: str
    patch_sha256: str = ""
    tree_sha: str = ""


Record = (
    Header
    | UserText
    | Recalled
    | RequestSent
    | CallOpened
    | Delta
    | Retried
    | Response
    | ResponseFailed
    | BudgetChanged
    | CallStarted
    | Question
    | Permitted
    | Result
    | FilesChanged
    | Checked
    | Diagnosed
    | Evidence
    | AgentStarted
    | Compacted
    | Note
    | WriteProposed
    | SessionEnded
    | RunEnded
)

RECORDS: Mapping[str, type[Record]] = {
    "header": Header,
    "user": UserText,
    "recalled": Recalled,
    "request": RequestSent,
    "call_opened": CallOpened,
    "delta": Delta,
    "retry": Retried,
    "response": Response,
    "response_failed": ResponseFailed,
    "budget": BudgetChanged,
    "call": CallStarted,
    "question": Question,
    "permission": Permitted,
    "result": Result,
    "files": FilesChanged,
    "check": Checked,
    "diagnosed": Diagnosed,
    "evidence": Evidence,
    "agent": AgentStarted,
    "compacted": Compacted,
    "note": Note,
    "write": WriteProposed,
    "session_ended": SessionEnded,
    "run_ended": RunEnded,
}

PARTS: Mapping[str, type[Part]] = {
    "text": Text,
    "image": Image,
    "thinking": Thinking,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
}
"""The `type` of each message part inside `parts`."""
