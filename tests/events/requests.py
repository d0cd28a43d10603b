"""What comes of an event, as a value: its request, a refusal, or the reason why it asks for nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from bot.contracts.errors import ExitCode
from bot.contracts.request import Request
from bot.events import resolve_request
from bot.events.event_request import NO_INPUTS, EventRequest, NoRequestError, RefusedError, WorkflowInputs
from bot.events.read_event import read_event
from bot.github.client import GitHub
from bot.policy.settings import Policy
from tests.support.threads import Threads, write_payload


class Event(NamedTuple):
    name: str
    payload: Any


@dataclass(frozen=True)
class NoRequest:
    reason: str


@dataclass(frozen=True)
class Refusal:
    reason: str
    in_thread: bool
    exit_code: ExitCode = ExitCode.REFUSED


Answer = TypeVar("Answer", Request, Refusal, NoRequest)


def expect(kind: type[Answer], answer: object) -> Answer:
    assert isinstance(answer, kind), answer
    return answer


def parse_event_request(event: Event, inputs: WorkflowInputs = NO_INPUTS) -> EventRequest | NoRequest:
    with TemporaryDirectory() as folder:
        try:
            return read_event(event.name, write_payload(Path(folder), event.payload), inputs)
        except NoRequestError as error:
            return NoRequest(error.reason)


def asked(name: str, payload: object, inputs: WorkflowInputs = NO_INPUTS) -> EventRequest:
    parsed = parse_event_request(Event(name, payload), inputs)
    assert isinstance(parsed, EventRequest), parsed
    return parsed


def build_request(
    event: Event, reader: GitHub, load_policy: Callable[[], Policy], *, inputs: WorkflowInputs = NO_INPUTS
) -> Request | Refusal | NoRequest:
    parsed = parse_event_request(event, inputs)
    if isinstance(parsed, NoRequest):
        return parsed
    if isinstance(reader, Threads):
        reader.remember(parsed)
    try:
        return resolve_request.build_request(parsed, reader, load_policy())
    except NoRequestError as error:
        return NoRequest(error.reason)
    except RefusedError as error:
        return Refusal(str(error), error.in_thread, error.exit_code)
