"""What may be called now: told to the model, refused at dispatch, tools and history untouched (S-151..S-157)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.agent.loop import Hooks
from bot.agent.masking import SOON, Mask, Masking, State, last_request_hands_over, left_soon
from bot.contracts.cancel import CancelToken
from bot.contracts.events import Complete, Event
from bot.contracts.journal import Result
from bot.contracts.limits import Limits
from bot.contracts.model import ModelRequest
from bot.contracts.outcome import StopReason
from bot.contracts.tools import ToolOutcome
from tests.support.scripted import ScriptedProvider, call, says
from tests.support.sessions import Bench


@dataclass
class Keeping(ScriptedProvider):
    asked: list[ModelRequest] = field(default_factory=list)

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[Event]:
        self.asked.append(request)
        return super().stream(request, cancel)


def bench(folder: Path, masking: Masking, turns: int | None, *script: Complete) -> Bench:
    tools = {"hand_over": lambda values, cancel: ToolOutcome("Noted.")}
    return Bench(script, folder, tools, limits=Limits(turns=turns), model=Keeping, masking=masking)


def test_in_the_last_request_only_the_tools_that_hand_over_may_be_called(tmp_path: Path) -> None:
    script = [
        says(call("echo", '{"text": "1"}', "a")),
        says(call("echo", "{}", "b"), call("hand_over", "{}", "c")),
    ]
    here = bench(tmp_path, last_request_hands_over(["hand_over"]), 2, *script)
    assert here.run().stop is StopReason.TURNS
    assert [name for name, _ in here.ran] == ["echo", "hand_over"]
    refused = next(one for one in here.journal().records(Result) if one.call_id == "b")
    assert refused.is_error
    assert not refused.executed
    assert (
        "echo is not available now: this is the last answer of this run. Allowed: hand_over."
        in refused.content
    )
    assert isinstance(here.provider, Keeping)
    assert [request.allowed for request in here.provider.asked] == [None, ("hand_over",)]
    assert [request.tool_choice for request in here.provider.asked] == ["auto", "auto"]


def test_tools_stay_the_same_object_and_requests_stay_prefixes_whatever_is_masked(tmp_path: Path) -> None:
    script = [says(call("echo", f'{{"text": "{n}"}}', f"c{n}")) for n in range(3)]
    here = bench(tmp_path, last_request_hands_over(["hand_over"]), 3, *script)
    here.run()
    assert isinstance(here.provider, Keeping)
    assert len({id(request.tools) for request in here.provider.asked}) == 1
    for earlier, later in itertools.pairwise(here.provider.requests):
        assert all(old is new for old, new in zip(earlier, later, strict=False))


def test_where_nothing_hands_over_the_last_answer_is_words(tmp_path: Path) -> None:
    here = bench(tmp_path, last_request_hands_over(()), 1, says(call("echo", "{}", "a")))
    here.run()
    assert isinstance(here.provider, Keeping)
    [request] = here.provider.asked
    assert (request.tool_choice, request.allowed) == ("none", None)
    [refused] = here.journal().records(Result)
    assert "Answer in words." in refused.content


def test_without_a_limit_nothing_is_masked() -> None:
    assert last_request_hands_over(["x"])(State(None)) is None
    assert last_request_hands_over(["x"])(State(2)) is None


@pytest.mark.parametrize(
    ("left", "said"), [(None, False), (SOON + 1, False), (SOON, True), (SOON - 1, False)]
)
def test_it_is_said_once_that_few_answers_are_left(left: int | None, said: bool) -> None:
    assert bool(left_soon(State(left), ["describe_change"])) is said


def test_what_is_said_names_how_to_hand_over() -> None:
    assert "with describe_change or ask_user" in left_soon(State(SOON), ["describe_change", "ask_user"])
    assert "with" not in left_soon(State(SOON), [])


def test_the_state_after_a_turn_counts_the_requests_that_are_left(tmp_path: Path) -> None:
    seen: list[int | None] = []
    hooks = Hooks(after_results=lambda info: seen.append(info.state.left) or ())  # type: ignore[func-returns-value]
    script = [says(call("echo", f'{{"text": "{n}"}}', f"c{n}")) for n in range(3)]
    Bench([*script, says("Done.")], tmp_path, limits=Limits(turns=5), hooks=hooks).run()
    assert seen == [4, 3, 2]


def test_a_refusal_names_what_is_allowed() -> None:
    assert Mask(("a", "b"), "it is late").refusal("c") == "c is not available now: it is late. Allowed: a, b."
    assert Mask(("a", "b"), "it is late").refusal("a") == ""
