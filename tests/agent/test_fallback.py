"""Another model answers when the conversation's own is unavailable, and only before anything of an answer was shown."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.agent.ask_for_title import title_change
from bot.agent.conversation_context import ConversationContext, Files, LoopEnd
from bot.agent.journal import Journal, read_journal
from bot.agent.toolbox import Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import BudgetChanged, CompactionRecord, ModelChanged, RequestSent, ResponseFailed
from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolOutcome
from tests.agent.test_compaction import SMALL, Narrow, echoes
from tests.support.scripted import INFO, ScriptedProvider, Turn, call, says
from tests.support.sessions import Bench, header

DEAR = INFO._replace(name="scripted/dear", output_price=100.0)
DOWN = Failed("the server is overloaded (529)", 529, unavailable=True)
ONE_CALL = says(call("echo", '{"text": "a"}'), usage=Usage(0, 0, 0, 1_000))


def bench(folder: Path, script: list[Any], *others: ScriptedProvider, **more: Any) -> Bench:
    rest = iter(others)
    asked: list[str] = []

    def fallback(reason: str) -> ScriptedProvider | None:
        asked.append(reason)
        return next(rest, None)

    made = Bench(script, folder, more={"fallback": fallback, **more.pop("more", {})}, **more)
    made.asked_for_fallback = asked  # type: ignore[attr-defined]
    return made


def asked_for(bench: Bench) -> list[str]:
    reasons: list[str] = bench.asked_for_fallback  # type: ignore[attr-defined]
    return reasons


def test_it_answers_for_the_rest_with_its_own_price_and_the_journal_says_so(tmp_path: Path):
    other = ScriptedProvider([says("Done.", usage=Usage(0, 0, 0, 1_000))], DEAR)
    here = bench(tmp_path, [ONE_CALL, DOWN], other, limits=RunLimits(turns=2))
    end = here.run()
    assert (end.stop, end.turns, end.cost) == (StopReason.END_TURN, 2, pytest.approx(0.105))
    assert [message.role for message in other.requests[0]] == ["user", "assistant", "tool"]
    assert asked_for(here) == [DOWN.message]
    journal = here.journal()
    assert list(journal.records(ModelChanged)) == [ModelChanged(2, "scripted/dear", DOWN.message)]
    assert [line.turn for line in journal.records(RequestSent)] == [1, 2, 2]
    assert [line.status for line in journal.records(ResponseFailed)] == [529]


def test_one_after_another_is_asked_and_the_last_failure_is_told(tmp_path: Path):
    last = DOWN._replace(message="this one limits the rate (429)", status=429)
    here = bench(tmp_path, [DOWN], ScriptedProvider([DOWN], DEAR), ScriptedProvider([last], DEAR))
    end = here.run()
    assert (end.stop, end.reason) == (StopReason.PROVIDER_ERROR, last.message)
    assert len(asked_for(here)) == 3


@pytest.mark.parametrize(
    "failure",
    [
        DOWN._replace(unavailable=False),
        Failed("the key was refused (401)", 401),
        Failed("invalid (400)", 400),
        Failed("canceled", canceled=True),
        says("", raw="refusal", finish=FinishReason.ERROR)._replace(refusal="category 'cyber'"),
    ],
)
def test_no_other_failure_asks_another_model(tmp_path: Path, failure: Failed | Complete):
    here = bench(tmp_path, [failure], ScriptedProvider([says("Done.")], DEAR))
    end = here.run()
    assert end.stop is StopReason.PROVIDER_ERROR
    assert asked_for(here) == []
    if isinstance(failure, Complete):
        assert end.reason == "The model refused to answer (refusal): category 'cyber'."


def test_a_smaller_window_is_kept_to_before_the_other_model_is_asked(tmp_path: Path):
    big = INFO._replace(context_window=100_000, max_output=2_000)
    other = Narrow([says("Done.")], SMALL._replace(name="scripted/small"))
    here = bench(tmp_path, [*echoes(30), DOWN], other, model=lambda script: Narrow(script, big))
    assert here.run().stop is StopReason.END_TURN
    # The double refuses a request that is over its window.
    assert len(other.requests) == 1
    [made] = here.journal().records(CompactionRecord)
    assert made.turn == 31


def compacted(folder: Path, small: ScriptedProvider | None) -> Bench:
    here = Bench(
        [*echoes(12), says("Done.")],
        folder,
        model=lambda script: Narrow(script, SMALL),
        more={"small": lambda: small},
    )
    assert here.run("the task").stop is StopReason.END_TURN
    return here


def asked_to_sum_up(provider: ScriptedProvider) -> int:
    assert isinstance(provider, Narrow)
    return len(provider.asked_to_sum_up)


def test_a_small_model_writes_the_summary_and_its_price_counts(tmp_path: Path):
    summary = says("## Decided\n- By the small one.", usage=Usage(0, 0, 0, 1_000_000))
    small = Narrow((), INFO._replace(name="small", output_price=2.0), summaries=(summary,))
    here = compacted(tmp_path, small)
    assert (asked_to_sum_up(small), asked_to_sum_up(here.provider)) == (1, 0)
    [made] = here.journal().records(CompactionRecord)
    assert ("By the small one" in made.text, made.cost) == (True, pytest.approx(2.0))


@pytest.mark.parametrize("answer", [DOWN, says(""), says("x" * 100_000)])
def test_a_small_model_that_fails_is_replaced_by_the_main_one(tmp_path: Path, answer: Failed | Complete):
    small = Narrow((), INFO, summaries=(answer,))
    here = compacted(tmp_path, small)
    assert (asked_to_sum_up(small), asked_to_sum_up(here.provider)) == (1, 1)


def test_a_summary_is_asked_of_another_model_too_if_the_main_one_is_unavailable(tmp_path: Path):
    other = Narrow([*echoes(2), says("Done.")], SMALL._replace(name="scripted/other"))
    here = bench(tmp_path, echoes(12), other, model=lambda script: Narrow(script, SMALL, summaries=(DOWN,)))
    assert here.run("the task").stop is StopReason.END_TURN
    assert (asked_to_sum_up(here.provider), asked_to_sum_up(other)) == (1, 1)
    journal = here.journal()
    [change] = journal.records(ModelChanged)
    failed, made = journal.records(CompactionRecord)
    assert (change.turn, bool(failed.failure), bool(made.text)) == (made.turn, True, True)


def test_the_cache_is_long_from_the_first_edit_on_if_the_checks_are_slow(tmp_path: Path):
    seen: list[bool] = []

    class Watched(ScriptedProvider):
        def respond(self, request: Any, cancel: Any, retrying: Any = None) -> Any:
            seen.append(request.long_cache)
            assert request.effort == "high"
            return super().respond(request, cancel)

    def edit(arguments: object, cancel: object) -> ToolOutcome:
        return ToolOutcome("edited", metadata={"path": "a.py", "before_hash": "a", "after_hash": "b"})

    slow = iter([False, True])
    script = [
        says(call("echo", "{}", "c1")),
        *(says(call("edit", "{}", f"e{n}")) for n in range(3)),
        says("Done."),
    ]
    Bench(
        script,
        tmp_path,
        tools={"edit": edit},
        model=Watched,
        more={"slow_checks": lambda: next(slow), "effort": "high"},
    ).run()
    # Not before an edit, not while the checks are quick, and then to the end.
    assert seen == [False, False, False, True, True]


# Asking for a title


LONG = "The durations are rounded too late, so that 59.7 seconds are shown as 60s and never as the minute they are."
FREE = RunLimits()
END = LoopEnd(StopReason.END_TURN, "", 3, Usage(100, 0, 0, 10), 1.0, "Done.", Files((), ("a.py",)))


def ask(
    folder: Path, *script: Turn, asked: str = LONG, end: LoopEnd = END, limits: RunLimits = FREE, seconds: float = 20.0
) -> tuple[str, LoopEnd, ScriptedProvider]:  # fmt: skip
    provider = ScriptedProvider(script)
    with Journal(folder / "journal.jsonl", str) as journal:
        journal.write(header())
        toolbox = Toolbox((), {}, lambda tool, arguments: Permission(True))
        context = ConversationContext(provider, "", toolbox, journal, limits, CancelToken())
        title, after = title_change(context, lambda: provider, asked, end, seconds)
    return title, after, provider


def test_a_long_request_is_given_a_title_and_that_is_paid_for(tmp_path: Path):
    title, end, provider = ask(tmp_path, says("**Round durations first.**\n", usage=Usage(40, 0, 0, 8)))
    assert title == "Round durations first"
    assert (end.usage, end.cost > 1.0) == (Usage(140, 0, 0, 18), True)
    [message] = provider.requests[0]
    assert LONG in message.text
    assert "a.py" in message.text
    journal = read_journal(tmp_path / "journal.jsonl")
    assert [line.usage for line in journal.records(BudgetChanged)] == [end.usage]


@pytest.mark.parametrize(
    ("asked", "end", "limits"),
    [
        ("fix the rounding", END, RunLimits()),
        (LONG, END._replace(files=Files()), RunLimits()),
        (LONG, END._replace(stop=StopReason.BUDGET), RunLimits()),
        (LONG, END, RunLimits(cost_usd=1.0)),
    ],
    ids=["short", "nothing changed", "did not end", "nothing left"],
)
def test_where_there_is_no_need_or_no_money_nothing_is_asked(
    tmp_path: Path, asked: str, end: LoopEnd, limits: RunLimits
):
    assert ask(tmp_path, says("A title"), asked=asked, end=end, limits=limits)[:2] == ("", end)


def silent(cancel: CancelToken) -> Failed:
    cancel.wait(60)
    return Failed("canceled", canceled=True)


@pytest.mark.parametrize(
    "turn",
    [
        Failed("overloaded", 529),
        says(""),
        says("x" * 200),
        says("A title", finish=FinishReason.ERROR),
        silent,
    ],
    ids=["failed", "empty", "too long", "error", "silent"],
)
def test_without_an_answer_the_request_stays_the_title(
    tmp_path: Path, turn: Complete | Failed | Callable[[CancelToken], Failed]
):
    before = threading.active_count()
    title, end, _ = ask(tmp_path, turn, seconds=0.05)
    assert (title, end.stop) == ("", StopReason.END_TURN)
    assert threading.active_count() <= before + 1  # the timer's thread may be ending
