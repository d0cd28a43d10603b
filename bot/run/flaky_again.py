"""All of a check that got worse once more, on a fresh tree, before the change is blamed for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.evidence.detect import Check
from bot.evidence.flaky import NO_TIME, is_to_be_run_again
from bot.evidence.ran import Ran
from bot.run.checks import Wanted, run_checks
from bot.run.trees import Trees


def checks_again(
    name: str, tree_sha: str, checks: Sequence[Check], before: Sequence[Ran], after: Sequence[Ran], trees: Trees,
    cancel: CancelToken, left: Callable[[], float], say: Callable[[str], None], origin: str = "",
) -> tuple[dict[int, Ran], dict[int, str]]:  # fmt: skip
    """The second runs of those that are due, by the number of the check; or why there is none. `left` is the seconds
    that may still be spent."""
    seconds: dict[int, Ran] = {}
    notes: dict[int, str] = {}
    for number, check in enumerate(checks):
        if not is_to_be_run_again(before[number], after[number]) or cancel.fired:
            continue
        limit = left()
        if limit < max(after[number].run.duration, 1):
            notes[number] = NO_TIME
            continue
        say(f"run again, since it may be flaky: {check.command}")
        try:
            with trees.for_checks(f"{name}-{number + 1}", cancel, tree_sha) as workshop:
                [seconds[number]] = run_checks(workshop, [check], cancel, origin, Wanted(limit=limit))
        except AgentError as error:
            notes[number] = f"it could not be run again: {error}"
    return seconds, notes
