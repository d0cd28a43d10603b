"""Print the view of the evidence as Markdown, for the pull request and the job's summary. Untrusted text is filtered
here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.evidence.labels import short_tail
from bot.evidence.styled_line import Line
from bot.evidence.view import Mark, Row, Section, View
from bot.publish import markdown
from bot.publish.markdown import cell, safe_code, safe_html, safe_line, safe_tail

_MARKS: dict[Mark, str] = {"good": "✅", "bad": "❌", "attention": "⚠️", "nothing": "⚪"}
_REMARKS = 10
_CHECKS = 3


def one_line(line: Line) -> str:
    """Return one line of Markdown."""
    return "".join(_piece(piece.kind, piece.text) for piece in line)


def _piece(kind: str, text: str) -> str:
    match kind:
        case "code":
            return safe_code(text)
        case "quote":
            return safe_line(text)
        case "strong":
            return f"**{text}**"
        case _:
            return text


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table, none without a row. The change comes before both results, since a phone shows
    only the beginning of a wide table."""
    head = ["| Evidence | Change | Before → after |", "| --- | --- | --- |"] if rows else []
    return [*head, *map(_row, rows)]


def _row(row: Row) -> str:
    sides = " → ".join(one_line(side) for side in (row.before, row.after) if side)
    return f"| {_MARKS[row.mark]} {cell(one_line(row.what))} | {cell(one_line(row.change))} | {cell(sides)} |"


def remarks(view: View) -> list[str]:
    """Return the first remarks, and how many more there are in the report."""
    more = len(view.remarks) - _REMARKS
    return [
        *map(one_line, view.remarks[:_REMARKS]),
        *([f"and {more:,} more in the report"] if more > 0 else []),
    ]


def details(view: View, *, outputs: bool = True) -> Iterator[str]:
    """Yield the folded sections as HTML: tests of the first checks, and the outputs of the first failing ones."""
    shown: Counter[str] = Counter()
    for section in view.sections:
        shown[section.kind] += section.kind == "tests" or (section.kind == "output" and bool(section.grave))
        is_hidden = section.kind == "output" and not (outputs and section.grave)
        if not is_hidden and shown[section.kind] <= _CHECKS:
            yield f"<details><summary>{_summary(section)}</summary>\n\n{_text(section)}\n\n</details>"


def _summary(section: Section) -> str:
    """Return the title as HTML: a code span of Markdown does not work in it."""
    return "".join(safe_html(text) if kind == "code" else text for kind, text in section.title)


def _text(section: Section) -> str:
    if section.output:
        return markdown.fenced(safe_tail(short_tail(section.output)))
    return "\n".join(f"- {one_line(line)}" for line in section.lines)
