"""The outcome of a run: the closed sets and the values of `outcome.json`.

`bot/publish/bundle.py` writes and validates them; these types are the schema.
"""

from enum import StrEnum
from typing import NamedTuple

from bot.contracts.errors import ExitCode
from bot.contracts.evidence import CheckerComparison, ServerUse, TestChanges, TestCounts
from bot.contracts.messages import Usage
from bot.contracts.request import ROUND_ARTIFACT, Request
from bot.contracts.sandbox import HostUse, SandboxInfo

SCHEMA_VERSION = 1


class Status(StrEnum):
    CHANGED = "changed"
    NO_CHANGE = "no_change"
    REVIEWED = "reviewed"
    PLANNED = "planned"
    ANSWERED = "answered"
    NEEDS_INPUT = "needs_input"
    PARTIAL = "partial"
    REFUSED = "refused"
    FAILED = "failed"


class StopReason(StrEnum):
    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    BUDGET = "budget"
    TIME = "time"
    TURNS = "turns"
    LOOP = "loop"
    CHECKS_FAILING = "checks_failing"
    NEEDS_INPUT = "needs_input"
    DENIED = "denied"
    CANCELED = "canceled"
    PROVIDER_ERROR = "provider_error"
    GATE = "gate"
    ERROR = "error"


INFRASTRUCTURE = (StopReason.PROVIDER_ERROR, StopReason.CANCELED, StopReason.ERROR)
"""Ends that are no fault of the run's."""

_EXIT_CODES = {
    **dict.fromkeys(
        (StopReason.MAX_TOKENS, StopReason.BUDGET, StopReason.TIME, StopReason.TURNS, StopReason.LOOP),
        ExitCode.BUDGET,
    ),
    StopReason.DENIED: ExitCode.REFUSED,
    StopReason.CANCELED: ExitCode.CANCELLED,
    StopReason.PROVIDER_ERROR: ExitCode.PROVIDER,
    StopReason.GATE: ExitCode.GATE,
    StopReason.ERROR: ExitCode.UNAVAILABLE,
}


def exit_code(stop: StopReason, status: Status) -> ExitCode:
    """The exit code of the process. A model that ended without the result of its verb failed."""
    code = _EXIT_CODES.get(stop, ExitCode.DONE)
    return ExitCode.PROVIDER if code is ExitCode.DONE and status is Status.FAILED else code


class CheckState(StrEnum):
    """`NOT_RUNNABLE`: a tool or dependency is missing. `NO_SOCKETS`: it failed because the sandbox has no
    network."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    NOT_RUNNABLE = "not_runnable"
    NO_SOCKETS = "no_sockets"
    NOT_RUN = "not_run"


class CheckRun(NamedTuple):
    """One run of one check. `duration` is in seconds; `tail` is the end of its output, redacted."""

    state: CheckState
    exit_code: int | None = None
    duration: float = 0.0
    tail: str = ""
    note: str = ""


class TestsAsTheyWere(NamedTuple):
    """A run of the base's tests on the changed source: each file of tests, test data and runner settings that the
    change edits, adds or deletes is as the base has it. `tests` are its counts, if known.

    `failed` passed before the change and fail in this run. `expectation_changed` fail in it, and the change edits their
    file or the data beside it. `unconfirmed` failed before and fail in it, and pass with the change's own tests.
    `not_comparable` ran before and not in this run, because they do not compile or are left out. The tuples are the
    listed tests; `counts` has the totals by field name. `mixed` are changed files that were not put back, although they
    may set up tests. `inside` are the source files whose own tests the change edits: those are the change's in this
    run, too. `note` says why there is no result.
    """

    run: CheckRun
    tests: TestCounts | None = None
    failed: tuple[str, ...] = ()
    expectation_changed: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    not_comparable: tuple[str, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    mixed: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    note: str = ""


class CheckResult(NamedTuple):
    """A check before and after the agent's change. `detected`: not named by the policy. `flaky`: it failed and
    then passed on the same files; `before` or `after` is the failed run. `tests` is set if a report or the
    output names the tests. `related` is the command that ran only the tests related to the change, empty if all
    ran; `scope_note` is the reason: "over 5 minutes". `as_they_were` is set if the change touches tests, and the check
    runs some."""

    name: str
    command: str
    before: CheckRun
    after: CheckRun
    detected: bool = False
    flaky: bool = False
    tests: TestChanges | None = None
    related: str = ""
    scope_note: str = ""
    as_they_were: TestsAsTheyWere | None = None

    @property
    def counts(self) -> TestCounts | None:
        """Those of the tests with the change; `None` if unknown."""
        return self.tests.after if self.tests else None


CAN_CHANGE_TESTS = "can change what tests report"
"""The gravest `ChangedFile.sensitive`: no result of tests is reliable then."""


class ChangedFile(NamedTuple):
    """One file of the diff. `sha256` is of the new bytes, empty for a deletion; `mode` is git's. `sensitive` is the
    gate's clause why a reviewer should look at it."""

    path: str
    status: str
    mode: str
    sha256: str
    additions: int
    removals: int
    sensitive: str = ""


class WithheldFile(NamedTuple):
    """`in_patch`: it is in the bundle's `withheld.patch`. Otherwise only the work tree has it."""

    path: str
    reason: str
    in_patch: bool = True


class Denial(NamedTuple):
    """A tool call that the policy refused."""

    tool: str
    subject: str
    rule: str
    reason: str


class Description(NamedTuple):
    """The model's description of its change, from the tool `describe_change`."""

    title: str = ""
    summary: str = ""
    notes: str = ""


class Outcome(NamedTuple):
    """Everything `publish` and the report need to know of a run, apart from the patch itself.

    `started_at` and `ended_at` are RFC 3339 in UTC; the commit's dates come from `ended_at`, so that publishing
    twice gives one SHA. `cost` is in USD. `reason` is one sentence for people: why the run ended, and why there
    is no diff if there is none. `notes` are further sentences for the pull request. `answer` is the text of an
    `explain`, or the model's last text of a run without a change; `question` is from `ask_user`.
    `patch_sha256`, `review_sha256`, `plan_sha256` and `writes_sha256` are of the files beside it in the bundle,
    the last three empty if there is no such file. `network` is the commands' network use. `diagnostics` are the
    checkers before and after, `servers` the language servers.
    """

    schema: int
    version: str
    status: Status
    stop_reason: StopReason
    reason: str
    request: Request
    base_sha: str
    model: str
    sandbox: str
    started_at: str
    ended_at: str
    turns: int
    usage: Usage
    cost: float
    description: Description = Description()
    checks: tuple[CheckResult, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    withheld: tuple[WithheldFile, ...] = ()
    denials: tuple[Denial, ...] = ()
    notes: tuple[str, ...] = ()
    patch_sha256: str = ""
    redactions: tuple[str, ...] = ()
    answer: str = ""
    question: str = ""
    review_sha256: str = ""
    plan_sha256: str = ""
    writes_sha256: str = ""
    sandbox_probe: SandboxInfo | None = None
    network: tuple[HostUse, ...] = ()
    diagnostics: tuple[CheckerComparison, ...] = ()
    servers: tuple[ServerUse, ...] = ()

    @property
    def round_artifact(self) -> str:
        """The name of the artifact by which rounds are counted; empty for a run that counts as none."""
        pull = (
            self.request.pull if self.request.counts_as and self.stop_reason not in INFRASTRUCTURE else None
        )
        return f"{ROUND_ARTIFACT}{pull.number}" if pull else ""
