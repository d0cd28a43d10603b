"""Run the checks of a policy once at HEAD, each within a limit, in the sandbox that a run would get: for `init` and
`doctor`, so that checks are known to work before anybody relies on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bot.agent.journal import Journal
from bot.checkout.clone import Source, prepare
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.model import Provider
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.request import Actor, Request, Tier, Verb
from bot.evidence.detect import Check
from bot.evidence.reruns import Ran
from bot.gate.detect import Detector
from bot.gate.redact import Redactor
from bot.policy.load import load_policy
from bot.run.base import checks_of
from bot.run.checks import Wanted, run_checks
from bot.run.folder import RunFolder, new_folder
from bot.run.parts import Run
from bot.run.secrets import known_secrets
from bot.run.signals import cancelled_by_signals
from bot.run.skills import begin_to_find
from bot.run.terms import Job
from bot.workshop.client.wall import choose
from bot.workshop.client.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Trial:
    """How one check ended. `tests` is the number that ran or were skipped, `None` if nobody says."""

    name: str
    command: str
    run: CheckRun
    tests: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """`begin` is told what is waited for and the seconds that it may take, 0 if there is no limit; `end` how it
    ended and after how many seconds."""

    begin: Callable[[str, float], None]
    end: Callable[[str, float], None]


def try_checks(
    repo: Path, policy: str, environment: Mapping[str, str], progress: Progress, limit: float
) -> list[Trial]:
    """One result for each check of the policy with the text `policy`; `limit` is in seconds, for each. If the setup
    fails, no check has been run and each says why; after a signal the rest is left out. Raises an `AgentError` if there
    is no commit or no sandbox."""
    stop = CancelToken()
    folder = new_folder(environment)
    try:
        with cancelled_by_signals(stop):
            return _try(_job(repo, folder, environment), policy, stop, progress, limit)
    finally:
        folder.drop()


def _job(repo: Path, folder: RunFolder, environment: Mapping[str, str]) -> Job:
    request = Request(Verb.FIX, "", Actor("you", 0, Tier.LOCAL), "", "", str(repo))
    return Job(request, Source(str(repo), "HEAD"), folder, _no_model, environment, origin=repo)


def _no_model() -> Provider:
    raise UsageError("No model takes part in trying the checks.")


def _try(job: Job, policy_text: str, stop: CancelToken, progress: Progress, limit: float) -> list[Trial]:
    policy = load_policy(policy_text)
    checkout = prepare(job.source, job.folder.root, history=policy.history)
    checks = checks_of(policy, checkout, None)
    with ExitStack() as stack:
        detector = Detector(Redactor(known_secrets(job.environment)))
        journal = stack.enter_context(Journal(job.folder.journal, detector.kept))
        confinement = choose(job.sandbox).confinement
        skills = begin_to_find(checkout)
        run = Run(job, checkout, policy, confinement, journal, detector, stop, stack, skills)
        origin = "" if confinement.moves else str(job.origin)
        try:
            run.trees.begin(stop)
            if policy.setup or policy.bring:
                began = time.monotonic()
                progress.begin("setup", sum(step.timeout for step in policy.setup))
                run.trees.outfit()  # waits for it
                progress.end("done", time.monotonic() - began)
            with run.trees.for_checks("try", stop) as workshop:
                tried = [_one(workshop, check, stop, origin, progress, limit) for check in checks]
                return [trial for trial in tried if trial is not None]
        except AgentError as error:
            progress.end("failed", 0)
            note = str(error)
            trials = [
                Trial(check.name, check.command, CheckRun(CheckState.NOT_RUN, note=note)) for check in checks
            ]
            return [] if stop.fired else trials


def _one(
    workshop: Workshop, check: Check, stop: CancelToken, origin: str, progress: Progress, limit: float
) -> Trial | None:
    """`None` if a signal came before its end."""
    if stop.fired:
        return None
    progress.begin(check.name, min(limit, check.timeout))
    began = time.monotonic()
    [ran] = run_checks(workshop, [check], stop, origin, Wanted(limit=lambda number: limit))
    progress.end("stopped" if stop.fired else word(ran.run), time.monotonic() - began)
    return None if stop.fired else Trial(check.name, check.command, ran.run, _number(ran))


def _number(ran: Ran) -> int | None:
    counts = ran.reading.counts if ran.reading else None
    return counts.passed + counts.failed + counts.skipped if counts else None


def word(run: CheckRun) -> str:
    """The result in a word or two."""
    return {
        CheckState.PASSED: "passed",
        CheckState.FAILED: "failed",
        CheckState.TIMED_OUT: "too slow",
        CheckState.NOT_RUNNABLE: "not runnable",
        CheckState.NO_SOCKETS: "needs network",
        CheckState.NOT_RUN: "not run",
    }[run.state]
