"""Compute plots over the turns of a run: tokens, cache share, cost, seconds. The template draws them as SVG."""

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
MOST_MARKS = 240
"""The most points. With more turns, several share a point, which shows the largest value."""


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


class Layer(NamedTuple):
    """One value a turn. `kind` is the CSS class of its bars, empty for a line."""

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
    bars: Sequence[Mark]
    dots: Sequence[Mark]
    limit: Tick | None
    legend: Sequence[tuple[str, str]]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def line(self) -> str:
        return "M" + " L".join(f"{dot.x} {dot.y}" for dot in self.dots) if self.dots else ""

    @property
    def area(self) -> str:
        floor = HEIGHT - _BOTTOM
        return f"{self.line} L{self.dots[-1].x} {floor} L{self.dots[0].x} {floor} Z" if self.dots else ""


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
    cached = (Layer("", "", [turn.cached for turn in turns]),)
    at_most = f"At most {tokens(max(held))} of {tokens(window)} tokens."
    from_cache = f"{100 * share:.0f} % of all tokens read came from the cache."
    took = f"The model took {duration(sum(model))}, tools took {duration(sum(tools))}."
    return [
        _plot("Context held", at_most, numbers, (Layer("", "", held),), tokens, limit=window),
        _plot("Share from cache", from_cache, numbers, cached, lambda value: f"{value:.0f} %", top=100),
        _plot("Tokens a turn", "Read and written.", numbers, token_layers, tokens),
        _plot("Cost so far", f"{usd(costs[-1])} at the end.", numbers, (Layer("", "", costs),), usd),
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
    top: float = 0,
    limit: float = 0,
) -> Plot:
    """Draw the layers on top of each other, or a single one without a class as a line. `numbers` are those of the
    turns."""
    rows = list(zip(numbers, zip(*(layer.values for layer in layers), strict=True), strict=True))
    size = math.ceil(len(rows) / MOST_MARKS)
    shown = [max(rows[at : at + size], key=lambda row: sum(row[1])) for at in range(0, len(rows), size)]
    most = top or max(sum(values) for _, values in shown) * 1.05
    is_near = 0 < limit <= most * 2
    highest = max(most, steps(most)[-1], limit * 1.05 if is_near else 0)
    step = (WIDTH - _LEFT - _RIGHT) / len(shown)
    middles = [round(_LEFT + step * (index + 0.5), 1) for index in range(len(shown))]

    def height(value: float) -> float:
        return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - max(0.0, min(1.0, value / highest))), 1)

    is_line = not layers[0].kind
    marks = list(
        _marks(shown, layers, middles, 0 if is_line else max(0.6, min(26, step * 0.8)), height, word)
    )
    every = max(1, math.ceil(len(shown) / 8))
    return Plot(
        title,
        description,
        [Tick(middles[index], str(shown[index][0])) for index in range(0, len(shown), every)],
        [Tick(height(tick), word(tick)) for tick in steps(highest if is_near else most)],
        bars=() if is_line else marks,
        dots=marks if is_line else (),
        limit=Tick(height(limit), f"window, {word(limit)}") if is_near else None,
        legend=[(layer.kind, layer.name) for layer in layers if layer.kind],
    )


def _marks(
    shown: Sequence[tuple[int, Sequence[float]]],
    layers: Sequence[Layer],
    middles: Sequence[float],
    wide: float,
    height: Callable[[float], float],
    word: Callable[[float], str],
) -> Iterator[Mark]:
    """Yield the bars of each turn, `wide` pixels, or the dot of each if they have no width."""
    for middle, (turn, values) in zip(middles, shown, strict=True):
        named = ", ".join(
            f"{layer.name} {word(value)}".lstrip() for layer, value in zip(layers, values, strict=True)
        )
        for layer, value, end in zip(layers, values, accumulate(values), strict=True):
            upper, lower = height(end), height(end - value if wide else end)
            if value or not wide:
                left = round(middle - wide / 2, 1)
                tall = round(lower - upper, 1)
                yield Mark(left, upper, round(wide, 1), tall, layer.kind or "dot", f"Turn {turn}: {named}")


def steps(most: float) -> list[float]:
    """Return three to six round numbers from 0 to `most` or a little more."""
    if most <= 0:
        return [0, 1]
    size = 10 ** math.floor(math.log10(most))
    step = next(part * size for part in (0.2, 0.25, 0.5, 1, 2) if most <= part * size * 5.0001)
    return [round(step * number, 10) for number in range(math.ceil(most / step - 1e-9) + 1)]
