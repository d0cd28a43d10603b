"""What a run used, its limits, the reminders to the model before a limit ends the run (S-120), and when a conversation
ends, with the sentences for people."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bot.contracts.cancel import CancelToken
from bot.contracts.formatting import money
from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits


@dataclass
class SessionUsage:
    """Requests, tokens, USD, commands, and the commands' output in bytes."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    commands: int = 0
    output: int = 0

    def add(self, usage: Usage, cost: float) -> None:
        self.usage += usage
        self.cost += cost


NOTICE_AT = 3
"""Number of remaining requests at which the model is told."""

_MIB = 1024 * 1024


class Stop(NamedTuple):
    """Why a session ends; `reason` is one sentence for people."""

    stop: StopReason
    reason: str


class LimitShare(NamedTuple):
    """The used share of one limit, from 0 on, its text ("$4.10 of $5.00"), and the stop once all of it is used."""

    limit: str
    used: float
    words: str
    stop: Stop


def limit_shares(limits: RunLimits, used: SessionUsage, seconds: float) -> tuple[LimitShare, ...]:
    """Return the share of each limit that is set; `seconds` is the run's duration so far."""
    usd, output = limits.cost_usd or 0, limits.output and limits.output / _MIB
    places = 2 if usd >= 1 else 4
    cost = f"{money(used.cost, places)} of {money(usd, places)}"
    budget_sentence = f"The budget of {money(usd)} is spent: the run cost {money(used.cost)}."
    reached, budget = "The limit of {} is reached.", StopReason.BUDGET
    rows = (
        (used.requests, limits.turns, "{} of {} turns", StopReason.TURNS, reached),
        (used.usage.total, limits.tokens, "{} of {} tokens", budget, reached),
        (used.cost, limits.cost_usd, cost, budget, budget_sentence),
        (seconds / 60, limits.minutes, "{:.1f} of {:g} minutes", StopReason.TIME, _time_sentence(limits)),
        (used.commands, limits.commands, "{} of {} commands", budget, reached),
        (used.output / _MIB, output, "{:.1f} of {:g} MiB of output", budget, reached),
    )
    shares = []
    for amount, limit, form, stop, reason in rows:
        if limit is not None:
            words = form.format(amount, limit)
            whole = words.partition(" of ")[2]
            share = amount / limit if limit > 0 else 1.0
            shares.append(LimitShare(whole, share, words, Stop(stop, reason.format(whole))))
    return tuple(shares)


def limit_stop(limits: RunLimits, used: SessionUsage, seconds: float) -> Stop | None:
    """Return a stop if a limit forbids a further request."""
    return next((share.stop for share in limit_shares(limits, used, seconds) if share.used >= 1), None)


def cancel_stop(cancel: CancelToken, limits: RunLimits) -> Stop:
    """Return the stop for a fired token."""
    if cancel.reason == "time":
        return Stop(StopReason.TIME, _time_sentence(limits))
    return Stop(StopReason.CANCELED, "The run was cancelled.")


def _time_sentence(limits: RunLimits) -> str:
    if limits.minutes is None:
        return "The time limit is reached."
    return f"The time limit of {limits.minutes:g} minutes is reached."


def ending(response: Complete | Failed, cancel: CancelToken, limits: RunLimits) -> Stop | None:
    """Return the stop if the conversation ends with `response`. A fired cancel token has priority."""
    if cancel.fired:
        return cancel_stop(cancel, limits)
    if isinstance(response, Failed):
        return Stop(StopReason.PROVIDER_ERROR, response.message)
    if response.finish is FinishReason.ERROR:
        word = response.raw_reason or response.finish.value
        refused = f"The model refused to answer ({word}): {response.refusal}."
        ended = f'The model\'s API ended the answer with "{word}".'
        return Stop(StopReason.PROVIDER_ERROR, refused if response.refusal else ended)
    # Calls run all the same: the one that was cut off is answered with an error that says so.
    if response.finish is FinishReason.MAX_TOKENS and not response.message.calls:
        return Stop(StopReason.MAX_TOKENS, "The model reached its output limit in the middle of its answer.")
    return None


_ADVICE = {
    0.80: "Begin nothing new that is not needed.",
    0.90: "Finish what you have begun, and see that the tree is in a state that can be kept.",
    0.95: "Come to an end now, and hand over what you have.",
}


class LimitReminder:
    """Creates each reminder of a conversation once, for each step of each limit."""

    def __init__(self) -> None:
        self._steps: dict[str, float] = {}

    def reminder(self, shares: Sequence[LimitShare]) -> str:
        """Return the text that follows a turn's results when a limit has reached 80, 90 or 95 %; otherwise ""."""
        steps = {
            share.limit: max((step for step in _ADVICE if share.used >= step), default=0.0)
            for share in shares
        }
        if all(step <= self._steps.get(limit, 0.0) for limit, step in steps.items()):
            return ""
        self._steps.update(steps)
        near = ", ".join(share.words for share in shares if share.used >= min(_ADVICE))
        advice = _ADVICE[max(steps.values())]
        return f"(Used so far: {near}. At the limit the run ends with what is in the work tree. {advice})"


class RequestState(NamedTuple):
    """State of the next request. `requests_left` counts the remaining requests including it; `None` for no
    limit. `first`: it is the first of the conversation. `handed_over`: the result of the run exists."""

    requests_left: int | None
    first: bool = False
    handed_over: bool = False


def requests_left_notice(state: RequestState, results: Sequence[str]) -> str:
    """Return the text that follows a turn's results when few requests are left; otherwise ""."""
    if state.requests_left == 1:
        only = (
            f"Only {' and '.join(results)} can be called in it" if results else "No tool can be called in it"
        )
        return f"(Your next answer is the last. {only}: say what you have.)"
    if state.requests_left != NOTICE_AT:
        return ""
    how = f" with {' or '.join(results)}" if results else ""
    return (
        f"(Only {NOTICE_AT} more answers of yours fit this run's limit of turns. Come to an end, and hand over what "
        f"you have{how}.)"
    )
