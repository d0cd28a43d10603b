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


def no_access(login: str, verb: str, *, on_pull: bool, policy_file: str) -> str:
    """What somebody without access reads who wrote a command: the policy would let nobody of theirs."""
    noun = "pull request" if on_pull else "issue"
    return (
        f"Thanks for your interest, {login}. Only people with write access to this repository can start me here. A "
        f"maintainer can run `/agent {verb}` on this {noun}, or allow others in `{policy_file}`."
    )


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nobody asked for anything. `reason` is one sentence for the log."""

    reason: str
