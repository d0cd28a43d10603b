"""Figures over the turns of a run: context held, what a cache served of it, tokens, cost, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.contracts.messages import Usage
from bot.report.story import Story


class Point(NamedTuple):
    """One turn. `held` is in tokens, `cached` in percent of them, `spent` is the cost so far, in USD."""

    turn: int
    key: str
    at: float
    model_seconds: float
    tool_seconds: float
    held: int
    cached: int
    usage: Usage
    cost: float
    spent: float


def points_of(story: Story) -> Sequence[Point]:
    points = []
    spent = 0.0
    for turn in story.turns:
        spent += turn.cost
        points.append(
            Point(
                turn.number, turn.key, turn.at, turn.thinking_seconds, turn.working_seconds,
                turn.held, turn.cached, turn.usage, turn.cost, spent,
            )
        )  # fmt: skip
    return points
