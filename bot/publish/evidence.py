"""The parts of the evidence's view in Markdown, for the pull request and the job's summary. Untrusted text is filtered
here and by the template `evidence.md.j2`."""

from collections import Counter
from collections.abc import Iterator

from bot.evidence.styled_line import Line
from bot.evidence.view import Mark, Section, View
from bot.publish.markdown import safe_code, safe_line

MARKS: dict[Mark, str] = {"good": "✅", "bad": "❌", "attention": "⚠️", "nothing": "⚪"}
_CHECKS = 3


def one_line(line: Line) -> str:
    """Return one line of Markdown."""
    printers = {"code": safe_code, "quote": safe_line, "strong": "**{}**".format}
    return "".join(printers.get(piece.kind, str)(piece.text) for piece in line)


def folded_sections(view: View, *, outputs: bool = True) -> Iterator[Section]:
    """Yield the sections to show: tests of the first checks, and the outputs of the first failing ones."""
    shown: Counter[str] = Counter()
    for section in view.sections:
        shown[section.kind] += section.kind == "tests" or (section.kind == "output" and bool(section.grave))
        is_hidden = section.kind == "output" and not (outputs and section.grave)
        if not is_hidden and shown[section.kind] <= _CHECKS:
            yield section
