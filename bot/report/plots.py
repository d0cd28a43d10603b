"""Compute plots over the turns of a run: tokens, cache share, cost, seconds. The template draws them as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from bot.contracts.formatting import duration
from bot.contracts.messages import Usage
from bot.report.text import seconds_on_axis, tokens, usd
from bot.report.timeline import Timeline

WIDTH, HEIGHT = 460, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 12, 34
MOST_MARKS = 240
"""The most points. With more turns, several share a point, which shows the largest value."""


class Point(NamedTuple):
    """One turn. `held` is the size of the request in tokens, `cached` a percentage of it, `cost_so_far` is in USD."""

    turn: int
    key: str
    at: float
    model_seconds: float
    tool_seconds: float
    held: int
    cached: int
    usage: Usage
    cost: float
    cost_so_far: float


class Tick(NamedTuple):
    at: float
    label: str


class Mark(NamedTuple):
    """A bar, or the dot of a line, with its label. `kind` is its CSS class."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    description: str


@dataclass(frozen=True, slots=True)
class Plot:
    """`description` is one sentence. `limit` is the position of a line that marks a limit."""

    key: str
    title: str
    description: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    bars: Sequence[Mark] = ()
    dots: Sequence[Mark] = ()
    line: str = ""
    area: str = ""
    limit: Tick | None = None
    legend: Sequence[tuple[str, str]] = ()
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class _Frame:
    """Converts values to positions in the plot."""

    count: int
    top: float

    def x(self, index: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (index + 0.5) / max(1, self.count), 1)

    def y(self, value: float) -> float:
        plot_height = HEIGHT - _TOP - _BOTTOM
        return round(_TOP + plot_height * (1 - max(0.0, min(1.0, value / self.top))), 1)

    @property
    def step(self) -> float:
        return (WIDTH - _LEFT - _RIGHT) / max(1, self.count)


def plots_of(points: Sequence[Point], window: int) -> list[Plot]:
    """Return the plots of a run; none without a response."""
    if not points:
        return []
    held = max(point.held for point in points)
    share = sum(point.usage.cache_read for point in points) / max(1, sum(point.held for point in points))
    seconds = sum(point.model_seconds for point in points), sum(point.tool_seconds for point in points)
    return [
        _line(
            "held",
            "Context held",
            f"At most {tokens(held)} of {tokens(window)} tokens.",
            [(point.turn, point.held) for point in points],
            tokens,
            limit=window,
        ),
        _line(
            "cached",
            "Share from cache",
            f"{100 * share:.0f} % of all tokens read came from the cache.",
            [(point.turn, point.cached) for point in points],
            lambda value: f"{value:.0f} %",
            top=100,
        ),
        _stacked(
            "tokens",
            "Tokens a turn",
            "Read and written.",
            points,
            word=tokens,
            layers=(
                ("a", "from cache", lambda point: point.usage.cache_read),
                ("b", "read without the cache", lambda point: point.usage.input + point.usage.cache_write),
                ("c", "written", lambda point: point.usage.output),
            ),
        ),
        _line(
            "spent",
            "Cost so far",
            f"{usd(points[-1].cost_so_far)} at the end.",
            [(point.turn, point.cost_so_far) for point in points],
            usd,
        ),
        _stacked(
            "seconds",
            "Seconds a turn",
            f"The model took {duration(seconds[0])}, tools took {duration(seconds[1])}.",
            points,
            word=seconds_on_axis,
            layers=(
                ("b", "model", lambda point: point.model_seconds),
                ("d", "tools", lambda point: point.tool_seconds),
            ),
        ),
    ]


_Value = Callable[[Point], float]
_Item = TypeVar("_Item")


