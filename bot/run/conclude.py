"""From what happened to what is said of it: status, reason, exit code, outcome. Pure decisions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.agent.loop import LoopEnd
from bot.checkout.git import Git
from bot.contracts.errors import ExitCode, GateError
from bot.contracts.network import HostUse
from bot.contracts.outcome import (
    SCHEMA_VERSION,
    ChangedFile,
    CheckResult,
    Denial,
    Outcome,
    Status,
    StopReason,
    WithheldFile,
)
from bot.contracts.problems import Compared, ServerUse
from bot.contracts.request import Request
from bot.contracts.tested import Coverage
from bot.contracts.wording import count_of, sentence
from bot.evidence.compare import failing
from bot.evidence.tests import mark_edited
from bot.gate.errors import NoRoom
from bot.gate.tree import Verdict
from bot.gate.weakened import is_of_tests
from bot.run.profiles import SUBMIT_PLAN, Profile
from bot.run.results import Handed

_NAMED = 5
_MOST = 65_536
"""Characters, as a comment on GitHub may have."""

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


def exit_code(stop: StopReason, status: Status = Status.CHANGED) -> ExitCode:
    """What the process answers for a run that ended so. A model that ended without what the verb is for failed."""
    code = _EXIT_CODES[stop]
    return ExitCode.PROVIDER if code is ExitCode.DONE and status is Status.FAILED else code


def outcome(
    facts: Facts,
    profile: Profile,
    end: LoopEnd,
    judged: Verdict | GateError,
    handed: Handed,
    *,
    checks: Sequence[CheckResult],
    denials: Sequence[Denial],
    notes: Sequence[str],
    redactions: Sequence[str],
    network: Sequence[HostUse] = (),
    diagnostics: Sequence[Compared] = (),
    servers: Sequence[ServerUse] = (),
    coverage: Coverage | None = None,
) -> Outcome:
    """Everything that is told of a run. A gate that refused the tree outweighs how the conversation ended."""
    files, withheld = (judged.files, judged.withheld) if isinstance(judged, Verdict) else ((), ())
    edited = [file.path for file in files if is_of_tests(file.path)]
    stop = _stop(end, judged, failing(checks, facts.request.instruction))
    became = status(profile, stop, files, handed)
    # A request to fix something that was a question, or a plan that was not made, has an answer all the same.
    answered = became in (Status.ANSWERED, Status.NO_CHANGE) or (
        became is Status.FAILED and stop is StopReason.END_TURN
    )
    return Outcome(
        schema=SCHEMA_VERSION,
        version=facts.version,
        status=became,
        stop_reason=stop,
        reason=_reason(profile, became, stop, end, judged, files, withheld),
        request=facts.request,
        base_sha=facts.base_sha,
        model=facts.model,
        sandbox=facts.sandbox,
        started_at=facts.started_at,
        ended_at=facts.ended_at,
        turns=end.turns,
        usage=end.usage,
        cost=round(end.cost, 6),
        description=replace(
            handed.description,
            summary=_capped(handed.description.summary),
            notes=_capped(handed.description.notes),
        ),
        checks=tuple(replace(check, tests=mark_edited(check.tests, edited)) for check in checks),
        files=files,
        withheld=withheld,
        denials=tuple(denials),
        notes=tuple(notes),
        patch_sha256=hashlib.sha256(judged.patch if isinstance(judged, Verdict) else b"").hexdigest(),
        redactions=tuple(redactions),
        answer=_capped(end.final_text) if answered else "",
        question=_capped(handed.question),
        network=tuple(network),
        diagnostics=tuple(diagnostics),
        servers=tuple(servers),
        coverage=coverage,
    )


def _capped(text: str) -> str:
    """A bundle with a longer text would be read by nobody."""
    more = len(text) - _MOST
    return (
        f"{text[:_MOST]}\n\n[{more} more characters were left out here; the journal has them]"
        if more > 0
        else text
    )


def status(profile: Profile, stop: StopReason, files: Sequence[ChangedFile], handed: Handed) -> Status:
    """What became of the request. What a reading verb is for is there or it is not; a cancelled run has nothing."""
    if stop is StopReason.NEEDS_INPUT:
        return Status.NEEDS_INPUT
    by_model = stop in _ENDED_BY_MODEL
    if profile.good is Status.PLANNED:
        there = handed.plan is not None and stop is not StopReason.CANCELED
        return Status.PLANNED if there else Status.FAILED
    if profile.good is Status.ANSWERED:
        if by_model:
            return Status.ANSWERED
        return Status.PARTIAL if handed.writes and stop is not StopReason.CANCELED else Status.FAILED
    if profile.good is Status.REVIEWED:
        if by_model:
            return Status.REVIEWED
        return Status.PARTIAL if handed.review and handed.review.findings else Status.FAILED
    if files:
        return Status.CHANGED if by_model else Status.PARTIAL
    return Status.NO_CHANGE if by_model else Status.FAILED


def nothing_changed(git: Git, base_sha: str) -> Verdict:
    """The gate's word on a tree that is as the base commit has it."""
    tree_sha = git.run("rev-parse", "--verify", f"{base_sha}^{{tree}}").decode().strip()
    return Verdict(tree_sha, b"", b"", (), ())


def thrown_away(judged: Verdict | GateError) -> tuple[str, ...]:
    """What is said of what a run that only reads left in its tree."""
    if isinstance(judged, GateError):
        return (f"Commands of this run changed its work tree, and that was thrown away ({judged}).",)
    paths = [*(file.path for file in judged.files), *(file.path for file in judged.withheld)]
    if not paths:
        return ()
    named = ", ".join(f"`{path}`" for path in paths[:_NAMED])
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return (
        f"Commands of this run changed {count_of(paths, 'file')}, and that was thrown away: {named}{more}.",
    )


def _stop(end: LoopEnd, judged: Verdict | GateError, bad: Sequence[CheckResult]) -> StopReason:
    if isinstance(judged, GateError) or (judged.withheld and not judged.files):
        return StopReason.GATE
    if end.stop is StopReason.END_TURN and bad:
        return StopReason.CHECKS_FAILING
    return end.stop


def _reason(
    profile: Profile,
    became: Status,
    stop: StopReason,
    end: LoopEnd,
    judged: Verdict | GateError,
    files: Sequence[ChangedFile],
    withheld: Sequence[WithheldFile],
) -> str:
    """One or two sentences for people: why the run ended as it did and, without a result, why there is none."""
    if isinstance(judged, NoRoom):
        return sentence(f"The gate could not look: {judged}")
    if isinstance(judged, GateError):
        return sentence(f"The gate refused the diff: {judged}")
    if stop is StopReason.GATE:
        held = "; ".join(f"`{file.path}` ({file.reason})" for file in withheld[:_NAMED])
        return f"Everything that changed was withheld: {held}."
    if stop is StopReason.CHECKS_FAILING:
        return "The model ended its turn, and a check fails with its change."
    if SUBMIT_PLAN in profile.results and became is Status.FAILED and stop is StopReason.END_TURN:
        return "The model ended its turn without a plan."
    if not files and not profile.read_only and stop is StopReason.END_TURN:
        return "The model ended its turn without changing a file."
    return sentence(end.reason)
