"""One run of one check with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.outcome import CheckRun
from bot.evidence.coverage import Measured
from bot.evidence.tests import Reading


@dataclass(frozen=True, slots=True)
class Ran:
    """How a check ended, and its tests by name where there were any to read. `again` are those of a second run, in the
    same place, of what had failed; `measured` is the coverage of the changed lines, where there is any. The base, where
    it failed, may have `passed_in_peace`: in another run of all of it."""

    run: CheckRun
    reading: Reading | None = None
    again: Reading | None = None
    measured: Measured | None = None
    passed_in_peace: bool = False
