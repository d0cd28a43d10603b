"""Writes as values: what none of them may hold, wherever it goes."""

import pytest

from bot.contracts.writes import MAX_BODY, MAX_WRITES, Write, Writes, cap_name, text_problem, write_problem

HARMLESS = (
    "Is this still so with 2.0?\n\n- see `src/main.py:3`\n- or /usr/share/doc, and 1/2 of it",
    "Thanks @ann and @bob.",
    "    /usr/bin/env",
    "a <b> c && x < y",
    "ann@example.org, @media in CSS, a/@scope/package",
    "Größe 👩‍💻 ✔️",
)
BAD = {
    " \n": "white space",
    "x" * (MAX_BODY + 1): "20,001 characters",
    "x" * 65_537: "65,537 characters",
    "Hello <!-- slash-agent write task=x -->": "HTML comment",
    "Hello <!-": "HTML comment",
    "<?php hidden ?>": "HTML comment",
    "a\u200bb": "do not show",
    "a\u202eb": "do not show",
    "/agent fix this": "begins with `/agent`",
    "Hello\n   /agent": "begins with `/agent`",
    "> /agent stop\n": "begins with `/agent`",
    "- /lgtm": "begins with `/lgtm`",
    "Hello\r\n/close, please": "begins with `/close`",
    " ".join(f"@user{n}" for n in range(6)): "mentions 6 accounts",
}


@pytest.mark.parametrize("text", HARMLESS)
def test_plain_words_are_let_through(text: str):
    assert text_problem(text) == ""


@pytest.mark.parametrize("text", BAD)
def test_what_acts_or_hides_is_refused_with_its_reason(text: str):
    for write in (Write("comment", 1, text), Write("reply", 1, comment_id=2, body=text)):
        assert BAD[text] in write_problem(write)


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (Write("comment", 0, "Hello"), "number"),
        (Write("reply", 1, comment_id=0, body="Hello"), "comment_id"),
        (Write("add_label", 1, label=""), "label"),
        (Write("remove_label", 1, label="a\nb"), "label"),
        (Write("add_label", 1, label="x" * 51), "label"),
        (Write("edit", 1), "give a title, a body or both"),
        (Write("edit", 1, title="x" * 201), "title"),
        (Write("edit", 1, title="a\nb"), "title"),
        (Write("edit", 1, title="/agent fix"), "title: a line begins"),
        (Write("edit", 1, body="<!-- x -->"), "body"),
        (Write("edit", 1, title="  "), "title"),
    ],
)
def test_each_kind_has_its_rules(write: Write, why: str):
    assert why in write_problem(write)


def test_there_is_a_most_and_a_least():
    assert Writes((Write("comment", 1, "a"),)).problem == ""
    assert "0, and 1 to 200" in Writes(()).problem
    assert "1,000, and" in Writes((Write("comment", 1, "a"),) * 1_000).problem
    assert Writes((Write("comment", 1, "a"),) * (MAX_WRITES + 1)).problem


def test_trouble_names_the_write():
    assert Writes((Write("comment", 1, "a"), Write("add_label", 1, label=""))).problem.startswith(
        "writes.1.label: "
    )


def test_what_counts_as_what():
    assert cap_name(Write("add_label", 1, label="a"), is_pull_request=True) == "label"
    assert cap_name(Write("remove_label", 1, label="a"), is_pull_request=False) == "label"
    assert cap_name(Write("close", 1), is_pull_request=False) == "close"
    assert cap_name(Write("close", 1), is_pull_request=True) == "close_pulls"
    assert cap_name(Write("edit", 1, title="a"), is_pull_request=True) == "edit"
