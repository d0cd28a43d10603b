"""The HTML page of a run, from its journal alone: one file, nothing fetched.

Everything in a journal may be hostile: it quotes a model, a repository and strangers. The templates escape without
exception, invisible characters are made visible, and a content policy lets only the page's own style and script in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bot.agent.journal_file import JournalFile, read_journal
from bot.contracts.journal import SCHEMA_VERSION
from bot.contracts.limits import Limits
from bot.contracts.wording import count_of, duration, ending, money
from bot.report import evidence, words
from bot.report.colours import Colours
from bot.report.context import points_of
from bot.report.diffs import diff_of
from bot.report.handed import handed_over
from bot.report.inputs import people_see
from bot.report.pictures import Pictures
from bot.report.plots import plots_of
from bot.report.story import Said, Story
from bot.report.telling import tell
from bot.report.visible import make_visible, safe_link

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_FOLDER = Path(__file__).parent / "templates"
_PARTS = (("question", "Question"), ("plan", "Plan"), ("findings", "Findings"), ("evidence", "Evidence"),
          ("files", "Files"), ("figures", "Figures"), ("timeline", "What happened"),
          ("given", "What the model was given"))  # fmt: skip
_NAMED = 10


def render_page(journal_path: Path) -> str:
    """The page for a journal, also one whose run was killed, and one of a newer program as far as it is understood.
    Raises `UsageError` where it is not a journal."""
    return render(read_journal(journal_path, lenient=True))


def render(journal: JournalFile) -> str:
    """`render_page` for a journal that was read already."""
    story, handed, colours = tell(journal), handed_over(journal), Colours()
    points = points_of(story)
    plots = plots_of(points, journal.header.info.context_window)
    given = {"question": handed.question, "plan": handed.plan, "findings": handed.findings, "figures": plots}
    return _template().render(
        header=journal.header,
        story=story,
        handed=handed,
        notices=list(_notices(journal)),
        parts=[(anchor, name) for anchor, name in _PARTS if given.get(anchor, True)],
        checks=evidence.checks_of(story),
        checkers=evidence.checkers_of(story.evidence),
        coverage=evidence.coverage_of(story.evidence),
        servers=story.evidence.servers if story.evidence else (),
        points=points,
        plots=plots,
        longest=words.longest_for(_sizes(story)),
        diff_of=partial(diff_of, colours=colours),
        code_lines=lambda text, path: colours.lines(path, text),
        picture=Pictures().address,
    )


class Asset(NamedTuple):
    """A file of this package that stands in the page as it is, and the hash by which the page lets it in."""

    text: Markup
    hash: str


@cache
def _template() -> jinja2.Template:
    """Compiled once: it takes a third of a second."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=make_visible(),
        auto_reload=False,
    )
    environment.filters.update(
        short=words.shortened,
        usd=words.usd,
        tokens=words.tokens,
        word=words.plain_word,
        seconds=duration,
        count_of=count_of,
        ending=ending,
        link=safe_link,
        thousands="{:,}".format,
        people_see=people_see,
        limit_words=limit_words,
        answer=evidence.answer_word,
        check_class=evidence.check_class,
        ranges=evidence.missed_lines,
    )
    for name in environment.list_templates(extensions=["j2"]):
        environment.get_template(name)
    environment.globals.update(style=_asset("page.css"), script=_asset("page.js"))
    return environment.get_template("page.html.j2")


def _asset(name: str) -> Asset:
    from markupsafe import Markup

    text = (_FOLDER / name).read_text(encoding="utf-8")
    assert "</" not in text, f"{name} could end its own element"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return Asset(Markup(text), f"sha256-{digest}")  # noqa: S704 - a file of this package


def limit_words(limits: Limits) -> Sequence[str]:
    named = (
        (limits.turns, "{:,} turns"),
        (limits.tokens, "{:,} tokens"),
        (limits.cost_usd and money(limits.cost_usd), "{}"),
        (limits.minutes, "{:g} minutes"),
        (limits.commands, "{:,} commands"),
        (limits.output and limits.output / (1 << 20), "{:,.4g} MiB of output"),
    )
    return [said.format(value) for value, said in named if value is not None]


def _notices(journal: JournalFile) -> Iterator[str]:
    """What a reader must know of the journal itself."""
    header = journal.header
    if header.schema > SCHEMA_VERSION:
        yield (
            f"This journal was written by Slash Agent {header.version} in journal schema {header.schema}; this program "
            f"reads up to {SCHEMA_VERSION}. What it understands is below; install a newer one for the rest."
        )
    if unread := journal.unread:
        more = f" and {len(unread) - _NAMED:,} more" if len(unread) > _NAMED else ""
        numbers = ", ".join(map(str, unread[:_NAMED]))
        yield f"{count_of(unread, 'line')} of the journal could not be understood and left out here: {numbers}{more}."
    if journal.cut:
        yield journal.cut


def _sizes(story: Story) -> Iterator[int]:
    """How long the texts of a story are that a page may have to shorten."""
    for item in story.timeline:
        if isinstance(item, Said):
            yield len(item.text)
            continue
        yield from (len(text) for text in (*item.texts, *item.thoughts))
        for call in item.calls:
            yield from (len(field.text) for field in call.inputs)
            yield len(call.result.content) if call.result else 0
            for agent in call.agents:
                yield from _sizes(agent.story)
