"""The HTML page of a run, from its journal alone: one file, no script, nothing fetched.

Everything in a journal may be hostile: it quotes a model, a repository and strangers. The template escapes
without exception, invisible characters are made visible, and a content policy forbids scripts besides.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bot.agent.journal import JournalFile, read_journal
from bot.contracts.wording import count_of, duration
from bot.report.handed import handed_over
from bot.report.story import shortened, tell

if TYPE_CHECKING:
    import jinja2

_TEMPLATE = "page.html.j2"
_KEPT_CONTROLS = frozenset("\n\t")


def render_page(journal_path: Path) -> str:
    """The page for a journal, also one whose run was killed. Raises `UsageError` where it is not a journal."""
    return render(read_journal(journal_path))


def render(journal: JournalFile) -> str:
    """`render_page` for a journal that was read already."""
    return _template().render(
        header=journal.header, story=tell(journal), handed=handed_over(journal), cut=journal.cut
    )


@cache
def _template() -> jinja2.Template:
    """Compiled once: it takes a third of a second."""
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters.update(
        short=shortened,
        diff_lines=diff_lines,
        usd=usd,
        seconds=duration,
        count_of=count_of,
        link=safe_link,
        thousands="{:,}".format,
    )
    return environment.get_template(_TEMPLATE)


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Each line with its kind: `add`, `del`, `hunk`, `head` or nothing."""
    kinds = (("+++ ", "head"), ("--- ", "head"), ("@@", "hunk"), ("+", "add"), ("-", "del"))
    rows = []
    for row in shortened(diff.removesuffix("\n")).split("\n"):
        kind = next((kind for start, kind in kinds if row.startswith(start)), "")
        rows.append((kind, row))
    return rows


def usd(amount: float) -> str:
    return f"${amount:.4f}" if amount < 0.1 else f"${amount:.2f}"


def safe_link(url: str) -> str:
    """`url` where a browser may follow it, else nothing: a journal could name `javascript:`."""
    return url if url.startswith(("https://", "http://")) else ""


def _visible(value: object) -> object:
    """Control and format characters as `\\u` escapes: they could hide or turn around what a person reads.

    What has markup is a macro's output, whose values went through here one by one.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    if value.isascii() and value.isprintable():
        return value
    return "".join(character if _is_plain(character) else _escape(character) for character in value)


def _is_plain(character: str) -> bool:
    return character in _KEPT_CONTROLS or unicodedata.category(character) not in (
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    )


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
