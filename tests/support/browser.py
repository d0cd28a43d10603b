"""Chromium for the tests of pages, and axe-core, which checks accessibility."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.support.npm import package_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_AXE = (
    "axe-core",
    "4.14.1",
    "axe.min.js",
    "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. Keep it open no longer than the tests of one file: Playwright's loop is this thread's."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program is not None
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def axe_violations(page: Page, *rules: str, below: str = "html") -> list[str]:
    """Serious and critical violations of `rules` (default: all), as `rule: first elements`."""
    if page.evaluate("() => typeof axe") == "undefined":
        page.evaluate(package_file(*_AXE).read_text(encoding="utf-8"))
    violations: Any = page.evaluate(
        "async ([below, options]) => (await axe.run(below, {resultTypes: ['violations'], ...options})).violations"
        ".map(one => ({...one, nodes: one.nodes.map(node => node.target.join(' '))}))",
        [below, {"runOnly": list(rules)} if rules else {}],
    )
    serious = [one for one in violations if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {', '.join(one['nodes'][:5])}" for one in serious]
