"""Run the checks of a policy once at HEAD, each within a limit, in the sandbox that a run would get: for `init` and
`doctor`, so that checks are known to work before anybody relies on them."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bot.checkout.clone import Source
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckRun, CheckState
from bot.gate.redact import Redactor
from bot.gate.secrets import known_secrets
from bot.run.parts import make_parts
from bot.run.run import read_base
from bot.session.checks.runner import CheckRunner
from bot.session.context.run import RunSpec
from bot.session.interruption import Say, cancelled_by_signals
from bot.session.local.fix import local_request
from bot.session.run_folder import new_folder
from bot.verbs.registry import DEFAULT
from bot.workspace.probe import choose


class Trial(NamedTuple):
    """The result of one check. `tests` is the number that ran or were skipped, `None` if unknown."""

    name: str
    command: str
    run: CheckRun
    tests: int | None = None


def try_checks(
    repo: Path, policy_text: str, environment: Mapping[str, str], say: Say, limit: float
) -> list[Trial]:
    """One result for each check of the policy with the text `policy_text`; `limit` is in seconds, for each. `say` gets
    a line before each. If the setup fails, no check has been run and each says why; after a signal the rest is left
    out. Raises an `AgentError` if there is no commit or no sandbox."""
    stop, folder = CancelToken(), new_folder(environment)
    try:
        with cancelled_by_signals(stop), ExitStack() as stack:
            spec = RunSpec(
                request=local_request(DEFAULT, None, repo),
                source=Source(str(repo), "HEAD"),
                folder=folder,
                environment=environment,
                origin=repo,
                policy_text=policy_text,
            )
            redactor = Redactor(known_secrets(environment))
            run = read_base(stop, spec, None, redactor, partial(choose, spec.sandbox), stack)
            parts, trials = make_parts(run), list[Trial]()
            trees, checks = parts.trees, parts.rounds.checks
            origin = "" if run.confinement.moves else str(repo)
            try:
                stack.callback(trees.wait)
                trees.begin()
                if run.policy.setup or run.policy.bring:
                    say("setup ...")
                    trees.environment()  # waits for it
                with trees.for_checks("try", stop) as workspace:
                    for one in checks:
                        if stop.fired:
                            break
                        say(f"{one.name} ...")
                        execution = CheckRunner(workspace, stop, origin).run(one, limit=lambda: limit)
                        number = (counts.ran + counts.skipped) if (counts := execution.counts) else None
                        if not stop.fired:
                            trials.append(Trial(one.name, one.command, execution.run, number))
                return trials
            except AgentError as error:
                not_run = CheckRun(CheckState.NOT_RUN, note=str(error))
                return [] if stop.fired else [Trial(one.name, one.command, not_run) for one in checks]
    finally:
        folder.drop()
