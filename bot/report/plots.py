"""Compute bar charts over the turns of a run: tokens, cost, seconds. The template draws them as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from bot.contracts.formatting import duration
from bot.report.text import seconds_on_axis, tokens, usd
from bot.report.timeline import Turn

WIDTH, HEIGHT = 460, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 12, 34
MOST_BARS = 240
"""With more turns, several share a bar, which shows the largest value."""


class Tick(NamedTuple):
    at: float
    label: str


class Bar(NamedTuple):
    """`kind` is its CSS class."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    description: str


class Layer(NamedTuple):
    """One value a turn. `kind` is the CSS class of its bars."""

    kind: str
    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Plot:
    """`description` is one sentence. `limit` is the position of a line that marks a limit."""

    title: str
    description: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    bars: Sequence[Bar]
    limit: Tick | None
    legend: Sequence[tuple[str, str]]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def plots_of(turns: Sequence[Turn], window: int) -> list[Plot]:
    """Return the plots of a run; none without a response."""
    if not turns:
        return []
    numbers = [turn.number for turn in turns]
    held = [turn.held for turn in turns]
    share = sum(turn.usage.cache_read for turn in turns) / max(1, sum(held))
    costs = costs_so_far(turns)
    model, tools = [turn.thinking_seconds for turn in turns], [turn.working_seconds for turn in turns]
    token_layers = (
        Layer("a", "from cache", [turn.usage.cache_read for turn in turns]),
        Layer("b", "read without the cache", [turn.usage.input + turn.usage.cache_write for turn in turns]),
        Layer("c", "written", [turn.usage.output for turn in turns]),
    )
    second_layers = (Layer("b", "model", model), Layer("d", "tools", tools))
    read = f"At most {tokens(max(held))} of {tokens(window)} tokens were read, {100 * share:.0f} % of all cached."
    took = f"The model took {duration(sum(model))}, tools took {duration(sum(tools))}."
    return [
        _plot("Tokens a turn", read, numbers, token_layers, tokens, window),
        _plot("Cost so far", f"{usd(costs[-1])} at the end.", numbers, (Layer("b", "", costs),), usd),
        _plot("Seconds a turn", took, numbers, second_layers, seconds_on_axis),
    ]


def costs_so_far(turns: Sequence[Turn]) -> list[float]:
    return list(accumulate(turn.cost for turn in turns))


def _plot(
    title: str,
    description: str,
    numbers: Sequence[int],
    layers: Sequence[Layer],
    word: Callable[[float], str],
    limit: float = 0,
) -> Plot:
    """Draw the layers on top of each other. `numbers` are those of the turns."""
    rows = list(zip(numbers, zip(*(layer.values for layer in layers), strict=True), strict=True))
    size = math.ceil(len(rows) / MOST_BARS)
    shown = [max(rows[at : at + size], key=lambda row: sum(row[1])) for at in range(0, len(rows), size)]
    most: float = max(sum(values) for _, values in shown) * 1.05
    is_near = 0 < limit <= most * 2
    highest = max(most, steps(most)[-1], limit * 1.05 if is_near else 0)
    step = (WIDTH - _LEFT - _RIGHT) / len(shown)

    def middle(index: int) -> float:
        return round(_LEFT + step * (index + 0.5), 1)

    def height(value: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - max(0.0, min(1.0, value / highest))), 1)

    every = max(1, math.ceil(len(shown) / 8))
    return Plot(
        title,
        description,
        [Tick(middle(index), str(shown[index][0])) for index in range(0, len(shown), every)],
        [Tick(height(tick), word(tick)) for tick in steps(highest if is_near else most)],
        list(_bars(shown, layers, word, (middle, height, round(max(0.6, min(26, step * 0.8)), 1)))),
        Tick(height(limit), f"window, {word(limit)}") if is_near else None,
        [(layer.kind, layer.name) for layer in layers if layer.name],
    )


def _bars(
    rows: Sequence[tuple[int, Sequence[float]]],
    layers: Sequence[Layer],
    word: Callable[[float], str],
    scales: tuple[Callable[[int], float], Callable[[float], float], float],
) -> Iterator[Bar]:
    """Yield a bar for each value but zero. `scales` place a turn and a value, and are the width of a bar."""
    middle, height, wide = scales
    for index, (turn, values) in enumerate(rows):
        words = (f"{layer.name} {word(value)}" for layer, value in zip(layers, values, strict=True))
        named = f"Turn {turn}: {', '.join(map(str.lstrip, words))}"
        for layer, value, end in zip(layers, values, accumulate(values), strict=True):
            if value:
                left, upper, lower = round(middle(index) - wide / 2, 1), height(end), height(end - value)
                yield Bar(left, upper, wide, round(lower - upper, 1), layer.kind, named)


def steps(most: float) -> list[float]:
    """Return three to six round numbers from 0 to `most` or a little more."""
    if most <= 0:
        return [0, 1]
    size = 10 ** math.floor(math.log10(most))
    step = next(part * size for part in (0.2, 0.25, 0.5, 1, 2) if most <= part * size * 5.0001)
    return [round(step * number, 10) for number in range(math.ceil(most / step - 1e-9) + 1)]
