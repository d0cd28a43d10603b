"""Cache marks against a model of Anthropic's cache: whatever was read once is read again from the cache.

The rules: a mark keeps the prefix up to its block; a lookup begins at each mark and walks back at most 20 blocks.
"""

import json
from itertools import accumulate
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from bot.providers.anthropic_messages import AnthropicMessages
from bot.providers.endpoint import Endpoint
from bot.providers.models import model_info
from bot.providers.vendors import VENDORS
from tests.support.provider_runs import ask, user

LOOK_BACK = 20
MOST_MARKS = 4


class Cache:
    def __init__(self) -> None:
        self._kept: set[str] = set()

    def read(self, body: dict[str, Any]) -> tuple[int, int]:
        """How many blocks of the request are served, and how many have to be; then keep what is marked."""
        blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
        marked = [at for at, block in enumerate(blocks) if block.pop("cache_control", None)]
        assert len(marked) <= MOST_MARKS
        for at in marked:
            assert blocks[at]["type"] not in ("thinking", "redacted_thinking")
            assert blocks[at].get("text") or blocks[at].get("content") or blocks[at].get("source")
        prefixes = list(accumulate(map(json.dumps, blocks)))
        served = 0
        for at in marked:
            for end in range(at, max(-1, at - LOOK_BACK), -1):
                if prefixes[end] in self._kept:
                    served = max(served, end + 1)
                    break
        self._kept |= {prefixes[at] for at in marked}
        return served, marked[-1] + 1


# One turn: how many calls, how much thinking, whether the host says something after it.
TURNS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


def grown(history: list[Message], at: int, turn: tuple[int, int, bool]) -> None:
    calls, thoughts, host = turn
    parts: list[Part] = [Thinking(f"t{at}.{n}", "sig") for n in range(thoughts)]
    parts.append(Text(f"step {at}"))
    parts += [ToolCall(f"c{at}_{n}", "bash", "{}") for n in range(calls)]
    history.append(Message("assistant", tuple(parts)))
    if calls:
        results = [ToolResult(f"c{at}_{n}", "bash", "" if n % 3 else "hi") for n in range(calls)]
        history.append(Message("tool", tuple(results)))
    if host or not calls:
        history.append(user(f"go on {at}"))


@settings(max_examples=30, deadline=None)
@given(TURNS)
def test_each_request_is_served_up_to_where_the_one_before_it_was_marked(turns: list[tuple[int, int, bool]]):
    wire = AnthropicMessages(
        Endpoint(VENDORS["anthropic"], "http://127.0.0.1:1", "k"), model_info("claude-sonnet-5-5")
    )
    cache, history = Cache(), [user("do it")]
    request = ask()
    before = 0
    for at, turn in enumerate(turns):
        body = json.loads(json.dumps(wire.params(ask(*history, tools=request.tools))))
        served, newest = cache.read(body)
        assert served >= before, "the marks left a gap that the lookup does not bridge"
        before = newest
        grown(history, at, turn)
    wire.close()


def test_a_request_that_failed_leaves_no_gap_behind_it():
    """Nothing of it was kept, and the next has one user message more."""
    wire = AnthropicMessages(
        Endpoint(VENDORS["anthropic"], "http://127.0.0.1:1", "k"), model_info("claude-sonnet-5-5")
    )
    cache, history = Cache(), [user("do it")]
    tools = ask().tools
    _, newest = cache.read(json.loads(json.dumps(wire.params(ask(*history, tools=tools)))))
    for at in range(2):
        grown(history, at, (25, 1, False))
    served, _ = cache.read(json.loads(json.dumps(wire.params(ask(*history, tools=tools)))))
    wire.close()
    assert served == newest
