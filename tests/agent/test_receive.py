"""A response as it arrives: its end, and what an interrupted one counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.agent.journal import Journal, read_journal
from bot.agent.receive import receive_response
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import ProviderRetry
from bot.contracts.messages import Message, Text, Usage
from bot.contracts.model import Complete, Event, Failed, ModelRequest, Retrying
from tests.support.scripted import ScriptedProvider, says
from tests.support.sessions import header


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "j", lambda text: text) as journal:
        journal.write(header())
        yield journal


def play(journal: Journal, *events: Event) -> Complete | Failed:
    class Plays(ScriptedProvider):
        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
            yield from events

    return receive_response(Plays(()), ModelRequest("", (), ()), CancelToken(), journal, 1)


def test_a_stream_that_just_stops_is_a_failure(journal: Journal) -> None:
    ended = play(journal)
    assert isinstance(ended, Failed)
    assert "without saying that it was whole" in ended.message


def test_an_answer_that_was_cut_counts_and_its_retry_is_written(journal: Journal) -> None:
    cut = Message("assistant", (Text("Half"),))
    ended = play(journal, Retrying(1, 0.0, "cut", cut, Usage(input=90)), says("Whole."))
    assert isinstance(ended, Complete)
    assert ended.usage == Usage(10, 0, 0, 5), "what the conversation holds"
    assert ended.discarded.input == 90
    assert ended.discarded.output > 0
    kept = [line.record for line in read_journal(journal.path).lines]
    assert kept == [ProviderRetry(1, 1, 0.0, "cut")]
