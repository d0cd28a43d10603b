"""Markdown as safe HTML, and the templates of the pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slash_forge.shapes.site import Site
from slash_forge.state import Repository, User

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

# Tags without attributes are harmless, and so is `open`.
_BARE_TAG = re.compile(
    r"</?(?:details|summary|sub|sup|kbd|b|i|em|strong|br|hr|p|table|thead|tbody|tr|th|td|code|pre|ul|ol|li)"
    r"(?: open)?\s*/?>",
    re.IGNORECASE,
)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE = re.compile(
    r"(?<![\w&/#])#(?P<number>[1-9]\d{0,8})\b|(?<![\w/@.])@(?P<login>[A-Za-z0-9-]{1,39})\b"
)
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]")
_CHECKBOX = re.compile(r"\[([ xX])\] ")


def render(text: str, repository_url: str) -> str:
    """Markdown as HTML. `#12` becomes a link to that thread of the repository at `repository_url`."""
    return str(_parser(repository_url).render(text))


def _parser(repository_url: str) -> MarkdownIt:
    from markdown_it import MarkdownIt

    def words(self: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        text = tokens[index].content
        inside_link = sum(token.nesting for token in tokens[:index] if token.type.startswith("link_"))
        checkbox = _CHECKBOX.match(text) if index == 0 else None
        content = text[checkbox.end() :] if checkbox else text
        html = escape(content) if inside_link else _linked(content, repository_url)
        if checkbox is None:
            return html
        ticked = " checked" if checkbox[1] in "xX" else ""
        return f'<input type="checkbox" disabled{ticked}> {html}'

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.core.ruler.push("alerts", _alerts)
    parser.add_render_rule("html_block", _safe_html)
    parser.add_render_rule("html_inline", _safe_html)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("text", words)
    parser.add_render_rule("fence", _fence)
    return parser


def _alerts(state: StateCore) -> None:
    """A quote whose first line is `[!WARNING]` or similar becomes an alert with that heading."""
    for start, inline in zip(state.tokens, state.tokens[2:], strict=False):
        parts = inline.children or []
        if start.type != "blockquote_open" or len(parts) < 2 or parts[1].type != "softbreak":
            continue
        if named := _ALERT.fullmatch(parts[0].content):
            start.attrSet("class", f"alert {named[1].lower()}")
            parts[0].content = named[1].capitalize()
            parts[1].type = "hardbreak"


def _safe_html(self: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    return safe_html(tokens[index].content)


def safe_html(text: str) -> str:
    """Remove comments, keep bare tags, and escape everything else."""
    text = _HTML_COMMENT.sub("", text)
    out, end = [], 0
    for match in _BARE_TAG.finditer(text):
        out += [_text(text[end : match.start()]), match[0].lower()]
        end = match.end()
    out.append(_text(text[end:]))
    return "".join(out)


def _text(html: str) -> str:
    return escape(unescape(html))


def _fence(self: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """A code block; a suggestion gets a heading."""
    code = f"<pre><code>{escape(tokens[index].content)}</code></pre>\n"
    if tokens[index].info.strip() != "suggestion":
        return code
    return f'<div class="suggestion"><span class="quiet">Suggested change</span>{code}</div>\n'


def _image(self: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Only the alternative text: a page loads nothing from other hosts."""
    return f'<span class="image">{escape(tokens[index].content)}</span>'


def _linked(text: str, repository_url: str) -> str:
    def link(match: re.Match[str]) -> str:
        if match["number"]:
            return f'<a href="{escape(repository_url)}/issues/{match["number"]}">{match[0]}</a>'
        return f'<span class="mention">{match[0]}</span>'

    return _REFERENCE.sub(link, escape(text, quote=False))


_FOLDER = Path(__file__).parent
_FACES = {
    "+1": "👍",
    "-1": "👎",
    "laugh": "😄",
    "hooray": "🎉",
    "confused": "😕",
    "heart": "❤️",
    "rocket": "🚀",
    "eyes": "👀",
}


def environment(site: Site) -> Environment:
    def markdown(text: str | None, repo: Repository) -> Markup:
        # `render` returns safe HTML.
        return Markup(render(text or "", f"{site.html}/{repo.full_name}"))  # noqa: S704

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The style sheet is part of the package.
    environment.globals["style"] = Markup((_FOLDER / "page.css").read_text())  # noqa: S704
    environment.globals["root"] = site.html
    environment.filters["markdown"] = markdown
    environment.filters["day"] = _day
    environment.filters["hue"] = _hue
    environment.filters["login"] = _login
    environment.filters["face"] = _FACES.__getitem__
    environment.filters["blocks"] = _blocks
    return environment


def _login(user: User | None) -> str:
    return user.login.removesuffix("[bot]") if user else "ghost"


def _hue(user: User | None) -> int:
    """The colour of an account, in degrees."""
    return user.id * 47 % 360 if user else 0


def _day(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%-d %b %Y, %H:%M")


def _blocks(additions: int, deletions: int) -> list[str]:
    """Five squares, green and red by their share."""
    total = additions + deletions
    if not total:
        return ["none"] * 5
    filled = min(total, 5)
    green = round(additions / total * filled)
    if additions and deletions and filled > 1:
        green = min(max(green, 1), filled - 1)
    return ["added"] * green + ["removed"] * (filled - green) + ["none"] * (5 - filled)
