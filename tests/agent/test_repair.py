"""What a journal recorded can be gone on with, wherever its run died and whatever became of its lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.compaction import CompactionInput, SummaryCompaction
from bot.agent.journal import Journal, JournalFile, JournalLine, read_journal
from bot.agent.loop import ConversationContext, Hooks, run_loop
from bot.agent.message_history import MessageHistory
from bot.agent.repair import DIED_BEFORE_CALL, DIED_IN_CALL, ConversationError, rebuild_conversation
from bot.agent.toolbox import Permission, Toolbox
from bot.contracts import journal as lines
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.messages import FinishReason, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, Failed, ModelRequest, OnRetry, unreported
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolOutcome, ToolSpec
from tests.support.scripted import ScriptedProvider, Turn, call, says
from tests.support.sessions import SYSTEM, Bench, header, results_of, spec

SEALED = Thinking("hm", "signature")


class AtTurn(SummaryCompaction):
    """Makes the conversation shorter before the request of turn 4."""

    def due(self, turn: int, held: int) -> bool:
        return turn == 4

    def overflowed(self, turn: int, held: int) -> bool:
        return False

    def shorten(self, situation: CompactionInput, cancel: CancelToken) -> tuple[lines.CompactionRecord, str]:
        places = [n for n, message in enumerate(situation.messages) if message.role == "assistant"]
        return lines.CompactionRecord(situation.turn, "what was done so far", places[-1]), ""


def echo(text: str, call_id: str) -> ToolCall:
    return call("echo", f'{{"text": "{text}"}}', call_id)


def eventful(folder: Path) -> Bench:
    """A run with everything in it: thinking, two calls at once, a denial, a call that was cut off, one id twice,
    texts of the host, a summary, and a stream that broke."""
    said = iter(["One check fails.", None])
    broken = Message("assistant", (Text("I see: "), call("echo", '{"te', "h", complete=False)))
    return Bench(
        [
            says(SEALED, "Look.", echo("one", "a"), echo("two", "b")),
            says(echo("three", "a"), call("danger", "{}", "d")),
            says(
                echo("x", "e"),
                call("echo", '{"text": "ha', "f", complete=False),
                finish=FinishReason.MAX_TOKENS,
            ),
            says(Thinking("more", "s2"), echo("four", "g")),
            says("Done."),
            says("Mended.", echo("five", "g")),
            Failed("The stream broke.", partial=broken, usage=Usage(7)),
        ],
        folder,
        tools={"danger": lambda arguments, cancel: ToolOutcome("never")},
        deny=frozenset({"danger"}),
        hooks=Hooks(
            before_end=lambda: next(said),
            after_results=lambda info: ("Mind the list.",) if info.turn == 2 else (),
        ),
        compaction=AtTurn,
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, JournalFile]:
    bench = eventful(tmp_path_factory.mktemp("eventful"))
    bench.run("mend what the picture shows", (Image("image/png", b"\x89PNG\0bytes", "picture 1"),))
    return bench, bench.journal()


def cut(file: JournalFile, count: int) -> JournalFile:
    return file._replace(lines=file.lines[:count], everything=file.lines[:count])


def of(*records: lines.Record, masked: int = -1) -> JournalFile:
    made = tuple(JournalLine(n + 2, 0.0, n == masked, record) for n, record in enumerate(records))
    return JournalFile(header(), made, "", made)


def assert_valid(messages: Sequence[Message]) -> None:
    """A vendor would take it, and so does a history."""
    history = MessageHistory()
    for message in messages:
        assert history.add(message) == message
    history.add_user("go on")
    assert len(history.view()) == len(messages) + 1
    assert not messages or messages[0].role == "user"
    ids = [item.id for message in messages for item in message.calls]
    assert len(ids) == len(set(ids))
    assert all(ids)
    for message, following in itertools.pairwise(messages):
        assert [item.id for item in message.calls] == [item.call_id for item in results_of(following)]
    assert not messages or not messages[-1].calls


def test_the_conversation_before_each_request_is_the_one_that_was_sent(
    recorded: tuple[Bench, JournalFile],
) -> None:
    bench, file = recorded
    places = [n for n, line in enumerate(file.lines) if isinstance(line.record, lines.RequestSent)]
    assert len(places) == len(bench.provider.requests) == 7
    for place, sent in zip(places, bench.provider.requests, strict=True):
        assert list(rebuild_conversation(cut(file, place)).messages) == sent
    assert SEALED in rebuild_conversation(cut(file, places[2])).messages[1].parts


def test_every_prefix_of_a_journal_can_be_gone_on_with(recorded: tuple[Bench, JournalFile]) -> None:
    _, file = recorded
    for count in range(len(file.lines) + 1):
        assert_valid(rebuild_conversation(cut(file, count)).messages)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_journal_whose_lines_were_shuffled_lost_or_doubled_is_mended_or_refused(
    recorded: tuple[Bench, JournalFile], data: st.DataObject
) -> None:
    kept = list(recorded[1].lines)
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(kept) - 1))
        match data.draw(st.sampled_from(["drop", "double", "move"])):
            case "drop":
                del kept[place]
            case "double":
                kept.insert(place, kept[place])
            case "move":
                kept.insert(data.draw(st.integers(0, len(kept) - 1)), kept.pop(place))
    file = recorded[1]._replace(lines=tuple(kept), everything=tuple(kept))
    try:
        messages = rebuild_conversation(file).messages
    except ConversationError:
        return
    assert_valid(messages)


TASK = lines.UserText(0, "mend it", "task")
ASKS = lines.Response(1, (echo("one", "a"), echo("two", "b")), "tool_use", "tool_use")


def answers(*records: lines.Record) -> list[tuple[str, str, bool]]:
    found = rebuild_conversation(of(TASK, ASKS, *records))
    assert_valid(found.messages)
    return [(item.call_id, item.content, item.is_error) for item in results_of(found.messages[2])]


def test_a_call_without_an_answer_is_answered_and_not_run() -> None:
    one = lines.Result(1, "a", "echo", "one")
    assert answers(lines.CallStarted(1, "a", "echo"), one, lines.CallStarted(1, "b", "echo")) == [
        ("a", "one", False), ("b", DIED_IN_CALL, True),
    ]  # fmt: skip
    assert answers(one) == [("a", "one", False), ("b", DIED_BEFORE_CALL, True)]


def test_answers_come_in_the_order_of_their_calls_and_once() -> None:
    one, two, again = (
        lines.Result(1, item, "echo", text) for item, text in (("a", "1"), ("b", "2"), ("a", "3"))
    )
    assert answers(two, one, again) == [("a", "1", False), ("b", "2", False)]


def test_an_answer_to_no_call_is_dropped_and_said() -> None:
    found = rebuild_conversation(of(TASK, ASKS, lines.Result(1, "zz", "echo", "lost")))
    assert "lost" not in str(found.messages)
    assert found.repairs == ("2 calls had no answer", "1 answer belonged to no call")


def test_one_id_twice_becomes_two_and_each_keeps_its_answer() -> None:
    twice = lines.Response(1, (echo("one", "a"), echo("two", "a")), "tool_use", "tool_use")
    found = rebuild_conversation(
        of(TASK, twice, lines.Result(1, "a", "echo", "1"), lines.Result(1, "a", "echo", "2"))
    )
    assert_valid(found.messages)
    assert [item.content for item in results_of(found.messages[2])] == ["1", "2"]


def test_a_request_that_was_never_answered_adds_nothing() -> None:
    found = rebuild_conversation(of(TASK, lines.RequestSent(1, 1), lines.ProviderRetry(1, 1, 0.1, "503")))
    assert [message.text for message in found.messages] == ["mend it"]
    assert found.repairs == ()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (of(TASK, ASKS, masked=1), "masked something in line 3"),
        (of(TASK, ASKS, lines.CompactionRecord(2, "sum", 9)), "Line 4 of the journal does not fit"),
        (of(ASKS), "what was asked first"),
        (of(TASK, lines.Response(1, (ToolResult("a", "echo", "mine"),), "", "")), "holds a ToolResult"),
        (of(TASK, lines.RecalledMessage("tool", (ToolResult("a", "echo", "mine"),))), "does not fit"),
    ],
)
def test_a_conversation_that_is_not_whole_is_refused_with_its_line(file: JournalFile, said: str) -> None:
    with pytest.raises(ConversationError, match=said) as caught:
        rebuild_conversation(file)
    assert isinstance(caught.value, UsageError)


def test_a_masked_line_that_was_never_spoken_is_no_trouble() -> None:
    assert len(rebuild_conversation(of(TASK, lines.Note("[masked]"), masked=1)).messages) == 1


@dataclass
class Watched(ScriptedProvider):
    """Keeps what it was shown of the tools, too."""

    shown: list[tuple[ToolSpec, ...]] = field(default_factory=list)

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        self.shown.append(tuple(request.tools))
        return super().respond(request, cancel)


NOW = spec("echo", {"text": {"type": "string"}})
THEN = NOW._replace(description="As it was described then.")


def go_on(path: Path, before: Sequence[Message], script: Sequence[Turn]) -> Watched:
    """A run that goes on from `before`; the code has since got a new description of its tool."""
    provider = Watched(script)
    handlers = {"echo": lambda arguments, cancel: ToolOutcome("ok")}
    toolbox = Toolbox((NOW,), handlers, lambda tool, arguments: Permission(True))
    with Journal(path, str) as journal:
        journal.write(header(tools=(THEN,)))
        end = run_loop(
            ConversationContext(
                provider, SYSTEM, toolbox, journal, RunLimits(), CancelToken(), before=before, tools=(THEN,)
            ),
            "and the tests?",
        )
    assert end.stop is StopReason.END_TURN
    return provider


def test_a_run_goes_on_from_the_messages_and_can_be_gone_on_with_itself(
    tmp_path: Path, recorded: tuple[Bench, JournalFile]
) -> None:
    before = rebuild_conversation(recorded[1]).messages
    provider = go_on(tmp_path / "j", before, [says(echo("x", "a")), says("Done.")])
    first = provider.requests[0]
    assert tuple(first[:-1]) == before
    assert first[-1].text == "and the tests?"
    again = rebuild_conversation(read_journal(tmp_path / "j")).messages
    assert list(again[:-1]) == provider.requests[-1]
    assert_valid(again)
