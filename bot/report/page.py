"""Render the HTML page of a run from its journal: one file that loads nothing.

Everything in a journal may be hostile: it contains text of a model, a repository and strangers. The templates escape
everything, invisible characters are made visible, and a content security policy allows only the page's own style and
script.
"""

import base64
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from bot.agent.journal import JournalFile, read_journal
from bot.agent.message_history import cut_middle
from bot.contracts.formatting import count_of, duration, exit_text, money
from bot.contracts.journal import RunEnded
from bot.contracts.messages import Image
from bot.contracts.regular_files import read_regular
from bot.contracts.request import RunLimits
from bot.publish.bundle import PATCH, PATCH_LIMIT
from bot.report import text as words
from bot.report.build_timeline import build_timeline
from bot.report.call_filters import FILTERS
from bot.report.first_screen import FirstScreen, Handover, build_first_screen, handover_of, suggestion_diff
from bot.report.timeline import Timeline

_FOLDER = Path(__file__).parent / "templates"
_PARTS = (
    ("change", "The change"),
    ("question", "Question"),
    ("plan", "Plan"),
    ("findings", "Findings"),
    ("evidence", "Evidence"),
    ("files", "Files"),
    ("figures", "Figures"),
    ("timeline", "What happened"),
    ("about", "About the run"),
    ("given", "What the model received"),
)
LARGEST = 10_000_000
"""Bytes of a page."""


class Detail(NamedTuple):
    """Limits of a page: characters of a text, rows of a diff, steps of the timeline, entries of another list."""

    text: int
    rows: int
    steps: int
    entries: int


_DETAILS = (
    Detail(words.LONGEST, 600, 10_000, 500),
    Detail(6_000, 600, 10_000, 500),
    Detail(4_000, 200, 600, 100),
    Detail(300, 10, 20, 10),
)


def render_page(journal_path: Path, patch: bytes | None = None) -> str:
    """Return the page for a journal, also that of a killed run.

    `patch` is the published change; without it `changes.patch` beside the journal is used if its hash is in the
    journal. Raises `UsageError` if the file is not a journal.
    """
    journal = read_journal(journal_path)
    if patch is None:
        ended = [*journal.records(RunEnded)][-1:]
        with suppress(OSError):
            beside = read_regular(journal_path.with_name(PATCH), PATCH_LIMIT)
            patch = beside if ended and sha256(beside).hexdigest() == ended[0].patch_sha256 else None
    return render(journal, patch)


def render(journal: JournalFile, patch: bytes | None) -> str:
    """`render_page` for a journal that was read. What would make the page larger than `LARGEST` is only counted."""
    timeline, handover = build_timeline(journal), handover_of(journal)
    first_screen = build_first_screen(journal, timeline, handover.description, patch)
    for net in first_screen.files:
        if row := timeline.files.get(net.path):
            row.additions, row.removals, row.net = net.additions, net.removals, True
    page = ""
    for detail in _DETAILS:
        page = _render(journal, timeline, handover, first_screen, detail)
        if len(page.encode()) <= LARGEST:
            break
    return page


def _render(
    journal: JournalFile, timeline: Timeline, handover: Handover, first_screen: FirstScreen, detail: Detail
) -> str:
    turns = timeline.turns
    sections = {
        "change": first_screen.files,
        "question": handover.question,
        "plan": handover.plan,
        "findings": handover.findings,
        "figures": turns,
    }
    return _template().render(
        header=journal.header,
        timeline=timeline,
        handover=handover,
        first_screen=first_screen,
        detail=detail,
        notices=[journal.damage] if journal.damage else [],
        parts=[(anchor, name) for anchor, name in _PARTS if sections.get(anchor, True)],
        view=first_screen.view,
        points=list(zip(turns, accumulate(turn.cost for turn in turns), strict=True)),
        longest=detail.text,
        suggestion_diff=suggestion_diff,
        diff_of=partial(words.diff_of, most=detail.rows),
        picture=pictures(),
    )


class Asset(NamedTuple):
    """A file of this package that is embedded in the page, and its hash for the content security policy."""

    text: Markup
    hash: str


@cache
def _template() -> jinja2.Template:
    """Cached, since compiling takes 0.17 s."""
    templates = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=words.make_visible,
    )
    templates.filters.update(
        short=cut_middle,
        markdown=words.markdown,
        markdown_line=words.markdown_line,
        bounded=bounded,
        usd=words.usd,
        word=lambda value: value.replace("_", " "),  # of an enum
        seconds=duration,
        count_of=count_of,
        ending=exit_text,
        link=words.safe_link,
        thousands="{:,}".format,
        limit_words=limit_words,
    )
    templates.globals.update(filters=FILTERS, style=_asset("page.css"), script=_asset("page.js"))
    return templates.get_template("page.html.j2")


def _asset(name: str) -> Asset:
    text = (_FOLDER / name).read_text(encoding="utf-8")
    assert "</" not in text, f"{name} could end its own element"
    digest = base64.b64encode(sha256(text.encode()).digest()).decode("ascii")
    return Asset(Markup(text), f"sha256-{digest}")  # noqa: S704 - a file of this package


def bounded(items: Iterable[object], most: int) -> list[object]:
    """Return the first and the last items, at most `most`, and between them the number of those left out."""
    listed = list(items)
    if len(listed) <= most:
        return listed
    head, tail = most - most // 2, most // 2
    return [*listed[:head], len(listed) - most, *listed[len(listed) - tail :]]


def limit_words(limits: RunLimits) -> Sequence[str]:
    named = (
        (limits.turns, "{:,} turns"),
        (limits.tokens, "{:,} tokens"),
        (limits.cost_usd and money(limits.cost_usd), "{}"),
        (limits.minutes, "{:g} minutes"),
        (limits.commands, "{:,} commands"),
        (limits.output and limits.output / (1 << 20), "{:,.4g} MiB of output"),
    )
    return [phrase.format(value) for value, phrase in named if value is not None]


MAX_PICTURE = 400_000
BUDGET = 4_000_000
"""Bytes of one picture, and of all pictures of a page."""

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


def pictures(left: int = BUDGET) -> Callable[[Image], str]:
    """Return the addresses of the pictures of one page: those beyond the budget are only named."""

    def address(image: Image) -> str:
        """Return a `data:` address; empty for a picture that is too large, and for what may hold more than pixels."""
        nonlocal left
        size = len(image.data)
        if image.media_type not in _SHOWN or size > min(MAX_PICTURE, left):
            return ""
        left -= size
        return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"

    return address
