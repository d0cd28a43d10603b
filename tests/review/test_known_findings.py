"""When two findings are the same one."""

from typing import Any

import pytest

from bot.contracts.pulls import Finding, Kind, Severity, Side, same_fault
from bot.review.known_findings import KnownFinding, find_new, fingerprint

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
