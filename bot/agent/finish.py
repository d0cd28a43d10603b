"""When a conversation ends, with the sentences for people."""

from __future__ import annotations

from typing import NamedTuple

from bot.agent.usage import SessionUsage
from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import money
from bot.contracts.messages import FinishReason
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits

_MIB = 1024 * 1024


class Stop(NamedTuple):
    """Why a session ends; `reason` is one sentence for people."""

    stop: StopReason
    reason: str


def ending(response: Complete | Failed, cancel: CancelToken, limits: RunLimits) -> Stop | None:
    """Return the stop if the conversation ends with `response`. A fired cancel token has priority."""
    if cancel.fired:
        return cancel_stop(cancel, limits)
    if isinstance(response, Failed):
        return Stop(StopReason.PROVIDER_ERROR, response.message)
    if response.finish is FinishReason.ERROR:
        word = response.raw_reason or response.finish.value
        if response.refusal:
            return Stop(
                StopReason.PROVIDER_ERROR, f"The model refused to answer ({word}): {response.refusal}."
            )
        return Stop(StopReason.PROVIDER_ERROR, f'The model\'s API ended the answer with "{word}".')
    # Calls run all the same: the one that was cut off is answered with an error that says so.
    if response.finish is FinishReason.MAX_TOKENS and not response.message.calls:
        return Stop(StopReason.MAX_TOKENS, "The model reached its output limit in the middle of its answer.")
    return None


def cancel_stop(cancel: CancelToken, limits: RunLimits) -> Stop:
    """Return the stop for a fired token."""
    if cancel.reason == "time":
        return Stop(StopReason.TIME, _time_sentence(limits))
    return Stop(StopReason.CANCELED, "The run was canceled.")


def limit_stop(limits: RunLimits, used: SessionUsage, seconds: float) -> Stop | None:
    """Return a stop if a limit forbids a further request; `seconds` is the run's duration so far."""
    usage, cost = used.usage, used.cost
    if limits.turns is not None and used.requests >= limits.turns:
        return Stop(StopReason.TURNS, f"The limit of {limits.turns} turns is reached.")
    if limits.tokens is not None and usage.total >= limits.tokens:
        return Stop(
            StopReason.BUDGET, f"The limit of {limits.tokens} tokens is reached: {usage.total} are used."
        )
    if limits.cost_usd is not None and cost >= limits.cost_usd:
        return Stop(
            StopReason.BUDGET, f"The budget of {money(limits.cost_usd)} is spent: the run cost {money(cost)}."
        )
    if limits.minutes is not None and seconds >= limits.minutes * 60:
        return Stop(StopReason.TIME, _time_sentence(limits))
    return command_limit_stop(limits, used)


def command_limit_stop(limits: RunLimits, used: SessionUsage) -> Stop | None:
    """Return a stop if a limit forbids a further command; also checked between the calls of one turn."""
    if limits.commands is not None and used.commands >= limits.commands:
        return Stop(StopReason.BUDGET, f"The limit of {limits.commands} commands is reached.")
    if limits.output is not None and used.output >= limits.output:
        return Stop(
            StopReason.BUDGET, f"The limit of {limits.output / _MIB:g} MiB of output of commands is reached."
        )
    return None


def _time_sentence(limits: RunLimits) -> str:
    return (
        "The time limit is reached."
        if limits.minutes is None
        else (f"The time limit of {limits.minutes:g} minutes is reached.")
    )
