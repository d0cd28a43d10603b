"""A row a figure, and the table they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`met` is `None` where nothing is promised."""

    figure: str
    ours: str
    compared: str
    ratio: str
    target: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "missed", None: ""}[self.met]


HEADER = ("figure", "ours", "compared with", "ratio", "target", "")


def render(rows: Sequence[Row]) -> str:
    """A Markdown table, aligned for a terminal."""
    cells = [(row.figure, row.ours, row.compared, row.ratio, row.target, row.verdict) for row in rows]
    return align([HEADER, *cells])


def align(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as a Markdown table; the first line is its head."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    head, *body = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([head, rule, *body])
