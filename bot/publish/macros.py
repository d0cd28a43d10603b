"""The Markdown templates of bodies, comments and summaries. Their filters escape what others wrote."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bot.contracts.formatting import count_of, money
from bot.evidence.labels import short_tail
from bot.evidence.look_first import denied, held_back
from bot.evidence.styled_line import Line
from bot.evidence.view import Mark, Section, View
from bot.publish.markdown import (
    block,
    cell,
    code,
    fenced,
    plain,
    quoted,
    safe_code,
    safe_html,
    safe_line,
    safe_markdown,
    safe_tail,
)
from bot.review.diff_text import path_of
from bot.review.known_findings import counts

_MARKS: dict[Mark, str] = {"good": "✅", "bad": "❌", "attention": "⚠️", "nothing": "⚪"}
_CHECKS = 3


def one_line(line: Line) -> str:
    """Return one line of Markdown."""
    printers = {"code": safe_code, "quote": safe_line, "strong": "**{}**".format}
    return "".join(printers.get(piece.kind, str)(piece.text) for piece in line)


def folded_sections(view: View, *, outputs: bool = True) -> Iterator[Section]:
    """Yield the sections to show: tests of the first checks, and the outputs of the first failing ones."""
    counts: Counter[str] = Counter()
    for section in view.sections:
        counts[section.kind] += section.kind == "tests" or (section.kind == "output" and bool(section.grave))
        is_hidden = section.kind == "output" and not (outputs and section.grave)
        if not is_hidden and counts[section.kind] <= _CHECKS:
            yield section


_FOLDER = Path(__file__).parent / "templates"


@cache
def macros_of(name: str, folder: Path = _FOLDER) -> Any:
    """Return the macros of the template `name`, which may import those of this package."""
    import jinja2  # takes 60 ms that a refusal does not need

    templates = jinja2.Environment(
        autoescape=False,  # noqa: S701 - it is Markdown
        loader=jinja2.FileSystemLoader([folder, _FOLDER]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        md=safe_markdown,
        line=safe_line,
        line_code=safe_code,
        html=safe_html,
        whole=lambda text: safe_line(text, 4 * len(text) + 100),  # escaping lengthens it
        whole_code=lambda text: safe_code(text, 4 * len(text) + 100),
        tail=lambda output: fenced(safe_tail(short_tail(output))),
        word=lambda value: value.replace("_", " "),  # of an enum
        mark=_MARKS.__getitem__,
        block=block,
        cell=cell,
        code=code,
        count_of=count_of,
        counts=counts,
        denied=denied,
        held_back=held_back,
        money=money,
        one_line=one_line,
        path_of=path_of,
        plain=plain,
        quoted=quoted,
    )
    return templates.get_template(f"{name}.md.j2").module
