"""Run the checks of a repository, each time in a workshop and a tree of their own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contracts.cancel import CancelToken
from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.evidence.detect import Check
from bot.evidence.judge import judge_run
from bot.evidence.moved import concerns, question, reason
from bot.run import limits_met
from bot.workshop.client.workshop import Workshop

_HIGHEST = 255
_LOOK_LIMIT = 30
_SHOWN = 300


def whole(command: str, seconds: float) -> dict[str, str | int]:
    """Arguments that run a command of the repository by itself: a `cd` in it does not carry over to the next."""
    return {"command": f"(\n{command}\n)", "timeout": max(round(seconds), 1)}


def run_checks(
    workshop: Workshop, checks: Sequence[Check], cancel: CancelToken, origin: str = ""
) -> tuple[CheckRun, ...]:
    """Run each check in turn in `workshop`; one result a check, in order. A fired `cancel` leaves the rest not run.

    `origin` is the repository's own path where the tree cannot be shown there: what is installed by that path is other
    code than the change's.
    """
    moved = _moved(workshop, checks, cancel, origin) if origin else ""
    return tuple(_run_one(workshop, check, cancel, moved) for check in checks)


def _moved(workshop: Workshop, checks: Sequence[Check], cancel: CancelToken, origin: str) -> str:
    """Why checks of Python code would say nothing here; empty where they would."""
    if cancel.fired or not any(concerns(check.command) for check in checks):
        return ""
    found = workshop.call("bash", whole(question(origin), _LOOK_LIMIT), cancel).content.splitlines()
    return (
        reason(found[0][:_SHOWN], origin) if found and found[0].startswith((".", "/", "venv", "env")) else ""
    )


def _run_one(workshop: Workshop, check: Check, cancel: CancelToken, moved: str) -> CheckRun:
    if cancel.fired:
        return CheckRun(CheckState.NOT_RUN, note="the run was cancelled before this check")
    if moved and concerns(check.command):
        return CheckRun(CheckState.NOT_RUNNABLE, note=moved)
    began = time.monotonic()
    outcome = workshop.call("bash", whole(check.command, check.timeout), cancel)
    if cancel.wait(0):
        return CheckRun(CheckState.NOT_RUN, note="the run was cancelled during this check")
    # Measured here, and no number of the host's that no process could have ended with: the check ran code that
    # the agent wrote, beside the host.
    duration = round(time.monotonic() - began, 4)
    timed_out = outcome.metadata.get("timed_out") is True
    limit = limits_met.WORDS.get(str(outcome.metadata.get("limit")), "")
    return judge_run(
        _exit_code(outcome.metadata), outcome.content, duration, timed_out=timed_out, limit=limit
    )


def _exit_code(facts: Mapping[str, Any]) -> int | None:
    code = facts.get("exit_code")
    return code if type(code) is int and -_HIGHEST <= code <= _HIGHEST else None


def pair(
    checks: Sequence[Check], before: Sequence[CheckRun], after: Sequence[CheckRun] | None
) -> tuple[CheckResult, ...]:
    """Each check with both its runs; without an after-run it is marked as not run."""
    not_run = CheckRun(CheckState.NOT_RUN, note="there was nothing to check")
    later = after if after is not None else [not_run] * len(checks)
    return tuple(
        CheckResult(check.name, check.command, first, second, check.detected)
        for check, first, second in zip(checks, before, later, strict=True)
    )
