"""`describe_change`: typed, forgiving about white space, the last call wins."""

from __future__ import annotations

import json

from bot.agent.handover import DESCRIBE_CHANGE, DescribeChange
from bot.agent.toolbox import CallExecution, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import Description


def call(describe: DescribeChange, **arguments: str) -> CallExecution:
    handlers = {DESCRIBE_CHANGE.name: describe}
    toolbox = Toolbox([describe.spec], handlers, lambda tool, values: Permission(True))
    return toolbox.execute(ToolCall("a", "describe_change", json.dumps(arguments)), CancelToken())


def test_the_last_call_wins() -> None:
    describe = DescribeChange()
    call(describe, title="First", summary="One.", notes="n")
    executed = call(describe, title=" Second\n line ", summary=" Two. ")
    assert executed.result.content == "Noted."
    assert describe.description == Description("Second line", "Two.", "")


def test_a_title_that_is_too_long_is_sent_back_with_its_length() -> None:
    describe = DescribeChange()
    executed = call(describe, title="x" * 80, summary="s")
    assert "title: expected at most 72 characters, got 80" in executed.result.content
    assert describe.description == Description()


def test_a_blank_title_is_sent_back() -> None:
    describe = DescribeChange()
    assert call(describe, title=" \n ", summary="s").result.is_error
    assert describe.description == Description()
