"""New problems for other programs: reviewdog's diagnostics and JUnit XML, whatever a checker said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bot.contracts.evidence import Answer, CheckerComparison, Problem, Severity, ToolRun
from bot.publish.bundle.read import read_bundle
from bot.publish.bundle.write import JUNIT, RDJSONL, SARIF, write_bundle
from bot.review.formats import to_junit, to_rdjsonl
from tests.support.outcomes import EVIDENCE, OUTCOME, problem

RUN = ToolRun(Answer.COMPLETE, 1, 0.25)
HOSTILE = ["]]><x/>&\"'", "a\x00\x1b[2J\ufffe", "\ud800", "\r\n\u2028{}", "é" * 3]


def checker(*new: Problem, number: int = 0) -> CheckerComparison:
    return CheckerComparison("ruff", "1", "ruff check", RUN, RUN, new=new, new_count=number or len(new))


def test_each_new_problem_is_one_line_of_diagnostics() -> None:
    lines = [json.loads(line) for line in to_rdjsonl(EVIDENCE.diagnostics).splitlines()]
    assert [line["source"]["name"] for line in lines] == ["ruff", "ty"]
    assert lines[1] == {
        "message": "Return type does not match: expected `Decimal`, found `int`",
        "location": {"path": "invoice.py", "range": {"start": {"line": 7}}},
        "severity": "ERROR",
        "source": {"name": "ty"},
        "code": {"value": "invalid-return-type"},
    }


@pytest.mark.parametrize(
    ("column", "snippet", "expected"),
    [(1, "é = x", 1), (5, "é = x", 6), (6, "é = x", 7), (9, "é = x", 0), (3, "", 0), (0, "x", 0)],
)
def test_a_column_counts_bytes_there_and_is_left_out_where_the_line_is_not_known(
    column: int, snippet: str, expected: int
) -> None:
    (line,) = to_rdjsonl([checker(problem(3, column=column, snippet=snippet))]).splitlines()
    assert json.loads(line)["location"]["range"]["start"].get("column", 0) == expected


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_checker_says_breaks_no_form(text: str) -> None:
    bad = Problem(text, text, 1, 1, Severity.ERROR, text, text, snippet=text)
    one = replace(checker(bad, bad), tool=text)
    assert len(to_rdjsonl([one]).split("\n")) == 3
    root = ElementTree.fromstring(to_junit([one]).encode())
    assert [case.tag for case in root.iter("testcase")] == ["testcase"] * 2
    assert not list(root.iter("x"))


def test_junit_has_a_failed_case_a_problem_a_passed_suite_and_a_skipped_one() -> None:
    root = ElementTree.fromstring(to_junit([*EVIDENCE.diagnostics, checker()]).encode())
    counts = [(suite.get("failures"), suite.get("skipped"), suite.get("tests")) for suite in root]
    assert counts == [("1", "0", "1"), ("1", "0", "1"), ("0", "1", "1"), ("0", "0", "1")]
    skipped = root[2].find("testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == "tsc is not installed in this project"
    case = root[0].find("testcase")
    assert case is not None
    assert (case.get("file"), case.get("line"), case.get("name")) == ("invoice.py", "3", "F401 invoice.py:3")


def test_problems_that_are_only_counted_are_one_failed_case() -> None:
    root = ElementTree.fromstring(to_junit([checker(problem(), number=120)]).encode())
    assert [case.get("name") for case in root.iter("testcase")] == [
        "F401 invoice.py:1",
        "119 more new problems",
    ]
    assert root[0].get("failures") == root[0].get("tests") == "2"


def test_the_bundle_has_them_where_a_checker_ran_and_publishing_needs_none(tmp_path: Path) -> None:
    write_bundle(tmp_path, EVIDENCE, b"p", b"", "m")
    assert {RDJSONL, SARIF, JUNIT} <= {path.name for path in tmp_path.iterdir()}
    (tmp_path / SARIF).write_text("{tampered")
    (tmp_path / JUNIT).unlink()
    assert read_bundle(tmp_path).outcome.diagnostics == EVIDENCE.diagnostics
    write_bundle(tmp_path, OUTCOME, b"p", b"", "m")
    assert not {RDJSONL, SARIF, JUNIT} & {path.name for path in tmp_path.iterdir()}
