"""What comes of an event: the payload parsed, then the request built."""

from __future__ import annotations

from collections.abc import Callable

from bot.contracts.request import Request
from bot.contracts.threads import PullReader
from bot.events import resolve_request
from bot.events.event import Event
from bot.events.event_request import NO_INPUTS, NoRequest, Refusal, WorkflowInputs, parse_event_request
from bot.policy.values import Policy
from tests.support.threads import Threads


def build_request(
    event: Event,
    reader: PullReader,
    load_policy: Callable[[], Policy],
    *,
    inputs: WorkflowInputs = NO_INPUTS,
    tries: resolve_request.Tries | None = None,
) -> Request | Refusal | NoRequest:
    if isinstance(reader, Threads):
        reader.remember(event)
    parsed = parse_event_request(event, inputs)
    if isinstance(parsed, NoRequest):
        return parsed
    return resolve_request.build_request(parsed, reader, load_policy, tries=tries)
