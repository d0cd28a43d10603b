"""Makes the picture of a pull request that the README shows: the demo's, as the forge shows it.

python -m tests.support.demo_image
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys

from playwright.sync_api import Page

from tests.support.browser import chromium
from tests.support.report_images import FOLDER, smaller

_WIDTH = 1100
# Fonts without emoji show boxes in their place.
_PLAIN = {"✅": "☑", "❌": "☒", "⚪": "○"}


def main() -> None:
    command = [sys.executable, "-m", "bot", "demo", "--keep"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            pull = _pull(demo)
            with chromium() as browser:
                page = browser.new_page(viewport={"width": _WIDTH, "height": 800}, color_scheme="light")
                page.goto(pull)
                _without_emoji(page)
                thread = page.locator(".thread").bounding_box()
                assert thread is not None
                page.set_viewport_size({"width": _WIDTH, "height": int(thread["y"] + thread["height"])})
                (FOLDER / "pull-request.png").write_bytes(smaller(page.screenshot()))
        finally:
            demo.send_signal(signal.SIGINT)


def _pull(demo: subprocess.Popen[str]) -> str:
    assert demo.stdout is not None
    pull = ""
    for line in demo.stdout:
        if found := re.match(r"pull +(\S+)", line):
            pull = found[1]
        if "press Ctrl-C" in line:
            return pull
    raise SystemExit("The demo came to no pull request.")


def _without_emoji(page: Page) -> None:
    page.evaluate(
        """plain => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
          while (walker.nextNode())
            for (const [one, other] of Object.entries(plain))
              walker.currentNode.data = walker.currentNode.data.replaceAll(one, other)
        }""",
        _PLAIN,
    )


if __name__ == "__main__":
    main()
