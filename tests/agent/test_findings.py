"""`report_finding`: judged at once, each remark once, the worst kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.findings import REPORT_FINDING, AnchoredFinding, ReportFinding
from bot.agent.toolbox import CallExecution, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity


def take(finding: Finding, cancel: CancelToken) -> AnchoredFinding | str:
    return AnchoredFinding(
        replace(finding, fingerprint=f"{finding.path}:{finding.title}"), "As it should be."
    )


def call(report: ReportFinding, **given: Any) -> CallExecution:
    arguments = {"path": "a.py", "line": 3, "severity": "major", "title": "T", "body": "B", **given}
    toolbox = Toolbox([report.spec], {REPORT_FINDING.name: report}, lambda tool, values: Permission(True))
    return toolbox.execute(ToolCall("a", "report_finding", json.dumps(arguments)), CancelToken())


def test_a_finding_is_kept_as_it_was_judged() -> None:
    report = ReportFinding(take)
    executed = call(
        report, path="./src/a.py", start_line=1, title=" Never\nclosed ", suggestion="x\n", side="RIGHT"
    )
    assert executed.result.content == "Noted, src/a.py lines 1-3. As it should be."
    assert report.findings == (
        Finding(
            "src/a.py", 3, Severity.MAJOR, "Never closed", "B", 1, suggestion="x\n",
            fingerprint="src/a.py:Never closed",
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
def test_the_answer_says_where_it_stands(given: dict[str, Any], where: str) -> None:
    assert f"Noted, {where}" in call(ReportFinding(take), **given).result.content


def test_what_the_judge_refuses_goes_back_and_is_not_kept() -> None:
    report = ReportFinding(lambda finding, cancel: f"Line {finding.line} is not in the diff.")
    executed = call(report, line=99)
    assert (executed.result.is_error, executed.result.content) == (
        True,
        "Not taken. Line 99 is not in the diff.",
    )
    assert report.findings == ()


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
def test_what_is_no_finding_is_sent_back(given: dict[str, Any], said: str) -> None:
    report = ReportFinding(take)
    executed = call(report, **given)
    assert executed.result.is_error
    assert said in executed.result.content
    assert report.findings == ()


def test_the_same_remark_is_kept_once() -> None:
    report = ReportFinding(take)
    call(report)
    assert "reported already" in call(report).result.content
    assert len(report.findings) == 1


def test_the_same_words_on_other_lines_are_another_remark() -> None:
    """`take` gives them the same fingerprint, as text of the same shape has it."""
    report = ReportFinding(take)
    for given in ({}, {"line": 9}, {"start_line": 2}, {"side": "LEFT"}):
        assert "Noted" in call(report, **given).result.content
    assert len({finding.fingerprint for finding in report.findings}) == 1


def test_the_worst_are_kept() -> None:
    report = ReportFinding(take, max_findings=2)
    call(report, title="one", severity="note")
    call(report, title="two", severity="minor")
    assert "Noted" in call(report, title="three", severity="major").result.content
    assert "it was left out" in call(report, title="four", severity="minor").result.content
    assert "it was left out" in call(report, title="five", severity="note").result.content
    assert [finding.title for finding in report.findings] == ["three", "two"]
    assert report.left_out == ("3 findings beyond the 2 worst ones",)


def test_nothing_is_said_to_be_left_out_where_nothing_was() -> None:
    report = ReportFinding(take)
    call(report)
    assert report.left_out == ()


def test_halves_of_characters_do_not_get_into_a_finding() -> None:
    report = ReportFinding(take)
    call(report, path="a\ud800.py", body="b\udc00", suggestion="\ud800")
    (finding,) = report.findings
    assert (finding.path, finding.body, finding.suggestion) == ("a\ufffd.py", "b\ufffd", "\ufffd")
    assert finding.side is Side.RIGHT
