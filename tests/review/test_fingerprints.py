"""When two findings are the same remark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.contracts.pulls import Side
from bot.contracts.review import Finding, Severity
from bot.review.fingerprints import (
    KnownFinding,
    NewFindings,
    find_new,
    fingerprint,
    known_finding,
    position_of,
)

ONE = Finding("a.py", 7, Severity.MAJOR, "The file is never closed", "Body", text="f = open(p)")


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, line=90, start_line=89),
        replace(ONE, severity=Severity.NOTE),
        replace(ONE, body="Said otherwise"),
        replace(ONE, suggestion="with open(p) as f:"),
        replace(ONE, title="A file is never closed."),
        replace(ONE, title="Never closed: file"),
        replace(ONE, text="    f =  open(p)  "),
    ],
)
def test_what_moves_or_is_put_otherwise_keeps_its_fingerprint(other: Finding) -> None:
    assert fingerprint(other) == fingerprint(ONE)


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, path="b.py"),
        replace(ONE, text="f = open(q)"),
        replace(ONE, title="The path is not checked"),
    ],
)
def test_another_remark_has_another(other: Finding) -> None:
    assert fingerprint(other) != fingerprint(ONE)


def test_a_fingerprint_is_short_hex() -> None:
    assert len(fingerprint(ONE)) == 16
    int(fingerprint(ONE), 16)


def test_parts_do_not_run_into_each_other() -> None:
    assert position_of(replace(ONE, path="a", text="bc")) != position_of(replace(ONE, path="ab", text="c"))
    assert position_of(replace(ONE, path="a\0b", text="c")) != position_of(
        replace(ONE, path="a", text="b\0c")
    )


def test_a_finding_on_no_text_has_no_place() -> None:
    assert position_of(replace(ONE, text=" \n ")) == ""


def test_each_remark_is_kept_once_and_gets_its_fingerprint() -> None:
    otherwise = replace(ONE, severity=Severity.NOTE, title="Never closed: file")
    assert find_new([ONE, otherwise], []) == NewFindings((replace(ONE, fingerprint=fingerprint(ONE)),), 0, 1)


@pytest.mark.parametrize("field", [{"line": 40}, {"start_line": 6}, {"side": Side.LEFT}, {"path": "b.py"}])
def test_the_same_words_of_one_review_on_other_lines_are_another_remark(field: dict[str, Any]) -> None:
    assert len(find_new([ONE, replace(ONE, **field)], []).new) == 2


def test_a_title_that_is_alike_is_another_remark_of_the_same_review() -> None:
    assert len(find_new([ONE, replace(ONE, line=9, title="File never closed, leaks")], []).new) == 2


def test_what_was_said_before_is_not_said_again() -> None:
    for earlier in (known_finding(ONE), KnownFinding(fingerprint(ONE))):
        assert find_new([replace(ONE, line=90)], [earlier]) == NewFindings((), 1, 0)


def test_the_same_text_with_the_same_key_words_was_said_before() -> None:
    earlier = known_finding(replace(ONE, title="Handle leak: the opened file is not closed"))
    assert earlier.fingerprint != fingerprint(ONE)
    assert find_new([ONE], [earlier]) == NewFindings((), 1, 0)


def test_two_ways_to_say_what_was_said_before_are_both_old() -> None:
    assert find_new(
        [ONE, replace(ONE, title="File never closed, leaks")], [known_finding(ONE)]
    ) == NewFindings((), 2, 0)


def test_another_matter_on_the_same_text_is_said() -> None:
    assert (
        len(
            find_new(
                [ONE], [known_finding(replace(ONE, title="Path is taken from the request unchecked"))]
            ).new
        )
        == 1
    )


def test_the_same_words_on_other_text_are_said() -> None:
    assert len(find_new([ONE], [known_finding(replace(ONE, text="g = open(p)"))]).new) == 1


@pytest.mark.parametrize("order", [1, -1])
def test_an_earlier_remark_hides_one_place_the_nearest_in_words_and_line(order: int) -> None:
    """Forty functions of one shape: what was said of some says nothing of the others."""
    many = [replace(ONE, line=line, title=f"The file is never closed in f{line}") for line in (7, 17, 27)]
    told = find_new(many[::order], [known_finding(many[1])])
    assert [one.line for one in told.new] == [7, 27][::order]
    same = [replace(ONE, line=line) for line in (7, 17, 27)]
    assert [one.line for one in find_new(same[::order], [known_finding(same[1])]).new] == [7, 27][::order]


def test_the_numbers_add_up() -> None:
    many = [replace(ONE, line=line) for line in range(1, 41)]
    told = find_new([*many, *many[:5]], [known_finding(one) for one in many[:20]])
    assert (len(told.new), told.already_known, told.repeated) == (20, 20, 5)


def test_findings_without_a_place_are_told_apart_by_their_titles() -> None:
    whole = replace(ONE, line=0, text="")
    other = replace(whole, title="The module mixes two concerns")
    assert len(find_new([whole, other, whole], []).new) == 2
