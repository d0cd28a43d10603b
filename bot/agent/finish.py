"""What happens after a response: the closed table of S-047, as data, and the sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from bot.agent.spent import Spent
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Failed
from bot.contracts.limits import Limits
from bot.contracts.messages import Finish
from bot.contracts.outcome import StopReason
from bot.contracts.wording import money

_MIB = 1024 * 1024


class Stop(NamedTuple):
    """Why a session ends; `reason` is one sentence for people."""

    stop: StopReason
    reason: str


class Step(Enum):
    """What the loop does with a response."""

    RUN_CALLS = auto()
    MAY_END = auto()
    SAID_NOTHING = auto()


# (how the response ended, whether it holds calls) -> what follows. Calls run under `max_tokens` too: the one
# that was cut off is answered with an error that says so, the whole ones before it are as good as any.
_TABLE: Mapping[tuple[Finish, bool], Step | StopReason] = {
    (Finish.END_TURN, False): Step.MAY_END,
    (Finish.END_TURN, True): Step.RUN_CALLS,
    (Finish.TOOL_USE, False): Step.SAID_NOTHING,
    (Finish.TOOL_USE, True): Step.RUN_CALLS,
    (Finish.MAX_TOKENS, False): StopReason.MAX_TOKENS,
    (Finish.MAX_TOKENS, True): Step.RUN_CALLS,
    (Finish.CANCELED, False): StopReason.CANCELED,
    (Finish.CANCELED, True): StopReason.CANCELED,
    (Finish.PERMISSION_DENIED, False): StopReason.DENIED,
    (Finish.PERMISSION_DENIED, True): StopReason.DENIED,
    (Finish.ERROR, False): StopReason.PROVIDER_ERROR,
    (Finish.ERROR, True): StopReason.PROVIDER_ERROR,
}

_SENTENCES: Mapping[StopReason, str] = {
    StopReason.MAX_TOKENS: "The model reached its output limit in the middle of its answer.",
    StopReason.CANCELED: "The run was canceled.",
    StopReason.DENIED: "The model's API says that the request is not permitted.",
    StopReason.PROVIDER_ERROR: 'The model\'s API ended the answer with "{raw}".',
}


def after(response: Complete | Failed, cancel: CancelToken, limits: Limits) -> Step | Stop:
    """What follows `response`. A fired cancel token comes first, whatever the response says."""
    if cancel.fired:
        return canceled(cancel, limits)
    if isinstance(response, Failed):
        return Stop(StopReason.PROVIDER_ERROR, response.message)
    message = response.message
    follows = _TABLE[response.finish, bool(message.calls)]
    if isinstance(follows, StopReason):
        return Stop(follows, _SENTENCES[follows].format(raw=response.raw_reason or response.finish.value))
    if follows is Step.MAY_END and not message.text.strip():
        return Step.SAID_NOTHING
    return follows


def canceled(cancel: CancelToken, limits: Limits) -> Stop:
    """The end that a fired token asks for."""
    if cancel.reason == "time":
        return Stop(StopReason.TIME, _time_sentence(limits))
    return Stop(StopReason.CANCELED, _SENTENCES[StopReason.CANCELED])


def exceeded(limits: Limits, spent: Spent, seconds: float) -> Stop | None:
    """The limit that forbids a further request, if one does; `seconds` is how long the run has taken."""
    usage, cost = spent.usage, spent.cost
    if limits.turns is not None and spent.requests >= limits.turns:
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
    return commands_exceeded(limits, spent)


def commands_exceeded(limits: Limits, spent: Spent) -> Stop | None:
    """The limit that forbids a further command, if one does: looked at between the calls of one turn as well."""
    if limits.commands is not None and spent.commands >= limits.commands:
        return Stop(StopReason.BUDGET, f"The limit of {limits.commands} commands is reached.")
    if limits.output is not None and spent.output >= limits.output:
        return Stop(
            StopReason.BUDGET, f"The limit of {limits.output / _MIB:g} MiB of output of commands is reached."
        )
    return None


def _time_sentence(limits: Limits) -> str:
    return (
        "The time limit is reached."
        if limits.minutes is None
        else (f"The time limit of {limits.minutes:g} minutes is reached.")
    )
