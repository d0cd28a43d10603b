"""Who takes what the supervisor sends: the worker between two calls, a thread while it is busy."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator

import pytest

from bot.contracts import wire
from bot.toolhost.serve import Incoming, Message
from tests.support.workspaces import eventually


class Host:
    """The pipe, and what came of the words that are no work."""

    def __init__(self) -> None:
        self.there, self.supervisor = os.pipe()
        self.heard: list[tuple[object, bool]] = []
        self.gone = threading.Event()
        self.incoming = Incoming(self.there, self._deal_with, self.gone.set)
        self.incoming.start()

    def send(self, *messages: Message) -> None:
        for message in messages:
            wire.send(self.supervisor, message)

    def _deal_with(self, message: Message) -> bool:
        if message["type"] == "cancel":
            self.heard.append((message["id"], threading.current_thread() is threading.main_thread()))
        return message["type"] == "cancel"


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    if not made.gone.is_set():
        made.incoming.busy()
        os.close(made.supervisor)
        assert made.gone.wait(30)
    os.close(made.there)


def call(number: int) -> Message:
    return {"type": "call", "id": number}


def cancel(number: int) -> Message:
    return {"type": "cancel", "id": number}


def test_the_worker_that_is_not_busy_takes_each_frame_itself(host: Host) -> None:
    host.send(call(1), cancel(1), call(2))
    assert [host.incoming.next(), host.incoming.next()] == [call(1), call(2)]
    assert host.heard == [(1, True)]


def test_while_it_is_busy_a_cancel_arrives_and_calls_wait_in_their_order(host: Host) -> None:
    host.send(call(1))
    assert host.incoming.next() == call(1)
    host.incoming.busy()
    host.send(call(2), call(3), cancel(1))
    assert eventually(lambda: host.heard == [(1, False)])
    host.send(cancel(2), call(4))
    assert eventually(lambda: host.heard == [(1, False), (2, False)])
    assert [host.incoming.next() for _ in range(3)] == [call(2), call(3), call(4)]


def test_what_comes_when_it_is_busy_no_more_is_its_own_again(host: Host) -> None:
    for number in range(1, 200, 2):
        host.incoming.busy()
        host.send(call(number))
        assert host.incoming.next() == call(number)
        host.send(cancel(number), call(number + 1))
        assert host.incoming.next() == call(number + 1)
    assert [heard[0] for heard in host.heard] == [*range(1, 200, 2)]


def test_a_frame_that_came_in_halves_is_read_by_one_of_them(host: Host) -> None:
    host.incoming.busy()
    frame = wire.encode(call(1))
    os.write(host.supervisor, frame[:2])
    assert eventually(lambda: not select.select([host.there], [], [], 0)[0])  # the thread has them
    threading.Timer(0.1, os.write, (host.supervisor, frame[2:])).start()
    assert host.incoming.next() == call(1)


@pytest.mark.parametrize("last", [b"", b"\0", b"\0\0\0\x02{"])
def test_the_end_of_the_pipe_is_heard_of_while_it_is_busy(host: Host, last: bytes) -> None:
    host.incoming.busy()
    os.write(host.supervisor, last)
    os.close(host.supervisor)
    assert host.gone.wait(30)
    assert host.incoming.next() is None
