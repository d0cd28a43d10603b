"""The step after each response, as a closed table, and the sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
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


class Step(Enum):
    """What the loop does after a response."""

    RUN_CALLS = auto()
    MAY_END = auto()
    EMPTY = auto()


# (how the response ended, whether it holds calls) -> what follows. Calls run under `max_tokens` too: the one
# that was cut off is answered with an error that says so, the whole ones before it are as good as any.
_TABLE: Mapping[tuple[FinishReason, bool], Step | StopReason] = {
    (FinishReason.END_TURN, False): Step.MAY_END,
    (FinishReason.END_TURN, True): Step.RUN_CALLS,
    (FinishReason.TOOL_USE, False): Step.EMPTY,
    (FinishReason.TOOL_USE, True): Step.RUN_CALLS,
    (FinishReason.MAX_TOKENS, False): StopReason.MAX_TOKENS,
    (FinishReason.MAX_TOKENS, True): Step.RUN_CALLS,
    (FinishReason.ERROR, False): StopReason.PROVIDER_ERROR,
    (FinishReason.ERROR, True): StopReason.PROVIDER_ERROR,
}

_SENTENCES: Mapping[StopReason, str] = {
    StopReason.MAX_TOKENS: "The model reached its output limit in the middle of its answer.",
    StopReason.CANCELED: "The run was canceled.",
    StopReason.PROVIDER_ERROR: 'The model\'s API ended the answer with "{raw}".',
}


def next_step(response: Complete | Failed, cancel: CancelToken, limits: RunLimits) -> Step | Stop:
    """Return the step after `response`. A fired cancel token has priority."""
    if cancel.fired:
        return cancel_stop(cancel, limits)
    if isinstance(response, Failed):
        return Stop(StopReason.PROVIDER_ERROR, response.message)
    message = response.message
    step = _TABLE[response.finish, bool(message.calls)]
    if isinstance(step, StopReason):
        if isinstance(response, Complete) and response.refusal:
            return Stop(step, f"The model refused to answer ({response.raw_reason}): {response.refusal}.")
        return Stop(step, _SENTENCES[step].format(raw=response.raw_reason or response.finish.value))
    if step is Step.MAY_END and not message.text.strip():
        return Step.EMPTY
    return step


def cancel_stop(cancel: CancelToken, limits: RunLimits) -> Stop:
    """Return the stop for a fired token."""
    if cancel.reason == "time":
        return Stop(StopReason.TIME, _time_sentence(limits))
    return Stop(StopReason.CANCELED, _SENTENCES[StopReason.CANCELED])


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
            StopReason.BUDGET,
            f"The budget of {money(limits.cost_usd)} is spent: the run cost {money(cost)}.",
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
