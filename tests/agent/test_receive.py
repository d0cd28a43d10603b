"""A response as it arrives: few journal lines, none that cuts a secret in two, none lost at a block's end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.agent.journal import Journal, read_journal
from bot.agent.receive import DeltaWriter, receive_response
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import CallOpened, Delta, ProviderRetry
from bot.contracts.messages import FinishReason, Message, Text, Thinking, ToolCall, Usage
from bot.contracts.model import Complete, Event, Failed, ModelRequest, Retrying, TextDelta
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from tests.support.scripted import ScriptedProvider, call, says
from tests.support.sessions import header

SECRET = "sk-ant-0123456789-abcdef"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "j", lambda text: text.replace(SECRET, "[masked]")) as journal:
        journal.write(header())
        yield journal


def deltas(journal: Journal) -> list[Delta]:
    return list(read_journal(journal.path).records(Delta))


def play(journal: Journal, *events: Event) -> Complete | Failed:
    class Plays(ScriptedProvider):
        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
            yield from events

    return receive_response(Plays(()), ModelRequest("", (), ()), CancelToken(), journal, 1)


def test_many_deltas_become_few_lines(journal: Journal) -> None:
    writer = DeltaWriter(journal, 1, clock=lambda: 0.0)
    for _ in range(1000):
        writer.add("text", "word ")
    writer.flush()
    kept = deltas(journal)
    assert "".join(delta.text for delta in kept) == "word " * 1000
    assert len(kept) == 5


def test_what_waited_a_tenth_of_a_second_is_written_but_for_its_end(journal: Journal) -> None:
    now = iter([0.0, 0.05, 0.2, 0.35])
    writer = DeltaWriter(journal, 1, clock=lambda: next(now))
    writer.add("text", "a" * 600)
    assert deltas(journal) == []
    writer.add("text", "b" * 12)
    assert [delta.text for delta in deltas(journal)] == ["a" * 100]
    writer.add("text", "c" * 500)
    assert [delta.text for delta in deltas(journal)] == ["a" * 100, "a" * 500]


HEX = SECRET.encode().hex()

WRAPPED = "-----BEGIN PRIVATE KEY-----\n" + f"{'MIIEvQ' * 8}\n" * 20 + "-----END PRIVATE KEY-----"


@pytest.mark.parametrize("hidden", [SECRET, HEX, WRAPPED], ids=["plain", "hex", "key"])
def test_a_secret_is_masked_wherever_the_chunks_cut_it(tmp_path: Path, hidden: str) -> None:
    detector = Detector(Redactor({"A_KEY": SECRET}))
    before, after = "Some words. " * 20, " And more." * 30
    whole = f"{before}{hidden}"
    for cut in range(0, len(hidden) + 1, 1 if len(hidden) < 100 else 97):
        clock = iter(range(10_000)).__next__
        with Journal(tmp_path / f"{cut}", detector.masked) as journal:
            journal.write(header())
            writer = DeltaWriter(journal, 1, clock=clock)
            at = len(before) + cut
            for chunk in (whole[:at], whole[at:], after, after):
                writer.add("text", chunk)
            writer.flush()
            shown = "".join(delta.text for delta in deltas(journal))
        assert shown == detector.masked(f"{whole}{after}{after}"), cut
        assert "[redacted" in shown


def test_each_block_is_kept_apart_and_ends_with_a_line(journal: Journal) -> None:
    parts = (Thinking("let me"), Text("Look."), call("ls", '{"a": 1}', "c1"), call("ls", '{"b": 2}', "c2"))
    provider = ScriptedProvider([says(*parts)])
    receive_response(provider, ModelRequest("", (), ()), CancelToken(), journal, 1)
    kept = [line.record for line in read_journal(journal.path).lines]
    assert kept == [
        Delta(1, "thinking", "let me"),
        Delta(1, "text", "Look."),
        CallOpened(1, 2, "c1", "ls"),
        Delta(1, "arguments", '{"a": 1}', 2),
        CallOpened(1, 3, "c2", "ls"),
        Delta(1, "arguments", '{"b": 2}', 3),
    ]


def test_what_had_arrived_of_a_failed_answer_is_written(journal: Journal) -> None:
    partial = Message("assistant", (Text("I was"), ToolCall("a", "ls", '{"pa', complete=False)))
    provider = ScriptedProvider([Failed("gone", partial=partial)])
    assert isinstance(receive_response(provider, ModelRequest("", (), ()), CancelToken(), journal, 1), Failed)
    assert [delta.text for delta in deltas(journal)] == ["I was", '{"pa']


def test_the_time_to_the_first_token_is_measured_from_the_request_on(journal: Journal) -> None:
    class Plays(ScriptedProvider):
        def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
            yield from (TextDelta("a"), Retrying(1, 1.0, "cut"), TextDelta("a"), TextDelta("b"))
            yield Complete(Message("assistant", (Text("ab"),)), FinishReason.END_TURN, "", Usage())

    now = iter([10.0, 10.5, 12.25])
    last = receive_response(
        Plays(()), ModelRequest("", (), ()), CancelToken(), journal, 1, clock=lambda: next(now)
    )
    assert isinstance(last, Complete)
    assert last.first_token == 2.25


def test_a_stream_that_just_stops_is_a_failure(journal: Journal) -> None:
    ended = play(journal, TextDelta("Hi"))
    assert isinstance(ended, Failed)
    assert "without saying that it was whole" in ended.message
    assert [delta.text for delta in deltas(journal)] == ["Hi"]


def test_an_answer_that_was_cut_counts_and_its_words_are_written_before_the_retry(journal: Journal) -> None:
    cut = Message("assistant", (Text("Half"),))
    ended = play(journal, TextDelta("Half"), Retrying(1, 0.0, "cut", cut, Usage(input=90)), says("Whole."))
    assert isinstance(ended, Complete)
    assert ended.usage == Usage(10, 0, 0, 5), "what the conversation holds"
    assert ended.discarded.input == 90
    assert ended.discarded.output > 0
    kept = [line.record for line in read_journal(journal.path).lines]
    assert kept == [Delta(1, "text", "Half"), ProviderRetry(1, 1, 0.0, "cut")]
