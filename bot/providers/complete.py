"""One whole answer where nobody watches it come: a title, a summary. Drains the stream, so there is no second path."""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Failed, Retrying
from bot.contracts.model import ModelRequest, Provider


def complete(
    provider: Provider,
    request: ModelRequest,
    cancel: CancelToken,
    retrying: Callable[[Retrying], None] = lambda event: None,
) -> Complete | Failed:
    """The last event of the response to `request`. `retrying` is called before each wait for another attempt."""
    last: Complete | Failed | None = None
    # To its very end: an adapter left early would drop the connection that the next request wants.
    for event in provider.stream(request, cancel):
        if isinstance(event, Complete | Failed):
            last = event
        elif isinstance(event, Retrying):
            retrying(event)
    return last or Failed("The stream ended without its last event.", canceled=cancel.fired)
