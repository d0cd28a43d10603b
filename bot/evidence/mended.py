"""Whether a change mended a check, or the base failed it for another reason, such as a machine that was busy with the
agent's own commands.

Pure. A failure that names what the change touched is taken for what it says. Of any other the base is asked once more
when nothing of the agent's is alive: what passes then was flaky and is not mended.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from bot.contracts.outcome import CheckState
from bot.evidence.ran import Ran

TOGETHER = 240.0
"""Seconds for all checks of a round that are asked again."""

PASSED_IN_PEACE = "run again on the base when nothing else of the run was running it passed"
TOO_LONG = "it takes too long to be run again on the base, so whether it is flaky is not known"
NOT_ASKED = "it could not be run again on the base, so whether it is flaky is not known"


def is_to_be_asked_again(before: Ran, after: Ran, changed: Collection[str]) -> bool:
    """Whether it looks mended, and neither its failing tests nor its output name a file of `changed`."""
    if (before.run.state, after.run.state) != (CheckState.FAILED, CheckState.PASSED):
        return False
    failed = before.reading.failed if before.reading else frozenset()
    said = "\n".join([before.run.tail, *failed])
    return not failed or not any(_names(said, path) for path in changed)


def asked_again(before: Ran, second: Ran | None) -> Ran:
    """What the base is said to do; `second` is `None` where it could not be run."""
    state = second.run.state if second is not None else CheckState.NOT_RUN
    if state is CheckState.FAILED:
        return before
    if state is CheckState.PASSED:
        return replace(doubted(before, PASSED_IN_PEACE), passed_in_peace=True)
    return doubted(before, NOT_ASKED)


def doubted(before: Ran, why: str) -> Ran:
    return replace(before, run=replace(before.run, note="; ".join(filter(None, [before.run.note, why]))))


def _names(said: str, path: str) -> bool:
    module = path.rpartition(".")[0].replace("/", ".")
    return _stands_in(path, said) or ("." in module and _stands_in(module, said))


def _stands_in(name: str, said: str) -> bool:
    """As a whole: a new file called `a` is not named by every failure there is."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", said) is not None
