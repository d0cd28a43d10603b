"""One view of the evidence, and the same words in all four places where people read it."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bot.contracts.evidence import Answer, CheckerComparison, TestChanges, TestCounts, ToolRun
from bot.contracts.journal import Evidence, Note, SessionEnded
from bot.contracts.outcome import CheckResult, CheckRun, CheckState, Outcome, TestsAsTheyWere
from bot.contracts.plain_text import printable
from bot.evidence.styled_line import plain
from bot.evidence.view import view_of
from bot.publish.body.render import render_body
from bot.report.summary import run_summary
from tests.report.test_page import page_of, read
from tests.support.outcomes import EVIDENCE, FAILED, PASSED, make_outcome, problem, result_lines

AS_THEY_WERE = TestsAsTheyWere(
    FAILED, TestCounts(1, 2), failed=("tests/a.py::x",), expectation_changed=("b",), mixed=("package.json",)
)
WORST = make_outcome(
    checks=(
        CheckResult(
            "t", "pytest -q", PASSED, FAILED, tests=TestChanges(broken=("a::b",), reasons=(("a::b", "assert 1 == 2"),))
        ),
        CheckResult("w", "make was", PASSED, PASSED, as_they_were=AS_THEY_WERE, tests=TestChanges(after=TestCounts(3))),
        CheckResult("n", "make e2e", *[CheckRun(CheckState.NO_SOCKETS, 1, 2.0)] * 2),
        CheckResult("g", "go test", *[CheckRun(CheckState.NOT_RUNNABLE, 127, note="go is not installed")] * 2),
        CheckResult("l", "make lint", PASSED, CheckRun(CheckState.NOT_RUN, note="the tool host ended")),
        CheckResult("m", "make more", FAILED, FAILED._replace(note="it met a limit of the sandbox: memory")),
        CheckResult("r", "make all", PASSED, PASSED, related="pytest tests/test_a.py", scope_note="over 5 minutes"),
    ),
)  # fmt: skip


def text_of(markdown: str) -> str:
    return read(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(markdown)).text


def page_text(folder: Path, outcome: Outcome) -> str:
    recorded = Evidence(outcome.checks, outcome.diagnostics, outcome.servers)
    return read(page_of(folder, recorded, SessionEnded("end_turn", "", 1), Note("end"))).text


def squeezed(text: str) -> str:
    """The letters alone: a table, a list and a terminal set them apart differently."""
    return "".join(printable(text).split())


@pytest.mark.parametrize("outcome", [EVIDENCE, WORST], ids=["good", "bad"])
def test_the_pull_request_the_summary_the_page_and_the_terminal_use_the_same_words(
    tmp_path: Path, outcome: Outcome
):
    view = view_of(outcome)
    places = {
        "pull request": text_of(render_body(outcome, outcome.files)),
        "summary": text_of(run_summary(outcome)),
        "page": page_text(tmp_path, outcome),
        "terminal": "\n".join(result_lines(outcome)),
    }
    cells = [cell for row in view.rows for cell in (row.what, row.before, row.after, row.change)]
    for name, text in places.items():
        for line in (*view.failures, *cells, *view.remarks):
            assert squeezed(plain(line)) in squeezed(text), (name, plain(line))
    grave = [line for section in view.sections for line in section.lines[: section.grave]]
    assert bool(grave) is (outcome is WORST)
    for line in grave:
        assert all(squeezed(plain(line)) in squeezed(text) for text in places.values())


@pytest.mark.parametrize(
    ("check", "mark", "change"),
    [
        (CheckResult("t", "make", FAILED, PASSED), "good", "fixed"),
        (CheckResult("t", "make", PASSED, FAILED), "bad", "broken"),
        (CheckResult("t", "make", FAILED, FAILED), "bad", ""),
        (CheckResult("t", "make", PASSED, FAILED, flaky=True), "nothing", "flaky"),
        (CheckResult("t", "make", PASSED, PASSED, related="make a"), "good", "related tests only"),
        (
            CheckResult("t", "make", FAILED, FAILED, tests=TestChanges(TestCounts(3, 1), TestCounts(2, 2))),
            "bad",
            "1 more fail",
        ),
    ],
)
def test_a_row_says_what_changed(check: CheckResult, mark: str, change: str):
    row = view_of(make_outcome(checks=(check,))).rows[0]
    assert (row.mark, plain(row.change)) == (mark, change)


def test_remarks_give_each_reason_that_a_run_has():
    assert [plain(line) for line in view_of(WORST).remarks] == [
        "package.json with the tests as they were: may set up tests, and stayed as the change has it.",
        "make e2e needs a network that the sandbox does not have: its result is no evidence.",
        "go test is not runnable here: go is not installed",
        "make lint was not run: the tool host ended",
        "make more fails with the change: it met a limit of the sandbox: memory",
        "make all: the whole suite was not run: over 5 minutes",
    ]


def test_a_list_is_capped_and_counts_what_it_leaves_out():
    names = tuple(f"test_{number}" for number in range(300))
    tests = TestChanges(broken=names, counts=(("broken", 5_000),))
    run = ToolRun(Answer.COMPLETE, 9)
    found = CheckerComparison("ruff", "1", "ruff", run, run, tuple(map(problem, range(1, 60))), new_count=900)
    outcome = make_outcome(
        checks=(CheckResult("t", "make", PASSED, FAILED, tests=tests),), diagnostics=(found,)
    )
    listed, problems = [one for one in view_of(outcome, listed=20).sections if one.lines]
    assert (len(listed.lines), plain(listed.lines[-1]), listed.grave) == (21, "broken: 4,980 more", 21)
    assert (plain(problems.title), plain(problems.lines[-1])) == ("900 new problems", "and 880 more")
