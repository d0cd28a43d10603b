"""A conversation that fills the window is made shorter before the next request, inside the loop (S-167, S-168)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.compaction import TRIES, SummaryCompaction, split_index, usable_tokens
from bot.agent.conversation_context import Hooks, LoopEnd
from bot.agent.message_history import HistoryError, MessageHistory, tokens_of
from bot.agent.recorded_calls import submitted
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import CompactionRecord, Response, Result
from bot.contracts.messages import Message, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, Failed, ModelRequest, OnRetry, unreported
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolOutcome, ToolSpec
from tests.support.scripted import INFO, ScriptedProvider, call, says
from tests.support.sessions import Bench, journal_of, results_of

SMALL = INFO._replace(context_window=20_000, max_output=2_000)
BIG = "x" * 3_200  # 800 tokens


@dataclass
class Narrow(ScriptedProvider):
    """Counts as a vendor does. A request for a summary gets the next of `summaries`, the last of them for ever."""

    summaries: Sequence[Complete | Failed] = (says("## Decided\n- Cents."),)
    refuses_over: int = 10**9
    asked_to_sum_up: list[ModelRequest] = field(default_factory=list)

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        if not request.tools:
            self.asked_to_sum_up.append(request)
            return self.summaries[min(len(self.asked_to_sum_up), len(self.summaries)) - 1]
        held = sum(map(tokens_of, request.messages))
        assert held <= self.info.context_window
        if held > self.refuses_over:
            return Failed("prompt is too long", 400, overflow=True)
        end = super().respond(request, cancel)
        if isinstance(end, Complete):
            return end._replace(usage=Usage(held, 0, 0, tokens_of(end.message)))
        return end


def echoes(times: int, size: str = BIG) -> list[Complete]:
    return [says(call("echo", f'{{"text": "{n} {size}"}}', f"c{n}")) for n in range(times)]


def bench(folder: Path, script: Sequence[Complete], hooks: Hooks | None = None, **model: object) -> Bench:
    def make(turns: Sequence[object]) -> ScriptedProvider:
        return Narrow(turns, SMALL, **model)  # type: ignore[arg-type]

    return Bench(script, folder, hooks=hooks or Hooks(), model=make)


def ran(bench: Bench) -> LoopEnd:
    return bench.run("the task, word for word")


def compactions(bench: Bench) -> list[CompactionRecord]:
    return list(bench.journal().records(CompactionRecord))


def test_it_is_made_shorter_before_it_is_full_and_the_task_stays_word_for_word(tmp_path: Path):
    here = bench(tmp_path, [*echoes(30), says("Done.")])
    assert ran(here).stop is StopReason.END_TURN
    made = compactions(here)
    assert len(made) >= 2
    assert all(one.before > usable_tokens(SMALL) > one.after for one in made)
    for request in here.provider.requests:
        assert sum(map(tokens_of, request)) <= usable_tokens(SMALL) + 3_000
        assert request[0].text == "the task, word for word"
    after = here.provider.requests[made[0].turn - 1]
    assert "- Cents." in after[1].text
    assert after[2].role == "assistant"


def test_a_conversation_that_handed_over_its_result_is_not_made_shorter(tmp_path: Path):
    here = bench(tmp_path, [*echoes(12), says("Done.")], Hooks(has_result=lambda: True))
    assert ran(here).stop is StopReason.END_TURN
    assert sum(map(tokens_of, here.provider.requests[-1])) > usable_tokens(SMALL)
    assert compactions(here) == []


def test_a_summary_is_made_of_the_ends_of_long_results_and_without_tools(tmp_path: Path):
    long = "h" * 2_500 + "m" * 2_500 + "t" * 2_500
    here = bench(tmp_path, [*echoes(14, long), says("Done.")])
    ran(here)
    assert isinstance(here.provider, Narrow)
    asked = here.provider.asked_to_sum_up[0]
    assert asked.tools == ()
    parts = asked.messages[0].text.split("\n\n[")
    assert max(map(len, parts)) < 2_200
    assert "h" * 1_000 in asked.messages[0].text
    assert "t" * 600 in asked.messages[0].text


def test_only_what_is_new_is_summed_up_the_second_time(tmp_path: Path):
    here = bench(tmp_path, [*echoes(30), says("Done.")])
    ran(here)
    assert isinstance(here.provider, Narrow)
    first, second = (one.messages[0].text for one in here.provider.asked_to_sum_up[:2])
    assert "0 xxx" in first
    assert "0 xxx" not in second.replace("10 xxx", "")
    assert "- Cents." in second


def test_files_and_what_is_carried_are_kept_without_the_models_help(tmp_path: Path):
    def touch(arguments: object, cancel: CancelToken) -> ToolOutcome:
        return ToolOutcome(BIG, metadata={"path": "a.py", "before_hash": "1", "after_hash": "2"})

    def look(arguments: object, cancel: CancelToken) -> ToolOutcome:
        return ToolOutcome(BIG, metadata={"path": "b.py", "before_hash": "1", "after_hash": "1"})

    turns = [says(call(name, "{}", f"c{n}")) for n, name in enumerate(["edit", "view"] * 2)]
    turns += echoes(20)
    here = bench(
        tmp_path, [*turns, says("Done.")], Hooks(verbatim_texts=lambda: ["The open list:\n1. [ ] Cents"])
    )
    here.tools, here.writing = {"edit": touch, "view": look}, ("edit", "view")
    ran(here)
    text = compactions(here)[0].text
    assert "- Files read: `b.py`" in text
    assert "- Files changed: `a.py`" in text
    assert "1. [ ] Cents" in text


def test_the_whole_transcript_is_kept_and_named(tmp_path: Path):
    kept: list[str] = []

    def archive(text: str) -> str:
        kept.append(text)
        return "/run/transcript-1.txt"

    here = bench(tmp_path, [*echoes(30), says("Done.")])
    here.more = {"archive": archive}
    ran(here)
    assert "the task, word for word" in kept[0]
    assert f"0 {BIG}" in kept[0]
    assert "searched or viewed: /run/transcript-1.txt" in compactions(here)[0].text


BAD = {
    "empty": says(" \n"),
    "longer than what it sums up": says("y" * 200_000),
    "failed": Failed("the server is down", 503),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_summary_is_asked_for_again(tmp_path: Path, name: str):
    here = bench(tmp_path, [*echoes(12), says("Done.")], summaries=[BAD[name], says("## Decided\n- Cents.")])
    assert ran(here).stop is StopReason.END_TURN
    assert "- Cents." in compactions(here)[0].text


@pytest.mark.parametrize("name", BAD)
def test_three_bad_summaries_end_the_session_with_what_it_has(tmp_path: Path, name: str):
    here = bench(tmp_path, [*echoes(14), says("Done.")], summaries=[BAD[name]])
    end = ran(here)
    assert end.stop is StopReason.MAX_TOKENS
    assert "3 summaries failed" in end.reason
    assert isinstance(here.provider, Narrow)
    assert len(here.provider.asked_to_sum_up) == TRIES == 3
    assert "summaries failed" in compactions(here)[0].failure


def test_a_session_that_fills_the_window_again_and_again_ends(tmp_path: Path):
    here = bench(tmp_path, [*echoes(30, "x" * 50_000)])
    end = ran(here)
    assert end.stop is StopReason.MAX_TOKENS
    assert "within 3 turns" in end.reason or "nothing that could be left out" in end.reason


def test_a_task_that_fills_the_window_alone_says_so(tmp_path: Path):
    here = bench(tmp_path, [says("Done.")])
    end = here.run("t" * 79_000)
    assert end.stop is StopReason.MAX_TOKENS
    assert "holds nothing that could be left out" in end.reason
    assert here.provider.requests == []


def test_a_conversation_that_the_model_finds_too_long_is_made_shorter_and_sent_once_more(tmp_path: Path):
    here = bench(tmp_path, [*echoes(9), says("Done.")], refuses_over=9_000)
    end = ran(here)
    assert (end.stop, end.turns) == (StopReason.END_TURN, 10)
    assert compactions(here)


@pytest.mark.parametrize(("kind", "kept"), [("adaptive", False), ("budget", True), ("effort", True)])
def test_thinking_that_is_tied_to_what_was_before_it_goes_with_that(tmp_path: Path, kind: str, kept: bool):
    thought = Thinking("hm", "s")
    turns = [says(thought, call("echo", f'{{"text": "{n} {BIG}"}}', f"c{n}")) for n in range(12)]
    here = bench(tmp_path, [])
    here.provider = Narrow([*turns, says("Done.")], SMALL._replace(thinking=kind))
    ran(here)
    [made] = compactions(here)
    behind = here.provider.requests[made.turn - 1][2:]
    assert any(thought in message.parts for message in behind) is kept


def test_a_cancel_during_the_summary_ends_as_canceled(tmp_path: Path):
    class Canceled(Narrow):
        def respond(
            self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
        ) -> Complete | Failed:
            if not request.tools:
                cancel.fire("signal")
            return super().respond(request, cancel)

    here = bench(tmp_path, [])
    here.provider = Canceled([*echoes(14), says("Done.")], SMALL, summaries=(Failed("canceled"),))
    assert ran(here).stop is StopReason.CANCELED


def turns(*sizes: int) -> list[Message]:
    made = [Message("user", (Text("task"),))]
    for number, size in enumerate(sizes):
        made.append(Message("assistant", (ToolCall(f"c{number}", "echo", "{}"),)))
        made.append(Message("tool", (ToolResult(f"c{number}", "echo", "x" * size),)))
    return made


@given(st.lists(st.integers(0, 60_000), max_size=12), st.integers(0, 30_000))
def test_a_cut_keeps_whole_turns_within_the_limit(sizes: list[int], keep: int):
    messages = turns(*sizes)
    first = split_index(messages, keep)
    kept = messages[first:]
    assert sum(map(tokens_of, kept)) <= keep
    assert not kept or kept[0].role == "assistant"
    longer = messages[first - 2 :]
    assert first <= 2 or sum(map(tokens_of, longer)) > keep


def history(messages: Sequence[Message]) -> MessageHistory:
    made = MessageHistory()
    made.add_user(messages[0].text)
    for message in messages[1:]:
        if message.role == "assistant":
            made.add_assistant(message, 1)
        else:
            made.add_results(results_of(message))
    return made


def test_a_view_of_an_earlier_request_stays_as_it_is():
    here = history(turns(10, 20, 30))
    before = here.view()
    kept = list(before)
    here.shorten("sum", 5)
    assert list(before) == kept
    assert [one.role for one in here.view()] == ["user", "user", "assistant", "tool"]


WRONG: dict[str, Callable[[MessageHistory], None]] = {
    "a result without its call": lambda made: made.shorten("sum", 4),
    "nothing left out": lambda made: made.shorten("sum", 1),
    "past the end": lambda made: made.shorten("sum", 99),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_cut_in_the_wrong_place_is_a_bug_of_ours(name: str):
    with pytest.raises(HistoryError):
        WRONG[name](history(turns(10, 20, 30)))


def test_after_an_overflow_four_fifths_of_what_was_refused_are_taken_for_the_window():
    context: Any = SimpleNamespace(provider=ScriptedProvider(()))
    summaries = SummaryCompaction(context)
    assert not summaries.due(8_000)
    assert summaries.overflowed(1, 8_000)
    assert (summaries.due(6_400), summaries.due(6_401)) == (False, True)
    assert not summaries.overflowed(1, 8_000), "once for one request"
    assert summaries.overflowed(2, 20_000)
    assert summaries.due(6_401), "the window does not grow again"


# The history


def asking(*ids: str) -> MessageHistory:
    history = MessageHistory()
    history.add_user("go")
    history.add_assistant(Message("assistant", tuple(ToolCall(name, "ls", "{}") for name in ids)), 1)
    return history


def results(*ids: str) -> list[ToolResult]:
    return [ToolResult(name, "ls", "ok") for name in ids]


@pytest.mark.parametrize("given", [(), ("a",), ("b", "a"), ("a", "a"), ("a", "b", "b"), ("a", "x")])
def test_only_one_answer_to_each_call_in_order_is_taken(given: tuple[str, ...]):
    with pytest.raises(HistoryError):
        asking("a", "b").add_results(results(*given))


def test_nothing_is_sent_or_said_while_a_call_waits():
    history = asking("a")
    with pytest.raises(HistoryError, match="a request"):
        history.view()
    with pytest.raises(HistoryError, match="a user message"):
        history.add_user("well?")
    with pytest.raises(HistoryError, match="an assistant message"):
        history.add_assistant(Message("assistant", (Text("hm"),)), 2)
    history.add_results(results("a"))
    assert [message.role for message in history.view()] == ["user", "assistant", "tool"]


def test_a_message_without_parts_is_not_kept():
    history = MessageHistory()
    history.add_user("go")
    history.add_assistant(Message("assistant", ()), 1)
    assert len(history.view()) == 1


@pytest.mark.parametrize("thoughts", [True, False])
def test_what_stands_behind_a_summary_keeps_its_thinking_only_if_that_is_wanted(thoughts: bool):
    history = asking("a")
    history.add_results(results("a"))
    history.add_assistant(Message("assistant", (Thinking("hm", "s"), Text("two"))), 2)
    history.shorten("the summary", 3, thoughts=thoughts)
    assert [message.text for message in history.view()] == ["go", "the summary", "two"]
    assert len(history.view()[2].parts) == 1 + thoughts


def test_the_size_is_the_vendors_count_and_an_estimate_of_what_came_since():
    history = MessageHistory(100)
    history.add_user("a" * 4_000)
    assert history.tokens == 1_108
    asked = Message("assistant", (Text("a" * 4_000), ToolCall("i", "ls", "{}")))
    history.add_assistant(asked, 1, 5_000)
    assert history.tokens == 5_000
    history.add_results([ToolResult("i", "ls", "a" * 4_000)])
    assert history.tokens == 6_008
    history.add_assistant(Message("assistant", (Text("a" * 4_000),)), 2)
    assert history.tokens == 7_016
    history.shorten("a" * 4_000, 4)
    assert history.tokens == 100 + 2 * 1_008, "an older count means nothing"


BASH = ToolSpec("bash", "", {"type": "object", "properties": {"command": {"type": "string"}}})
TURN_1 = Response(
    1,
    (ToolCall("c1", "bash", '{"command": "x"}'), ToolCall("c2", "edit", '{"path": "a.py"}')),
    "tool_use",
    "",
)
RESULTS = (Result(1, "c1", "bash", "ok"), Result(1, "c2", "edit", "edited"))


def test_the_calls_of_one_tool_come_in_order_with_their_results(tmp_path: Path):
    second = Response(2, (ToolCall("c1", "bash", '{"command": "y"}'),), "tool_use", "")
    result = Result(2, "c1", "bash", "done")
    calls = submitted(journal_of(tmp_path, TURN_1, *RESULTS, second, result), BASH)
    assert list(calls) == [({"command": "x"}, RESULTS[0]), ({"command": "y"}, result)]


@pytest.mark.parametrize(
    "result", [(), (Result(1, "c1", "bash", "no", is_error=True),)], ids=["died", "refused"]
)
def test_a_call_without_a_good_result_submitted_nothing(tmp_path: Path, result: tuple[Result, ...]):
    assert list(submitted(journal_of(tmp_path, TURN_1, *result, RESULTS[1]), BASH)) == []
