"""The title of a change that its model did not describe: asked for once, and never waited for long (S-169)."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.agent.ask_for_title import title_change
from bot.agent.conversation_context import ConversationContext, Files, LoopEnd
from bot.agent.journal import Journal, read_journal
from bot.agent.toolbox import Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import BudgetChanged
from bot.contracts.messages import FinishReason, Usage
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from tests.support.scripted import ScriptedProvider, Turn, says
from tests.support.sessions import header

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
