"""The one line of the journal that holds all that was run before and after, as it is told in the outcome."""

from __future__ import annotations

from bot.contracts import journal as lines
from bot.contracts.outcome import Outcome


def evidence(outcome: Outcome) -> lines.Evidence | None:
    """`None` where there is none."""
    found = lines.Evidence(outcome.checks, outcome.diagnostics, outcome.servers, outcome.coverage)
    return found if any(found) else None
