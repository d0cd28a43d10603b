"""Makes the pictures of the page that `docs/report.md` shows, from the run that its tests look at.

python -m tests.support.report_images
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from bot.report.page import render_page
from tests.support.browser import chromium
from tests.support.report_runs import sample

FOLDER = Path(__file__).parents[2] / "docs" / "images"
COLOURS = 256
_WIDE, _NARROW = (1200, 820), (390, 760)


def summary(page: Page) -> None:
    """As it opens."""


def step(page: Page) -> None:
    """An edit with its decision, its diff and the problem that it made."""
    page.evaluate("() => { location.hash = '#turn-2-call-1' }")


def sides(page: Page) -> None:
    """A diff in two columns, in the dark."""
    page.keyboard.press("d")
    page.evaluate("() => { location.hash = '#turn-3-call-1' }")


def search(page: Page) -> None:
    """A search, and what is left of the timeline."""
    page.locator("#query").fill("unittest")
    page.locator("#query").press("Enter")
    page.keyboard.press("n")


def figures(page: Page) -> None:
    """Files with their versions, and the plots."""
    page.locator("#files .file summary").first.click()
    page.locator(".show-diff").first.click()
    page.locator("#files").evaluate("section => section.scrollIntoView()")


PICTURES: dict[str, tuple[Callable[[Page], None], tuple[int, int], str]] = {
    "summary": (summary, _WIDE, "light"),
    "step": (step, _WIDE, "light"),
    "sides": (sides, _WIDE, "dark"),
    "search": (search, _WIDE, "light"),
    "figures": (figures, (1200, 1260), "light"),
    "phone": (step, _NARROW, "light"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "report.html"
        file.write_text(render_page(sample(Path(folder) / "journal.jsonl")), encoding="utf-8")
        for name in PICTURES:
            (FOLDER / f"report-{name}.png").write_bytes(_picture(browser, file.as_uri(), name))


def _picture(browser: Browser, address: str, name: str) -> bytes:
    act, (width, height), scheme = PICTURES[name]
    page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto(address)
    act(page)
    page.wait_for_timeout(400)
    image = page.screenshot(animations="disabled", caret="hide")
    page.close()
    return smaller(image)


def smaller(image: bytes) -> bytes:
    """A PNG with no more colours than it takes."""
    small = io.BytesIO()
    Image.open(io.BytesIO(image)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


if __name__ == "__main__":
    main()
