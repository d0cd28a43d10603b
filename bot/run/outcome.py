"""Decide the status, reason, exit code and outcome of a run from what happened. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from bot.agent.loop import LoopEnd
from bot.contracts.errors import GateError
from bot.contracts.formatting import sentence
from bot.contracts.outcome import ChangedFile, CheckResult, Outcome, Status, StopReason
from bot.evidence.failing_checks import failing
from bot.evidence.pieces import plain
from bot.evidence.refused import held_back
from bot.gate.errors import OutOfCapacity
from bot.gate.verdict import Verdict
from bot.session.tools.result_tools import Submission
from bot.verbs.record import SUBMIT_PLAN, Profile

_NAMED = 5
_MOST = 65_536
"""Characters, as a comment on GitHub may have."""

_ENDED_BY_MODEL = frozenset({StopReason.END_TURN, StopReason.CHECKS_FAILING})


def ended(
    known: Outcome, profile: Profile, end: LoopEnd, verdict: Verdict | GateError, submission: Submission
) -> Outcome:
    """The outcome of a run, of which `known` has all that does not depend on its result. A gate that refused the tree
    outweighs how the conversation ended."""
    files, withheld = (verdict.files, verdict.withheld) if isinstance(verdict, Verdict) else ((), ())
    stop = _stop(end, verdict, failing(known.checks, known.request.instruction))
    result = status(profile, stop, files, submission)
    # A request to fix something that was a question, or a plan that was not made, has an answer all the same. Of an
    # answer that the output limit cut off there is the beginning.
    answered = result in (Status.ANSWERED, Status.NO_CHANGE) or (
        result is Status.FAILED and stop in (StopReason.END_TURN, StopReason.MAX_TOKENS)
    )
    description = submission.description
    return replace(
        known,
        status=result,
        stop_reason=stop,
        reason=_reason(profile, result, stop, end, verdict),
        description=replace(
            description, summary=_capped(description.summary), notes=_capped(description.notes)
        ),
        files=files,
        withheld=withheld,
        answer=_capped(end.final_text) if answered else "",
        question=_capped(submission.question),
    )


def _capped(text: str) -> str:
    """`text` within the limit of a comment: publishing refuses a bundle with a longer one."""
    more = len(text) - _MOST
    return (
        f"{text[:_MOST]}\n\n[{more} more characters were left out here; the journal has them]"
        if more > 0
        else text
    )


def status(
    profile: Profile, stop: StopReason, files: Sequence[ChangedFile], submission: Submission
) -> Status:
    """The status of the request. A verb that reads has its result or failed; a cancelled run has none."""
    if stop is StopReason.NEEDS_INPUT:
        return Status.NEEDS_INPUT
    ended_by_model = stop in _ENDED_BY_MODEL
    if profile.success is Status.PLANNED:
        has_plan = submission.plan is not None and stop is not StopReason.CANCELED
        return Status.PLANNED if has_plan else Status.FAILED
    if profile.success is Status.ANSWERED:
        if ended_by_model:
            return Status.ANSWERED
        return Status.PARTIAL if submission.writes and stop is not StopReason.CANCELED else Status.FAILED
    if profile.success is Status.REVIEWED:
        if ended_by_model:
            return Status.REVIEWED
        return Status.PARTIAL if submission.review and submission.review.findings else Status.FAILED
    if files:
        return Status.CHANGED if ended_by_model else Status.PARTIAL
    return Status.NO_CHANGE if ended_by_model else Status.FAILED


def _stop(end: LoopEnd, verdict: Verdict | GateError, failing_checks: Sequence[CheckResult]) -> StopReason:
    if isinstance(verdict, OutOfCapacity):
        return StopReason.ERROR
    if isinstance(verdict, GateError) or (verdict.withheld and not verdict.files):
        return StopReason.GATE
    if end.stop is StopReason.END_TURN and failing_checks:
        return StopReason.CHECKS_FAILING
    return end.stop


def _reason(
    profile: Profile, result: Status, stop: StopReason, end: LoopEnd, verdict: Verdict | GateError
) -> str:
    """One or two sentences for people: why the run ended and, without a result, why there is none."""
    if isinstance(verdict, OutOfCapacity):
        return sentence(f"The gate could not check the change: {verdict}")
    if isinstance(verdict, GateError):
        return sentence(f"The gate refused the diff: {verdict}")
    if stop is StopReason.GATE:
        rows = "; ".join(plain(line, "`") for line in islice(held_back(verdict.withheld), _NAMED))
        return f"Everything that changed was withheld: {rows}."
    if stop is StopReason.CHECKS_FAILING:
        return "The model ended its turn, and a check fails with its change."
    if SUBMIT_PLAN in profile.results and result is Status.FAILED and stop is StopReason.END_TURN:
        return "The model ended its turn without a plan."
    if not verdict.files and not profile.read_only and stop is StopReason.END_TURN:
        return "The model ended its turn without changing a file."
    return sentence(end.reason)
