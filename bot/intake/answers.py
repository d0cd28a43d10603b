"""What is said where no request comes of an event."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """Somebody will not get what they asked. `reason` is one line: for the thread where `said`, else the log."""

    reason: str
    said: bool
    exit_code: ExitCode = ExitCode.REFUSED


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nobody asked for anything. `reason` is one sentence for the log."""

    reason: str
