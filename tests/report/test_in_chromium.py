"""The report in a real browser: it opens without the network, and nothing that a journal says can run."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.report.page import render_page
from tests.support.record_demo import RECORDING

pytestmark = pytest.mark.chromium


def _dom(page: Path, profile: Path) -> str:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_recorded_run_is_shown(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_page(RECORDING), encoding="utf-8")
    assert "Round durations before splitting them into units" in _dom(page, tmp_path / "profile")


def test_a_script_in_the_journal_does_not_run(tmp_path: Path) -> None:
    hostile = '<script>document.title=\\"owned\\"</script><img src=x onerror=\\"document.title=1\\">'
    journal = tmp_path / "journal.jsonl"
    journal.write_text(RECORDING.read_text().replace("Durations are rounded", hostile))
    page = tmp_path / "report.html"
    page.write_text(render_page(journal), encoding="utf-8")
    dom = _dom(page, tmp_path / "profile")
    assert "document.title" in dom, "the hostile text is there to be read"
    assert "<title>owned" not in dom
    assert "<title>1" not in dom
