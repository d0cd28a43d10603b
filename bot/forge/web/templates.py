"""The template engine of the pages: escaping on, missing names are errors."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.forge.shapes.site import Site
from bot.forge.state import Repository, User
from bot.forge.web.markup import render

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
        # `render` lets through nothing that can act.
        return Markup(render(text or "", f"{site.html}/{repo.full_name}"))  # noqa: S704

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The style sheet is a file of ours.
    made.globals["style"] = Markup((_FOLDER / "page.css").read_text())  # noqa: S704
    made.globals["root"] = site.html
    made.filters["markdown"] = markdown
    made.filters["day"] = _day
    made.filters["hue"] = _hue
    made.filters["login"] = _login
    made.filters["face"] = _FACES.__getitem__
    made.filters["blocks"] = _blocks
    return made


def _login(user: User | None) -> str:
    return user.login.removesuffix("[bot]") if user else "ghost"


def _hue(user: User | None) -> int:
    """A colour of their own, in degrees."""
    return user.id * 47 % 360 if user else 0


def _day(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%-d %b %Y, %H:%M")


def _blocks(additions: int, deletions: int) -> list[str]:
    """Five squares, green and red by their share."""
    total = additions + deletions
    if not total:
        return ["none"] * 5
    shown = min(total, 5)
    green = round(additions / total * shown)
    if additions and deletions and shown > 1:
        green = min(max(green, 1), shown - 1)
    return ["added"] * green + ["removed"] * (shown - green) + ["none"] * (5 - shown)
