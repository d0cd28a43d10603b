"""From what happened to what is said of it: status, reason, exit code, outcome. Pure decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.loop import LoopEnd
from bot.contracts.errors import ExitCode, GateError
from bot.contracts.outcome import (
    SCHEMA_VERSION,
    ChangedFile,
    CheckResult,
    Denial,
    Description,
    Outcome,
    Status,
    StopReason,
    WithheldFile,
)
from bot.contracts.request import Request
from bot.contracts.wording import sentence
from bot.evidence.compare import failing
from bot.gate.tree import Verdict

_NAMED = 5

_ENDED_BY_MODEL = frozenset({StopReason.END_TURN, StopReason.CHECKS_FAILING})

_EXIT_CODES = {
    StopReason.END_TURN: ExitCode.DONE,
    StopReason.CHECKS_FAILING: ExitCode.DONE,
    StopReason.NEEDS_INPUT: ExitCode.DONE,
    StopReason.MAX_TOKENS: ExitCode.BUDGET,
    StopReason.BUDGET: ExitCode.BUDGET,
    StopReason.TIME: ExitCode.BUDGET,
    StopReason.TURNS: ExitCode.BUDGET,
    StopReason.LOOP: ExitCode.BUDGET,
    StopReason.DENIED: ExitCode.REFUSED,
    StopReason.CANCELED: ExitCode.CANCELLED,
    StopReason.PROVIDER_ERROR: ExitCode.PROVIDER,
    StopReason.GATE: ExitCode.GATE,
    StopReason.ERROR: ExitCode.INTERNAL,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run whatever came of it. Times are RFC 3339 in UTC."""

    request: Request
    base_sha: str
    model: str
    sandbox: str
    started_at: str
    ended_at: str
    version: str


def exit_code(stop: StopReason) -> ExitCode:
    """What the process answers for a run that ended so."""
    return _EXIT_CODES[stop]


def outcome(
    facts: Facts,
    end: LoopEnd,
    judged: Verdict | GateError,
    *,
    description: Description,
    checks: Sequence[CheckResult],
    denials: Sequence[Denial],
    notes: Sequence[str],
    redactions: Sequence[str],
) -> Outcome:
    """Everything that is told of a run. A gate that refused the tree outweighs how the conversation ended."""
    files, withheld = (judged.files, judged.withheld) if isinstance(judged, Verdict) else ((), ())
    stop = _stop(end, judged, failing(checks, facts.request.instruction))
    return Outcome(
        schema=SCHEMA_VERSION,
        version=facts.version,
        status=status(stop, files),
        stop_reason=stop,
        reason=_reason(stop, end, judged, files, withheld),
        request=facts.request,
        base_sha=facts.base_sha,
        model=facts.model,
        sandbox=facts.sandbox,
        started_at=facts.started_at,
        ended_at=facts.ended_at,
        turns=end.turns,
        usage=end.usage,
        cost=round(end.cost, 6),
        description=description,
        checks=tuple(checks),
        files=files,
        withheld=withheld,
        denials=tuple(denials),
        notes=tuple(notes),
        patch_sha256=hashlib.sha256(judged.patch if isinstance(judged, Verdict) else b"").hexdigest(),
        redactions=tuple(redactions),
    )


def status(stop: StopReason, files: Sequence[ChangedFile]) -> Status:
    """What became of the request. Without a diff only a run that the model ended is "no change"."""
    if files:
        return Status.CHANGED if stop in _ENDED_BY_MODEL else Status.PARTIAL
    return Status.NO_CHANGE if stop in _ENDED_BY_MODEL else Status.FAILED


def _stop(end: LoopEnd, judged: Verdict | GateError, bad: Sequence[CheckResult]) -> StopReason:
    if isinstance(judged, GateError) or (judged.withheld and not judged.files):
        return StopReason.GATE
    if end.stop is StopReason.END_TURN and bad:
        return StopReason.CHECKS_FAILING
    return end.stop


def _reason(
    stop: StopReason,
    end: LoopEnd,
    judged: Verdict | GateError,
    files: Sequence[ChangedFile],
    withheld: Sequence[WithheldFile],
) -> str:
    """One or two sentences for people: why the run ended as it did and, without a diff, why there is none."""
    if isinstance(judged, GateError):
        return sentence(f"The gate refused the diff: {judged}")
    if stop is StopReason.GATE:
        held = ", ".join(f"`{file.path}`" for file in withheld[:_NAMED])
        return f"Everything that changed is protected and was withheld: {held}."
    if stop is StopReason.CHECKS_FAILING:
        return "The model ended its turn, and a check fails with its change."
    if not files and stop is StopReason.END_TURN:
        said = f" Its last words: {end.final_text}" if end.final_text else ""
        return f"The model ended its turn without changing a file.{said}"
    return sentence(end.reason)