def _line(
    key: str,
    title: str,
    description: str,
    values: Sequence[tuple[int, float]],
    word: Callable[[float], str],
    *,
    top: float = 0,
    limit: float = 0,
) -> Plot:
    """`values` are turns with their values."""
    shown = [max(group, key=lambda pair: pair[1]) for group in _groups(values)]
    most = top or max(value for _, value in shown) * 1.05
    ticks = steps(most)
    near = 0 < limit <= most * 2
    frame = _Frame(len(shown), max(most, ticks[-1], limit * 1.05 if near else 0))
    if near:
        ticks = steps(frame.top)
    positions = [(frame.x(index), frame.y(value)) for index, (_, value) in enumerate(shown)]
    line = "M" + " L".join(f"{x} {y}" for x, y in positions)
    floor = HEIGHT - _BOTTOM
    return Plot(
        key,
        title,
        description,
        _x_ticks([turn for turn, _ in shown], frame),
        [Tick(frame.y(tick), word(tick)) for tick in ticks],
        dots=[
            Mark(x, y, 0, 0, "dot", f"Turn {turn}: {word(value)}")
            for (x, y), (turn, value) in zip(positions, shown, strict=True)
        ],
        line=line,
        area=f"{line} L{positions[-1][0]} {floor} L{positions[0][0]} {floor} Z",
        limit=Tick(frame.y(limit), f"window, {word(limit)}") if near else None,
    )


def _stacked(
    key: str,
    title: str,
    description: str,
    points: Sequence[Point],
    *,
    word: Callable[[float], str],
    layers: Sequence[tuple[str, str, _Value]],
) -> Plot:
    points_shown = [
        max(group, key=lambda point: sum(value(point) for *_, value in layers)) for group in _groups(points)
    ]
    most = max(sum(value(point) for *_, value in layers) for point in points_shown)
    ticks = steps(most)
    frame = _Frame(len(points_shown), max(most, ticks[-1]))
    bars = []
    wide = round(max(0.6, min(26, frame.step * 0.8)), 1)
    for index, point in enumerate(points_shown):
        below = 0.0
        words = ", ".join(f"{name} {word(value(point))}" for _, name, value in layers)
        for kind, _, value in layers:
            if not value(point):
                continue
            top, floor = frame.y(below + value(point)), frame.y(below)
            left = round(frame.x(index) - wide / 2, 1)
            bars.append(Mark(left, top, wide, round(floor - top, 1), kind, f"Turn {point.turn}: {words}"))
            below += value(point)
    return Plot(
        key,
        title,
        description,
        _x_ticks([point.turn for point in points_shown], frame),
        [Tick(frame.y(tick), word(tick)) for tick in ticks],
        bars=bars,
        legend=[(kind, name) for kind, name, _ in layers],
    )


def _groups(points: Sequence[_Item]) -> list[Sequence[_Item]]:
    size = math.ceil(len(points) / MOST_MARKS)
    return [points[at : at + size] for at in range(0, len(points), size)]


def _x_ticks(turns: Sequence[int], frame: _Frame) -> list[Tick]:
    every = max(1, math.ceil(len(turns) / 8))
    return [Tick(frame.x(index), str(turns[index])) for index in range(0, len(turns), every)]


def steps(most: float) -> list[float]:
    """Return three to six round numbers from 0 to `most` or a little more."""
    if most <= 0:
        return [0, 1]
    size = 10 ** math.floor(math.log10(most))
    step = next(part * size for part in (0.2, 0.25, 0.5, 1, 2) if most <= part * size * 5.0001)
    return [round(step * number, 10) for number in range(math.ceil(most / step - 1e-9) + 1)]


def points_of(timeline: Timeline) -> Sequence[Point]:
    points = []
    cost_so_far = 0.0
    for turn in timeline.turns:
        cost_so_far += turn.cost
        points.append(
            Point(
                turn.number,
                turn.key,
                turn.at,
                turn.thinking_seconds,
                turn.working_seconds,
                turn.held,
                turn.cached,
                turn.usage,
                turn.cost,
                cost_so_far,
            )
        )
    return points
