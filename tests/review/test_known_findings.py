"""When two findings are the same one; and a review as SARIF: against the official schema, and what a reader of it
finds."""

import json
from typing import Any

import pytest

from bot.contracts.pulls import Finding, Kind, Review, Severity, Side, same_fault
from bot.review.known_findings import KnownFinding, find_new, fingerprint
from bot.review.sarif import to_sarif
from tests.support.npm import package_file

ONE = Finding("a.py", 7, Severity.MAJOR, "The file is never closed", "Body", text="f = open(p)")
OTHER_WORDS: dict[str, Any] = {
    "title": "The path is not checked",
    "body": "Otherwise",
    "severity": Severity.CRITICAL,
}


def known(finding: Finding, **fields: Any) -> KnownFinding:
    first, last = finding.lines
    made = KnownFinding(fingerprint(finding), finding.kind.value, path=finding.path, side=finding.side)
    return made._replace(**{"first": first, "last": last, **fields})


@pytest.mark.parametrize(
    "other",
    [
        ONE._replace(line=90, start_line=89),
        ONE._replace(suggestion="with open(p) as f:"),
        ONE._replace(text="    f =  open(p)  "),
        ONE._replace(**OTHER_WORDS),
    ],
)
def test_what_moves_or_is_put_otherwise_keeps_its_fingerprint(other: Finding):
    assert fingerprint(other) == fingerprint(ONE)


@pytest.mark.parametrize(
    "other", [ONE._replace(path="b.py"), ONE._replace(text="f = open(q)"), ONE._replace(kind=Kind.CRASH)]
)
def test_another_fault_has_another(other: Finding):
    assert fingerprint(other) != fingerprint(ONE)


def test_parts_do_not_run_into_each_other():
    assert fingerprint(ONE._replace(path="a", text="bc")) != fingerprint(ONE._replace(path="ab", text="c"))
    one, other = ONE._replace(path="a\0b", text="c"), ONE._replace(path="a", text="b\0c")
    assert fingerprint(one) != fingerprint(other)


def test_a_finding_gets_its_fingerprint_and_is_the_same_in_other_words():
    assert find_new([ONE], []) == ([ONE._replace(fingerprint=fingerprint(ONE))], 0)
    assert same_fault(ONE, ONE._replace(start_line=6, **OTHER_WORDS))


@pytest.mark.parametrize(
    "field", [{"line": 40}, {"line": 8}, {"side": Side.LEFT}, {"path": "b.py"}, {"kind": Kind.SECURITY}]
)
def test_on_other_lines_or_of_another_kind_it_is_another_fault(field: dict[str, Any]):
    assert not same_fault(ONE, ONE._replace(**field))


@pytest.mark.parametrize(
    ("earlier", "is_new"),
    [
        (known(ONE), False),
        (known(ONE, first=0, last=0), False),  # its lines are gone, and the same text stands elsewhere
        (known(ONE._replace(text="g()")), False),  # the same lines
        (known(ONE._replace(text="g()"), first=5, last=9), False),
        (known(ONE._replace(text="g()"), first=8, last=9), True),
        (known(ONE._replace(kind=Kind.CRASH)), True),
        (known(ONE._replace(path="b.py")), True),
        (known(ONE._replace(side=Side.LEFT), fingerprint=""), True),
    ],
)
def test_an_earlier_finding_is_known_whatever_its_words(earlier: KnownFinding, is_new: bool):
    new, hidden = find_new([ONE._replace(**OTHER_WORDS)], [earlier])
    assert (len(new), hidden) == ((1, 0) if is_new else (0, 1))


@pytest.mark.parametrize("order", [1, -1])
def test_an_earlier_finding_hides_one_position_the_nearest(order: int):
    """Forty functions of one shape: what was found in some says nothing of the others."""
    same = [ONE._replace(line=line) for line in (7, 17, 27)]
    assert [one.line for one in find_new(same[::order], [known(same[1])])[0]] == [7, 27][::order]


def test_the_numbers_add_up():
    many = [ONE._replace(line=line) for line in range(1, 41)]
    new, hidden = find_new(many, [known(one) for one in many[:20]])
    assert (len(new), hidden) == (20, 20)


def test_findings_on_a_whole_file_are_told_apart_by_their_kind():
    whole = ONE._replace(line=0, text="")
    assert same_fault(whole, whole)
    assert not same_fault(whole, whole._replace(kind=Kind.MISSING_TEST))


FOUND = Finding(
    "src/é a.py", 7, Severity.MAJOR, "Never closed", "It leaks.", 5, text="a\nb\nc", suggestion="x"
)
REVIEW = Review(
    "a" * 40,
    "b" * 40,
    "Two remarks.",
    (
        FOUND,
        Finding("gone.py", 3, Severity.NOTE, "Was used", "", side=Side.LEFT, text="x"),
        Finding("whole.py", 0, Severity.CRITICAL, "Not needed", "Remove it."),
        FOUND._replace(severity=Severity.MINOR, suggestion=""),
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
    own = fingerprint(FOUND)
    same = REVIEW._replace(findings=tuple(FOUND._replace(line=line) for line in (7, 17, 27)))
    marked = REVIEW._replace(findings=(FOUND._replace(fingerprint="feedfacefeedface"),))
    keys = [one["partialFingerprints"]["slashAgent/v1"] for one in (*results(same), *results(marked))]
    assert keys == [own, f"{own}/2", f"{own}/3", "feedfacefeedface"]
