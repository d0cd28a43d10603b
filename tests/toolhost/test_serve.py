"""What the supervisor sends: calls wait for the worker, the rest is handled at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from bot.contracts import wire
from bot.toolhost.serve import Incoming, Message


class Host:
    """The pipe, and what came of the words that are no work."""

    def __init__(self) -> None:
        self.there, self.supervisor = os.pipe()
        self.heard: list[object] = []
        self.gone = threading.Event()
        self.incoming = Incoming(self.there, self._deal_with, self.gone.set)
        self.incoming.start()

    def send(self, *messages: Message) -> None:
        for message in messages:
            wire.send(self.supervisor, message)

    def _deal_with(self, message: Message) -> bool:
        if message["type"] == "cancel":
            self.heard.append(message["id"])
        return message["type"] == "cancel"


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    if not made.gone.is_set():
        os.close(made.supervisor)
        assert made.gone.wait(30)
    os.close(made.there)


def call(number: int) -> Message:
    return {"type": "call", "id": number}


def cancel(number: int) -> Message:
    return {"type": "cancel", "id": number}


def test_a_cancel_arrives_during_a_call_and_calls_wait_in_their_order(host: Host) -> None:
    host.send(call(1))
    assert host.incoming.next() == call(1)
    host.send(call(2), call(3), cancel(1), cancel(2), call(4))
    assert [host.incoming.next() for _ in range(3)] == [call(2), call(3), call(4)]
    assert host.heard == [1, 2]


@pytest.mark.parametrize("last", [b"", b"\0", b"\0\0\0\x02{"])
def test_the_end_of_the_pipe_is_noticed(host: Host, last: bytes) -> None:
    os.write(host.supervisor, last)
    os.close(host.supervisor)
    assert host.gone.wait(30)
    assert host.incoming.next() is None
