"""A review as SARIF: against the official schema, and what a reader of it finds."""

import json
from typing import Any

import pytest

from bot.contracts.pulls import Finding, Review, Severity, Side
from bot.review.known_findings import fingerprint
from bot.review.sarif import to_sarif
from tests.support.npm import package_file

ONE = Finding("src/é a.py", 7, Severity.MAJOR, "Never closed", "It leaks.", 5, text="a\nb\nc", suggestion="x")
REVIEW = Review(
    "a" * 40,
    "b" * 40,
    "Two remarks.",
    (
        ONE,
        Finding("gone.py", 3, Severity.NOTE, "Was used", "", side=Side.LEFT, text="x"),
        Finding("whole.py", 0, Severity.CRITICAL, "Not needed", "Remove it."),
        ONE._replace(severity=Severity.MINOR, suggestion=""),
    ),
    left_out=("1 file",),
)


def results(review: Review = REVIEW) -> list[dict[str, Any]]:
    (run,) = json.loads(to_sarif(review, "0.1.0"))["runs"]
    return list(run["results"])


@pytest.fixture(scope="module")
def validator() -> Any:
    from jsonschema import Draft4Validator

    schema = package_file(
        "@microsoft/jest-sarif",
        "1.0.0-beta.0",
        "lib/schemas/sarif-2.1.0-rtm.5.json",
        "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8",
    )
    return Draft4Validator(json.loads(schema.read_text("utf-8")))


@pytest.mark.node
@pytest.mark.parametrize("review", [REVIEW, Review("a" * 40, "b" * 40, "")])
def test_the_official_schema_takes_it(review: Review, validator: Any):
    log = json.loads(to_sarif(review, "0.1.0"))
    assert [error.message for error in validator.iter_errors(log)] == []
    log["runs"][0]["tool"]["driver"]["nmae"] = "x"
    assert not validator.is_valid(log)


def test_every_finding_is_a_result_of_its_level_on_its_lines():
    (run,) = json.loads(to_sarif(REVIEW, "0.1.0"))["runs"]
    rules, made = run["tool"]["driver"]["rules"], run["results"]
    told = "review/major error", "review/note note", "review/critical error", "review/minor warning"
    assert tuple(f"{one['ruleId']} {one['level']}" for one in made) == told
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in made)
    on_lines, *gone_and_whole = (one["locations"][0]["physicalLocation"] for one in made[:3])
    assert on_lines["artifactLocation"]["uri"] == "src/%C3%A9%20a.py"
    assert on_lines["region"] == {"startLine": 5, "endLine": 7}
    assert all("region" not in one for one in gone_and_whole)
    [related] = made[1]["relatedLocations"]
    assert related["message"]["text"] == f"Deleted lines 3-3 of {'a' * 12}"
    assert related["physicalLocation"]["region"] == {"startLine": 3, "endLine": 3, "snippet": {"text": "x"}}


def test_a_fix_replaces_the_lines_and_an_empty_one_removes_them():
    replacing, removing = (
        one["fixes"][0]["artifactChanges"][0]["replacements"][0] for one in results() if "fixes" in one
    )
    assert replacing == {"deletedRegion": {"startLine": 5, "endLine": 7}, "insertedContent": {"text": "x"}}
    assert removing["deletedRegion"] == {"startLine": 5, "startColumn": 1, "endLine": 8, "endColumn": 1}


def test_the_fingerprint_is_the_findings_and_another_for_the_same_on_other_lines():
    own = fingerprint(ONE)
    same = REVIEW._replace(findings=tuple(ONE._replace(line=line) for line in (7, 17, 27)))
    marked = REVIEW._replace(findings=(ONE._replace(fingerprint="feedfacefeedface"),))
    keys = [one["partialFingerprints"]["slashAgent/v1"] for one in (*results(same), *results(marked))]
    assert keys == [own, f"{own}/2", f"{own}/3", "feedfacefeedface"]
