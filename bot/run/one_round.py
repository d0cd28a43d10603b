"""One round of checks, the checkers before them, in a workshop over a new tree. Where there is no workshop there is no
evidence, and that is said: it never fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.outcome import CheckRun, CheckState
from bot.evidence.detect import Check
from bot.evidence.ran import Ran
from bot.run.checks import Wanted, run_checks
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.run.inspection import Inspection


def one_round(
    name: str, tree_sha: str | None, checks: Sequence[Check], wanted: Wanted, inspection: Inspection | None,
    trees: Trees, cancel: CancelToken, origin: str = "",
) -> tuple[Ran, ...]:  # fmt: skip
    """One result a check, in order, over the base or `tree_sha`; what the checkers find is kept by `inspection`."""
    if not checks and inspection is None:
        return ()
    try:
        with trees.for_checks(name, cancel, tree_sha) as workshop:
            if inspection is None or inspection.look(workshop, tree_sha) or not checks:
                return run_checks(workshop, checks, cancel, origin, wanted)
        # A checker brought its workshop down: the checks get another.
        with trees.for_checks(f"{name}-again", cancel, tree_sha) as workshop:
            return run_checks(workshop, checks, cancel, origin, wanted)
    except AgentError as error:
        # The checks are evidence, not the job.
        return not_run(checks, str(error))


def not_run(checks: Sequence[Check], why: str) -> tuple[Ran, ...]:
    return tuple(Ran(CheckRun(CheckState.NOT_RUN, note=why)) for _ in checks)
