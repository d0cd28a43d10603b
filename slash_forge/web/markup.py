"""Markdown as HTML for the pages, and their templates."""

from __future__ import annotations

import re
from datetime import datetime
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from slash_forge.rendering import to_html
from slash_forge.shapes.site import Site
from slash_forge.state import Repository, User

_ALERT = re.compile(r"<blockquote>\n<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]<br")
_IMAGE = re.compile(r"<img\b[^>]*>")
_ALTERNATIVE = re.compile(r'\balt="([^"]*)"')
_SUGGESTION = re.compile(r'<pre lang="suggestion">.*?</pre>', re.DOTALL)
# A link or code as a whole, a tag, or a reference in the text between them.
_REFERENCE = re.compile(
    r"<(a|code|pre)\b.*?</\1>|<[^>]*>|&[^;\s]{1,9};|(?<![\w/#])#(?P<number>[1-9]\d{0,8})\b"
    r"|(?<![\w/@.])@(?P<login>[A-Za-z0-9-]{1,39})\b",
    re.DOTALL,
)


def render(text: str, repository_url: str) -> str:
    """Markdown as safe HTML. `#12` becomes a link to that thread of the repository at `repository_url`."""

    def refer(match: re.Match[str]) -> str:
        if match["number"]:
            return f'<a href="{escape(repository_url)}/issues/{match["number"]}">{match[0]}</a>'
        return f'<span class="mention">{match[0]}</span>' if match["login"] else match[0]

    html = _ALERT.sub(_alert, _IMAGE.sub(_image, to_html(text)))
    html = _SUGGESTION.sub(
        r'<div class="suggestion"><span class="quiet">Suggested change</span>\g<0></div>', html
    )
    return _REFERENCE.sub(refer, html)


def _alert(match: re.Match[str]) -> str:
    return f'<blockquote class="alert {match[1].lower()}">\n<p>{match[1].capitalize()}<br'


def _image(match: re.Match[str]) -> str:
    """Only the alternative text: a page loads nothing from other hosts."""
    alternative = _ALTERNATIVE.search(match[0])
    return f'<span class="image">{alternative[1] if alternative else ""}</span>'


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
        return Markup(render(text or "", f"{site.html}/{repo.full_name}"))  # noqa: S704 - sanitized

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
