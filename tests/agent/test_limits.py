"""What a run has used of its limits, what the model is told of it, and the end at a limit."""

from __future__ import annotations

from bot.agent.limits import LimitReminder, SessionUsage, limit_shares
from bot.contracts.messages import Usage
from bot.contracts.request import RunLimits


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
