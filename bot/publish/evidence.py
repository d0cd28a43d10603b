"""Print the view of the evidence as Markdown, for the pull request and the job's summary. Untrusted text is filtered
here."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.evidence.labels import short_tail
from bot.evidence.styled_line import Line
from bot.evidence.view import Mark, Row, View
from bot.publish import markdown
from bot.publish.markdown import cell, safe_code, safe_html, safe_line, safe_tail

_MARKS: dict[Mark, str] = {"good": "✅", "bad": "❌", "attention": "⚠️", "nothing": "⚪"}
_REMARKS = 10
_CHECKS = 3


def one_line(line: Line) -> str:
    """Return one line of Markdown."""
    printers = {"code": safe_code, "quote": safe_line, "strong": "**{}**".format}
    return "".join(printers.get(piece.kind, str)(piece.text) for piece in line)


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the table. The change comes first, since a phone shows only the beginning of a wide table."""
    head = ["| Evidence | Change | Before → after |", "| --- | --- | --- |"] if rows else []
    return [*head, *map(_row, rows)]


def _row(row: Row) -> str:
    sides = " → ".join(one_line(side) for side in (row.before, row.after) if side)
    return f"| {_MARKS[row.mark]} {cell(one_line(row.what))} | {cell(one_line(row.change))} | {cell(sides)} |"


def remarks(view: View) -> list[str]:
    """Return the first remarks, and how many more there are in the report."""
    more = len(view.remarks) - _REMARKS
    listed = list(map(one_line, view.remarks[:_REMARKS]))
    return [*listed, f"and {more:,} more in the report"] if more > 0 else listed


def details(view: View, *, outputs: bool = True) -> Iterator[str]:
    """Yield the folded sections as HTML: tests of the first checks, and the outputs of the first failing ones."""
    shown: Counter[str] = Counter()
    for section in view.sections:
        shown[section.kind] += section.kind == "tests" or (section.kind == "output" and bool(section.grave))
        is_hidden = section.kind == "output" and not (outputs and section.grave)
        if not is_hidden and shown[section.kind] <= _CHECKS:
            # A code span of Markdown does not work in a title.
            title = "".join(safe_html(text) if kind == "code" else text for kind, text in section.title)
            text = "\n".join(f"- {one_line(line)}" for line in section.lines)
            if section.output:
                text = markdown.fenced(safe_tail(short_tail(section.output)))
            yield f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
