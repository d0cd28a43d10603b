"""What a run has used of its limits, what the model is told of it, and the end at a limit; what fits a model's window,
estimated, and what a response counts as where the API said nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.compaction import usable_tokens
from bot.agent.limits import LimitReminder, SessionUsage, limit_shares
from bot.agent.message_history import max_response, tokens_of, tokens_of_text
from bot.agent.receive import with_usage
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import ProviderRetry
from bot.contracts.messages import FinishReason, Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, Failed, ModelInfo, ModelRequest, OnRetry, Retrying, unreported
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.providers.encoding import count
from tests.support.scripted import ScriptedProvider, call, says
from tests.support.sessions import Bench


def spent(cost: float = 0.0, tokens: int = 0, commands: int = 0, output: int = 0) -> SessionUsage:
    return SessionUsage(usage=Usage(input=tokens), cost=cost, commands=commands, output=output)


def test_a_share_for_each_limit_there_is_in_words():
    used = spent(cost=4.1, tokens=900, commands=3, output=3 << 20)
    used.requests += 1
    limits = RunLimits(turns=10, tokens=1000, cost_usd=5, minutes=30, commands=4, output=4 << 20)
    assert {share.words: round(share.used, 3) for share in limit_shares(limits, used, 600)} == {
        "$4.10 of $5.00": 0.82,
        "900 of 1000 tokens": 0.9,
        "1 of 10 turns": 0.1,
        "10.0 of 30 minutes": 0.333,
        "3 of 4 commands": 0.75,
        "3.0 of 4 MiB of output": 0.75,
    }
    assert limit_shares(RunLimits(), used, 600) == ()


def test_the_model_is_told_at_80_90_and_95_percent_once_each():
    told, limits = LimitReminder(), RunLimits(cost_usd=1.0, minutes=10)
    said = [told.reminder(limit_shares(limits, spent(cost=cents / 100), 60)) for cents in range(70, 101)]
    heard = {cents: text for cents, text in zip(range(70, 101), said, strict=True) if text}
    assert list(heard) == [80, 90, 95]
    assert heard[80] == (
        "(Used so far: $0.80 of $1.00. At the limit the run ends with what is in the work tree. "
        "Begin nothing new that is not needed.)"
    )
    assert "Come to an end now" in heard[95]


def test_a_jump_over_two_steps_is_said_once():
    told, limits = LimitReminder(), RunLimits(tokens=100)
    assert "Finish what you have begun" in told.reminder(limit_shares(limits, spent(tokens=94), 0))
    assert told.reminder(limit_shares(limits, spent(tokens=94), 0)) == ""


def test_each_limit_is_told_of_by_itself():
    """Who is near the end of its commands works on without any; its tokens must not end unannounced."""
    told, limits = LimitReminder(), RunLimits(tokens=1000, commands=20)
    assert "19 of 20 commands" in told.reminder(limit_shares(limits, spent(tokens=100, commands=19), 0))
    said = {
        tokens: told.reminder(limit_shares(limits, spent(tokens=tokens, commands=19), 0))
        for tokens in range(700, 1000, 50)
    }
    assert [tokens for tokens, text in said.items() if text] == [800, 900, 950]
    assert "(Used so far: 800 of 1000 tokens, 19 of 20 commands. " in said[800]
    assert "Come to an end now" in said[800], "the advice is that of the nearest"


def test_little_money_and_time_are_told_in_figures_that_differ():
    words = [share.words for share in limit_shares(RunLimits(cost_usd=0.1, minutes=1), spent(cost=0.091), 54)]
    assert words == ["$0.0910 of $0.1000", "0.9 of 1 minutes"]


def test_a_limit_of_nothing_is_used_up():
    (share,) = limit_shares(RunLimits(cost_usd=0), spent(), 0)
    assert share.used == 1.0


def model(window: int, longest: int) -> ModelInfo:
    return ModelInfo("m", window, longest, 0, 0, 0, 0)


@given(st.integers(1_000, 2_000_000), st.integers(1, 2_000_000))
def test_what_is_held_and_the_longest_answer_fit_the_window_together(window: int, longest: int):
    info = model(window, longest)
    answer = min(max_response(info) or longest, longest)
    assert window // 4 <= usable_tokens(info) < window
    assert usable_tokens(info) + answer <= window


@pytest.mark.parametrize(
    ("window", "longest", "cap"), [(1_000_000, 128_000, 0), (200_000, 64_000, 33_333), (8_192, 8_192, 1_365)]
)
def test_a_long_answer_is_capped_where_it_would_take_much_of_the_window(window: int, longest: int, cap: int):
    assert max_response(model(window, longest)) == cap


def test_text_beyond_ascii_counts_by_its_bytes():
    assert tokens_of_text("a" * 400) == 100
    assert tokens_of_text("漢" * 400) == 300
    assert tokens_of_text("") == 0


def test_every_part_counts():
    parts = (
        Text("a" * 400), Thinking("a" * 400, "sig"), ToolCall("i", "echo", "a" * 400),
        ToolResult("i", "echo", "a" * 400), Image("image/png", b"x"),
    )  # fmt: skip
    assert tokens_of(Message("user", parts)) == 8 + 4 * 100 + 1 + 1_200


REQUEST = ModelRequest("s" * 4000, (), [Message("user", (Text("u" * 4000),))])
LONG = Message("assistant", (Text("a" * 4000),))


def test_a_count_of_the_api_is_taken_as_it_is():
    ended = Complete(LONG, FinishReason.END_TURN, "end_turn", Usage(1, output=1))
    assert with_usage(ended, REQUEST).usage == Usage(1, output=1)


def test_of_an_answer_that_was_cut_off_what_had_come_counts():
    cut = Failed("cut", partial=LONG, usage=Usage(5, output=1))
    assert with_usage(cut, REQUEST).usage.input == 5
    assert with_usage(cut, REQUEST).usage.output > 900
    uncounted = with_usage(Failed("cut", partial=LONG), REQUEST).usage
    assert (uncounted.input > 1900, uncounted.output > 900) == (True, True)


def test_a_request_that_nothing_came_of_costs_nothing():
    assert with_usage(Failed("503", status=503), REQUEST).usage == Usage()


def test_an_answer_that_was_cut_counts_and_its_retry_is_written(tmp_path: Path):
    class Retries(ScriptedProvider):
        def respond(
            self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
        ) -> Complete | Failed:
            retrying(Retrying(1, 0.0, "cut", LONG, Usage(input=90)))
            return super().respond(request, cancel)

    bench = Bench([says("Whole.")], tmp_path, model=Retries)
    end = bench.run()
    assert end.usage.input == 100
    assert end.usage.output > 900
    assert list(bench.journal().records(ProviderRetry)) == [ProviderRetry(1, 1, 0.0, "cut")]


@pytest.mark.parametrize("limits", [RunLimits(tokens=3000), RunLimits(cost_usd=0.01)])
def test_the_limits_hold_where_the_api_reports_nothing(tmp_path: Path, limits: RunLimits):
    answers = [says("a" * 4000, call("echo", f'{{"text": "{n}"}}', f"c{n}"), usage=Usage()) for n in range(9)]
    bench = Bench(answers, tmp_path, limits=limits)
    assert bench.run().stop is StopReason.BUDGET


@pytest.mark.parametrize(
    ("reported", "counted"),
    [(7, 7), (7.0, 7), (7.5, 3), (-7, 3), (True, 3), ("7", 3), (None, 3), (float("nan"), 3), (float("inf"), 3),
     (10**400, 10**9), (0, 0)],
)  # fmt: skip
def test_a_number_that_no_response_has_does_not_get_into_the_sum(reported: object, counted: int):
    assert count(reported, 3) == counted
