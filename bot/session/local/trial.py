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
from bot.environment.detection import Detection
from bot.evidence.check import Check
from bot.evidence.reruns import CheckExecution
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.policy.load import load_policy
from bot.run.environment import granted_profile, run_environment
from bot.session.checks.runner import RunOptions, run_checks
from bot.session.context.base import checks_of, detected_at
from bot.session.context.run import Run, RunSpec
from bot.session.context.secrets import known_secrets
from bot.session.local.local_run import local_request
from bot.session.progress.interruption import cancelled_by_signals
from bot.session.run_folder import RunFolder, new_folder
from bot.verbs.registry import DEFAULT
from bot.workspace.client import Workspace
from bot.workspace.probe import choose


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one check. `tests` is the number that ran or were skipped, `None` if unknown."""

    name: str
    command: str
    run: CheckRun
    tests: int | None = None


@dataclass(frozen=True, slots=True)
class TrialCallbacks:
    """`begin(name, limit)` is called before the setup and before each check, with its time limit in seconds, 0 for
    none; `end(result, seconds)` after it."""

    begin: Callable[[str, float], None]
    end: Callable[[str, float], None]


def try_checks(
    repo: Path, policy: str, environment: Mapping[str, str], progress: TrialCallbacks, limit: float
) -> list[Trial]:
    """One result for each check of the policy with the text `policy`; `limit` is in seconds, for each. If the setup
    fails, no check has been run and each says why; after a signal the rest is left out. Raises an `AgentError` if there
    is no commit or no sandbox."""
    stop = CancelToken()
    folder = new_folder(environment)
    try:
        with cancelled_by_signals(stop):
            return _try(repo, policy, environment, folder, stop, progress=progress, limit=limit)
    finally:
        folder.drop()


def _no_model() -> Provider:
    raise UsageError("No model takes part in trying the checks.")


def _try(
    repo: Path,
    policy_text: str,
    environment: Mapping[str, str],
    folder: RunFolder,
    stop: CancelToken,
    *,
    progress: TrialCallbacks,
    limit: float,
) -> list[Trial]:
    policy, source = load_policy(policy_text), Source(str(repo), "HEAD")
    checkout = prepare(source, folder.root, history=policy.history)
    checks = checks_of(policy, None, Detection() if policy.checks else detected_at(checkout))
    with ExitStack() as stack:
        detector = Detector(Redactor(known_secrets(environment)))
        spec = RunSpec(
            request=local_request(DEFAULT, None, repo),
            source=source,
            folder=folder,
            connect=_no_model,
            environment=environment,
            origin=repo,
        )
        run = Run.of(
            spec,
            stop=stop,
            checkout=checkout,
            policy=policy,
            profile=granted_profile(spec, policy),
            confinement=choose(spec.sandbox).confinement,
            journal=stack.enter_context(Journal(folder.journal, detector.masked)),
            detector=detector,
        )
        trees = run_environment(run).trees
        stack.callback(trees.wait)
        origin = "" if run.confinement.moves else str(repo)
        try:
            trees.begin(stop)
            if policy.setup or policy.bring:
                started = time.monotonic()
                progress.begin("setup", sum(step.timeout for step in policy.setup))
                trees.environment()  # waits for it
                progress.end("done", time.monotonic() - started)
            with trees.for_checks("try", stop) as workspace:
                trials: list[Trial] = []
                for check in checks:
                    trial = _try_check(workspace, check, stop, origin, progress=progress, limit=limit)
                    trials += [trial] if trial is not None else []
                return trials
        except AgentError as error:
            progress.end("failed", 0)
            note = str(error)
            trials = [
                Trial(check.name, check.command, CheckRun(CheckState.NOT_RUN, note=note)) for check in checks
            ]
            return [] if stop.fired else trials


def _try_check(
    workspace: Workspace,
    check: Check,
    stop: CancelToken,
    origin: str,
    *,
    progress: TrialCallbacks,
    limit: float,
) -> Trial | None:
    """`None` if a signal came before its end."""
    if stop.fired:
        return None
    progress.begin(check.name, min(limit, check.timeout))
    started = time.monotonic()
    [execution] = run_checks(workspace, [check], stop, origin, RunOptions(limit=lambda number: limit))
    progress.end("stopped" if stop.fired else word(execution.run), time.monotonic() - started)
    return None if stop.fired else Trial(check.name, check.command, execution.run, _number(execution))


def _number(execution: CheckExecution) -> int | None:
    counts = execution.suite.counts if execution.suite else None
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
