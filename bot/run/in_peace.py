"""What timed out on the base while the agent was at work, once more when no command of its is alive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.evidence.detect import Check
from bot.evidence.ran import Ran
from bot.evidence.timed_out import is_to_be_tried_again, limit_of, tried_again
from bot.run.checks import Wanted, run_checks
from bot.run.trees import Trees

if TYPE_CHECKING:
    from bot.run.inspection import Inspection

Say = Callable[[str], None]


def checkers_in_peace(
    inspection: Inspection, tree_sha: str, trees: Trees, cancel: CancelToken, say: Say
) -> None:
    """Those that timed out or that the change turns out to concern. Where no workshop can be had it stays as it is."""
    say(f"run on the base, since there was no answer before: {', '.join(inspection.late(tree_sha))}")
    try:
        with trees.for_checks("checkers-in-peace", cancel) as workshop:
            inspection.look_again(workshop, tree_sha)
    except AgentError as error:
        say(f"the checkers could not be run again: {error}")


def checks_in_peace(
    checks: Sequence[Check], before: Sequence[Ran], after: Sequence[Ran], trees: Trees, cancel: CancelToken,
    left: Callable[[], float], say: Say, origin: str = "",
) -> dict[int, Ran]:  # fmt: skip
    """What the base is said to do of those that timed out on it and not with the change, by their number. `left` is
    the seconds that may still be spent."""
    found: dict[int, Ran] = {}
    for number, check in enumerate(checks):
        if not is_to_be_tried_again(before[number], after[number]) or cancel.fired:
            continue
        limit = limit_of(check.timeout, after[number])
        second = None
        if left() >= limit:
            say(f"run again on the base, where it timed out: {check.command}")
            try:
                with trees.for_checks(f"checks-in-peace-{number + 1}", cancel) as workshop:
                    [second] = run_checks(workshop, [check], cancel, origin, Wanted(limit=limit))
            except AgentError as error:
                say(f"it could not be run again: {error}")
        found[number] = tried_again(before[number], second)
    return found
