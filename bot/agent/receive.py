"""Receive one response from a provider, and estimate missing usage.

Some servers report no tokens, and for an interrupted response vendors report the input and little of the output.
Without an estimate, neither the limits on tokens and money nor compaction would take effect.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from bot.agent.conversation_context import ConversationContext
from bot.agent.message_history import fixed_tokens, tokens_of
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.idle import IdleReporter
from bot.contracts.messages import Message, Usage
from bot.contracts.model import Complete, Failed, ModelRequest, OnRetry, Provider, Retrying, unreported


@contextmanager
def _within(cancel: CancelToken, seconds: float) -> Iterator[CancelToken]:
    """A token that fires with `cancel`, or after `seconds`."""
    token = CancelToken()
    forget = cancel.on_fire(lambda: token.fire(cancel.reason))
    try:
        with token.firing_after(seconds):
            yield token
    finally:
        forget()


def receive(
    context: ConversationContext,
    provider: Provider,
    request: ModelRequest,
    retrying: OnRetry = unreported,
    seconds: float | None = None,
) -> Complete | Failed:
    """Return the response to `request`, which may take `seconds`. Every error of the provider becomes a `Failed`.
    `retrying` is called before the wait for another attempt."""
    discarded, silence = Usage(), IdleReporter("the provider", context.hooks.idle)

    def report(event: Retrying) -> None:
        nonlocal discarded
        discarded += partial_usage(event, request)
        silence.reset(event.delay)
        retrying(event)

    limit = nullcontext(context.cancel) if seconds is None else _within(context.cancel, seconds)
    try:
        with silence.waiting(), limit as cancel:
            response = provider.respond(request, cancel, report)
    except AgentError:
        raise  # of `retrying`: the journal cannot be written
    except Exception as error:  # noqa: BLE001  An adapter's bug ends the session with what it has, not the process.
        message = f"The provider broke: {type(error).__name__}: {error}."
        response = Failed(message, canceled=context.cancel.fired)
    return with_usage(response, request)._replace(discarded=discarded)


def with_usage(response: Complete | Failed, request: ModelRequest) -> Complete | Failed:
    """Return `response` with its reported or estimated usage."""
    if isinstance(response, Failed):
        return response._replace(usage=partial_usage(response, request))
    if response.usage.total:
        return response
    return response._replace(usage=_estimated_usage(request, response.message))


def partial_usage(event: Failed | Retrying, request: ModelRequest) -> Usage:
    """Return the usage of an interrupted response. One without any content counts as reported."""
    if event.partial is None:
        return event.usage
    if not event.usage.total:
        return _estimated_usage(request, event.partial)
    return event.usage._replace(output=max(event.usage.output, tokens_of(event.partial)))


def _estimated_usage(request: ModelRequest, message: Message) -> Usage:
    input_tokens = fixed_tokens(request.system, request.tools) + sum(map(tokens_of, request.messages))
    return Usage(input=input_tokens, output=tokens_of(message))
