"""Each figure's harness, once and tiny: that it measures what it says. What it finds is nobody's test."""

import pytest

from benchmarks import figures
from benchmarks.figures import FIGURES, Bench, Scale
from benchmarks.session import ROOT, VENDORS

TINY = Scale(
    runs=1,
    warm_up=False,
    turns=2,
    early=2,
    late=4,
    spread=1,
    diff_files=4,
    reviews=4,
    comments=30,
    patched_files=3,
    masked_mb=1,
    session_turns=52,
    session_window=40_000,
    context_turns=30,
    context_window=24_000,
    checked_package="responses",
    environment_files=200,
    server_edits=5,
    large_python="responses/__init__.py",
    trees={50_000: 40, 300_000: 60},
    report_turns={200: 6, 2000: 8},
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One for all figures, as in the command: its repositories and the bare program's requests are made once."""
    return Bench(TINY, tmp_path_factory.mktemp("bench"), lambda progress: None)


ROWS = {
    "first-request": 1, "turn": 2, "growth": 1, "memory": 1, "version": 1, "request-size": 3, "search": 4,
    "anchors": 1, "reviews": 1, "patch": 1, "masking": 7, "sandbox": 7, "session": 4, "context": 3, "checkers": 2,
    "last-word": 2, "refusals": 3, "thread": 1, "language-servers": 2, "report": 4,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.chromium] if one == "report" else []) for one in ROWS]
)
def test_every_figure_can_be_measured(bench: Bench, name: str, monkeypatch: pytest.MonkeyPatch):
    if name != "turn":  # which has a row for each vendor
        monkeypatch.setattr(figures, "VENDORS", {"anthropic": VENDORS["anthropic"]})
    found = list(FIGURES[name](bench))
    assert len(found) == ROWS[name]
    assert all(row.ours and row.target and row.met is not None for row in found)


def test_the_figures_tested_are_all_there_are():
    assert set(FIGURES) == set(ROWS)


def test_the_page_has_a_row_for_every_target():
    page = (ROOT / "docs" / "bench.md").read_text()
    for words in (
        "first request,",
        "turn with one command,",
        "turn 200,",
        "peak memory,",
        "--version",
        "grep,",
        "glob,",
        "anchors of a review,",
        "reviews refused,",
        "requests that extend the one before,",
        "input served by a prefix cache,",
        "context held over",
        "turns of equal size",
        "a MB of body more,",
    ):
        assert f"| {words}" in page or f"| slash-agent {words}" in page
