"""The figures of long sessions: that each can be missed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent_core import Took, alike, cached_share
from benchmarks.long_script import LongScript
from benchmarks.long_session import Recorded, Sent, unused
from benchmarks.session import SessionFailedError
from tests.support.model_server import Received

_MB = 1_000_000


def _sent(bodies: Sequence[bytes], every: float = 10.0) -> list[Sent]:
    """Requests `every` seconds, each answered a second after it came."""
    return [
        Sent(body, len(body), Received("", {}, b"", b"", int(at * every * 1e9), int((at * every + 1) * 1e9)))
        for at, body in enumerate(bodies)
    ]


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


def _conversation(*lengths: int, choices: Mapping[int, str] | None = None) -> list[Sent]:
    """Requests of so many messages of 1,000 words, each with a mark on its end; `choices` by the request's place."""
    bodies = []
    for place, length in enumerate(lengths):
        blocks: list[dict[str, Any]] = [{"type": "text", "text": f"{at} " * 1000} for at in range(length)]
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
        body: dict[str, Any] = {"messages": [{"role": "user", "content": blocks}]}
        if choices and place in choices:
            body["tool_choice"] = {"type": choices[place]}
        bodies.append(json.dumps(body).encode())
    return _sent(bodies)


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
