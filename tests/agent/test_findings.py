"""`report_finding`: judged at once, each remark once, the worst kept."""

from typing import Any

import pytest

from bot.agent.findings import AnchoredFinding, ReportFinding
from bot.agent.toolbox import CallExecution
from bot.contracts.pulls import Finding, Kind, Severity
from tests.support.sessions import execute


def take(finding: Finding) -> AnchoredFinding | str:
    return AnchoredFinding(finding._replace(fingerprint=f"{finding.path}:{finding.title}"))


def call(report: ReportFinding, **given: Any) -> CallExecution:
    arguments = {"path": "a.py", "line": 3, "severity": "major", "title": "T", "body": "B"}
    arguments |= {"kind": "crash", **given}
    return execute(report, **arguments)


def test_a_finding_is_kept_as_it_was_judged():
    report = ReportFinding(take, 30)
    executed = call(
        report, path="./src/a.py", start_line=1, title=" Never\nclosed ", suggestion="x\n", side="RIGHT"
    )
    assert executed.result.content == "Noted, src/a.py lines 1-3."
    assert report.findings == (
        Finding(
            "src/a.py", 3, Severity.MAJOR, "Never closed", "B", 1, suggestion="x\n",
            fingerprint="src/a.py:Never closed", kind=Kind.CRASH,
        ),
    )  # fmt: skip
    assert executed.outcome.metadata["title"] == "Never closed"


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({}, "a.py line 3."),
        ({"start_line": 3}, "a.py line 3."),
        ({"side": "LEFT"}, "a.py line 3 of the old file."),
        ({"line": 0}, "a.py as a whole."),
    ],
)
def test_the_answer_says_where_it_stands(given: dict[str, Any], where: str):
    assert f"Noted, {where}" in call(ReportFinding(take, 30), **given).result.content


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"title": " \n "}, "only white space"),
        ({"body": " "}, "only white space"),
        ({"title": "x" * 121}, "at most 120 characters"),
        ({"line": -1}, "line: expected"),
        ({"severity": "blocker"}, 'severity: expected one of "critical", "major"'),
        ({"side": "MIDDLE"}, 'side: expected one of "LEFT", "RIGHT"'),
    ],
)
def test_what_is_no_finding_is_sent_back(given: dict[str, Any], said: str):
    report = ReportFinding(take, 30)
    executed = call(report, **given)
    assert executed.result.is_error
    assert said in executed.result.content
    assert report.findings == ()


def test_a_second_finding_on_the_same_fault_is_refused_and_the_first_one_named():
    report = ReportFinding(take, 30)
    call(report, title="Fails on nothing")
    executed = call(report, title="The mean of [] raises", start_line=2, line=4, severity="critical")
    assert (
        "Not taken: it is the finding “Fails on nothing”, a.py line 3, of the same kind"
        in executed.result.content
    )
    assert [finding.title for finding in report.findings] == ["Fails on nothing"]
    assert report.refused == ()


@pytest.mark.parametrize("given", [{"line": 9}, {"kind": "security"}, {"side": "LEFT"}, {"path": "b.py"}])
def test_on_other_lines_or_of_another_kind_it_is_another_fault(given: dict[str, Any]):
    report = ReportFinding(take, 30)
    call(report)
    assert "Noted" in call(report, **given).result.content


def test_the_worst_are_kept():
    report = ReportFinding(take, max_findings=2)
    call(report, title="one", severity="note")
    call(report, title="two", line=4, severity="minor")
    assert "Noted" in call(report, title="three", line=5, severity="major").result.content
    assert "it was left out" in call(report, title="four", line=6, severity="minor").result.content
    assert "it was left out" in call(report, title="five", line=7, severity="note").result.content
    assert [finding.title for finding in report.findings] == ["three", "two"]
    assert report.left_out == ("3 findings beyond the 2 worst ones",)


def test_what_an_earlier_review_found_takes_no_room_and_is_no_refusal():
    report = ReportFinding(
        lambda finding: AnchoredFinding(finding, known="Known." if finding.line < 9 else ""), max_findings=1
    )
    assert call(report, severity="critical").result.content == "Known."
    assert "Noted" in call(report, line=9, title="new", severity="note").result.content
    assert ([finding.title for finding in report.findings], report.left_out, report.refused) == (
        ["new"],
        (),
        (),
    )


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ({}, 2),
        ({"line": 2}, 0),  # on a line that fits: it was corrected, by its path and kind
        ({"line": 2, "path": "b.py"}, 0),  # by its title, on the right file
        ({"line": 2, "path": "b.py", "title": "another"}, 2),
    ],
)
def test_refused_reports_are_kept_until_they_are_corrected(then: dict[str, Any], left: int):
    report = ReportFinding(lambda finding: "Not there." if finding.line > 5 else AnchoredFinding(finding), 30)
    call(report, line=9)
    call(report, line=10, title="T2", path="a.py")
    if then:
        call(report, **then)
        call(report, **{**then, "title": f"{then.get('title', 'T')}2", "line": 3})
    assert len(report.refused) == left
    if left:
        assert report.refused[0] == "T (a.py line 9): Not there."
