"""When two findings are the same remark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.contracts.review import Finding, Severity
from bot.findings.fingerprints import Said, fingerprint, new_ones, place_of, said

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
    assert place_of(replace(ONE, path="a", text="bc")) != place_of(replace(ONE, path="ab", text="c"))
    assert place_of(replace(ONE, path="a\0b", text="c")) != place_of(replace(ONE, path="a", text="b\0c"))


def test_a_finding_on_no_text_has_no_place() -> None:
    assert place_of(replace(ONE, text=" \n ")) == ""


def test_each_remark_is_kept_once_and_gets_its_fingerprint() -> None:
    (kept,) = new_ones([ONE, replace(ONE, line=40), replace(ONE, title="File never closed, leaks")], [])
    assert kept == replace(ONE, fingerprint=fingerprint(ONE))


def test_what_was_said_before_is_not_said_again() -> None:
    assert new_ones([ONE], [said(ONE)]) == ()
    assert new_ones([ONE], [Said(fingerprint(ONE))]) == ()


def test_the_same_text_with_the_same_key_words_was_said_before() -> None:
    earlier = said(replace(ONE, title="Handle leak: the opened file is not closed"))
    assert earlier.fingerprint != fingerprint(ONE)
    assert new_ones([ONE], [earlier]) == ()


def test_another_matter_on_the_same_text_is_said() -> None:
    assert len(new_ones([ONE], [said(replace(ONE, title="Path is taken from the request unchecked"))])) == 1


def test_the_same_words_on_other_text_are_said() -> None:
    assert len(new_ones([ONE], [said(replace(ONE, text="g = open(p)"))])) == 1


def test_findings_without_a_place_are_told_apart_by_their_titles() -> None:
    whole = replace(ONE, line=0, text="")
    other = replace(whole, title="The module mixes two concerns")
    assert len(new_ones([whole, other, whole], [])) == 2
