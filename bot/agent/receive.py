"""Read one response from a provider's event stream, and estimate missing usage.

Some servers report no tokens, and for an interrupted response vendors report the input and little of the
output. Without an estimate, neither the limits on tokens and money nor compaction would take effect.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from bot.agent.context_budget import tokens_of, tokens_of_text
from bot.agent.journal import Journal, SubJournal
from bot.contracts.cancel import CancelToken
from bot.contracts.capacity import retry_at_capacity
from bot.contracts.journal import ProviderRetry
from bot.contracts.messages import Message, Usage
from bot.contracts.model import Complete, Event, Failed, ModelRequest, Provider, Retrying

INCOMPLETE = "The model's API ended its answer without saying that it was whole."


def with_timeout(cancel: CancelToken, seconds: float) -> CancelToken:
    """Return a token that fires with `cancel`, or after `seconds`. To be fired at the end, which ends the timer."""
    token = CancelToken()
    timer = threading.Timer(seconds, token.fire, args=("time",))
    timer.daemon = True
    retry_at_capacity(timer.start)
    forget = cancel.on_fire(lambda: token.fire(cancel.reason))
    token.on_fire(timer.cancel)
    token.on_fire(forget)
    return token


def receive_response(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    journal: Journal | SubJournal,
    turn: int,
    *,
    retrying: Callable[[Retrying], None] = lambda event: None,
) -> Complete | Failed:
    """Return the response to `request`. Every error of the provider becomes a `Failed`.

    `retrying` is called before the wait for another attempt, and the journal receives a line of it.
    """

    def record(event: Retrying) -> None:
        journal.write(ProviderRetry(turn, event.attempt, event.delay, event.reason))
        retrying(event)

    return drain(provider, request, cancel, record)


def drain(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    retrying: Callable[[Retrying], None] = lambda event: None,
) -> Complete | Failed:
    """Return the response to a request that is no turn, as for a summary."""
    last: Complete | Failed | None = None
    discarded = Usage()
    # To its very end: an adapter left early would drop the connection that the next request wants.
    for event in _events(provider, request, cancel):
        if isinstance(event, Retrying):
            discarded += partial_usage(event, request)
            retrying(event)
        else:
            last = event
    last = with_usage(last or Failed(INCOMPLETE, canceled=cancel.fired), request)
    return replace(last, discarded=discarded)


def _events(provider: Provider, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
    try:
        yield from provider.stream(request, cancel)
    except Exception as error:  # noqa: BLE001  An adapter's bug ends the session with what it has, not the process.
        yield Failed(f"The provider broke: {type(error).__name__}: {error}.", canceled=cancel.fired)


def with_usage(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """Return `response` with its reported or estimated usage."""
    if isinstance(response, Failed):
        return replace(response, usage=partial_usage(response, request))
    return (
        response
        if response.usage.total
        else replace(response, usage=_estimated_usage(request, response.message))
    )


def partial_usage(event: Failed | Retrying, request: ModelRequest) -> Usage:
    """Return the usage of an interrupted response. One without any content counts as reported."""
    if event.partial is None:
        return event.usage
    if not event.usage.total:
        return _estimated_usage(request, event.partial)
    return replace(event.usage, output=max(event.usage.output, tokens_of(event.partial)))


def _estimated_usage(request: ModelRequest, message: Message) -> Usage:
    tools = sum(
        tokens_of_text(json.dumps([one.name, one.description, one.parameters])) for one in request.tools
    )
    input_tokens = tokens_of_text(request.system) + tools + sum(map(tokens_of, request.messages))
    return Usage(input=input_tokens, output=tokens_of(message))
