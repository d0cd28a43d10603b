"""The figures of long sessions: that each can be missed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import agent_core
from benchmarks.agent_core import Took, alike, cached_share, ms_a_megabyte, turns_of
from benchmarks.long_script import LongScript
from benchmarks.long_session import SKILLS, Recorded, Sent, unused
from benchmarks.session import SessionFailedError
from tests.support.model_server import Received

_MB = 1_000_000


def _sent(bodies: Sequence[bytes], every: float = 10.0) -> list[Sent]:
    """Requests `every` seconds, each answered a second after it came."""
    return [
        Sent(body, len(body), Received("", {}, b"", b"", int(at * every * 1e9), int((at * every + 1) * 1e9)))
        for at, body in enumerate(bodies)
    ]


def test_the_sessions_are_offered_ten_skills() -> None:
    assert len(SKILLS) == 10


def test_a_script_knows_how_many_requests_it_will_have() -> None:
    script = LongScript(52, 500)
    assert script.agents == (4, 3, 30, 5)
    assert script.requests == 52 + 42
    assert LongScript(52, 500, plain=True).requests == 52


def test_a_session_that_did_without_a_part_is_named(tmp_path: Path) -> None:
    words = [
        b"list the shapes of turn",
        b"Your list was not updated for",
        b"They are shapes.",
        b"/out/",
        b"failing ",
    ]
    bodies = [*words, b"Your next answer is the last", b"more answers of yours fit"]
    recorded = Recorded(LongScript(2, 1), tmp_path, _sent(bodies), [1])
    assert unused(recorded) == ["a skill"]
    recorded.summaries.clear()
    recorded.sent.pop(-2)
    assert unused(recorded) == ["a skill", "masking", "compaction"]


def test_a_request_that_does_not_extend_the_last_misses_the_figure(tmp_path: Path) -> None:
    def row(second: str) -> bool | None:
        bodies = [
            json.dumps(
                {"messages": [{"role": "user", "content": text} for text in texts]}, separators=(",", ":")
            )
            for texts in (["task", "one"], ["task", second, "two"])
        ]
        recorded = Recorded(LongScript(2, 1, plain=True), tmp_path, _sent([body.encode() for body in bodies]))
        return agent_core.extending("x", recorded, lambda line: None).met

    assert row("one") is True
    assert row("ONE") is False


def _conversation(*lengths: int, mark: bool = True, choices: Mapping[int, str] | None = None) -> list[Sent]:
    """Requests of so many messages of 1,000 words, each with a mark on its end; `choices` by the request's place."""
    bodies = []
    for place, length in enumerate(lengths):
        blocks: list[dict[str, Any]] = [{"type": "text", "text": f"{at} " * 1000} for at in range(length)]
        if mark:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
        body: dict[str, Any] = {"messages": [{"role": "user", "content": blocks}]}
        if choices and place in choices:
            body["tool_choice"] = {"type": choices[place]}
        bodies.append(json.dumps(body).encode())
    return _sent(bodies)


def test_a_session_without_marks_is_served_nothing() -> None:
    assert cached_share(_conversation(1, 1, 1, 1), (), 100).share == 0.75
    assert cached_share(_conversation(1, 1, 1, 1, mark=False), (), 100).share == 0


def test_a_prefix_that_is_lost_is_counted_and_one_that_was_made_shorter_is_not() -> None:
    assert cached_share(_conversation(1, 2, 3), (), 100).lost == 0
    assert cached_share(_conversation(1, 2, 30, 31), (), 100).lost == 1
    assert cached_share(_conversation(1, 2, 3, choices={2: "none"}), (), 100).lost == 1
    assert cached_share(_conversation(5, 1, 2), (1,), 100).lost == 0


def test_turns_are_compared_with_those_of_their_size() -> None:
    early = [Took(size, size / 1e5) for size in range(100_000, 400_000, 10_000)]
    assert alike([*early, *early, *early])[2] == pytest.approx(1, abs=0.1)
    late = [Took(turn.size, turn.ms * 2) for turn in early]
    assert alike([*early, *early, *late])[2] == pytest.approx(2, abs=0.2)
    with pytest.raises(SessionFailedError, match="as large"):
        alike([*early, *early, *(Took(9 * _MB, 1) for _ in early)])


def test_what_a_larger_body_costs_is_told_from_what_every_turn_costs() -> None:
    turns = [Took(size * 10_000, 5 + 0.3 * size) for size in range(1, 80)]
    assert ms_a_megabyte(turns) == pytest.approx(30)


def test_turns_with_a_summary_in_them_are_left_out() -> None:
    sent = _sent([b"x"] * 6)
    assert len(turns_of(sent, [])) == 5
    assert [turn.ms for turn in turns_of(sent, [3])] == [9000.0] * 3


def test_no_two_turns_of_the_script_make_the_same_call() -> None:
    script = LongScript(200, 500)
    said = [repr(script.parts_of_turn(turn, ["/x/spill/1.txt"])) for turn in range(1, 198)]
    same = [one for one, other in itertools.pairwise(said) if one == other]
    assert not same
