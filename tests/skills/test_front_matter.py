"""The front matter of a SKILL.md, as people really write it."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.parsing.front_matter import split_front_matter
from bot.skills.rules import MAX_FRONT_MATTER, InvalidSkillError, read_fields

PLAIN = "---\nname: a\ndescription: b\n---\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        PLAIN.rstrip("\n"),
        "---  \nname: a\ndescription: b\n---\t\n",
    ],
    ids=["plain", "CRLF", "CR", "BOM", "no line end after the closing", "blanks after the dashes"],
)
def test_every_line_end_and_a_byte_order_mark_are_read(text: str):
    assert read_fields(text.encode()) == {"name": ("a", 2), "description": ("b", 3)}


def test_three_dashes_in_the_body_stay_in_the_body():
    assert split_front_matter(PLAIN + "one\n---\ntwo\n")[:2] == (
        "\nname: a\ndescription: b\n",
        "one\n---\ntwo\n",
    )


def test_a_colon_in_an_unquoted_value_is_read():
    fields = read_fields(b"---\nname: a\ndescription: Use when: it's time\n---\nBody\n")
    assert fields["description"].value == "Use when: it's time"


def test_a_tag_makes_no_object():
    fields = read_fields(b"---\na: !!python/object/apply:os.system ['true']\n---\n")
    assert fields["a"].value == ["true"]


def test_scalars_are_the_text_they_are_written_as():
    fields = read_fields(b"---\nname: 0123\na: yes\nb: null\nc: 1.10\nd:\n---\n")
    assert [field.value for field in fields.values()] == ["0123", "yes", "", "1.10", ""]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# no front matter", 1),
        ("\n---\nname: a\n---\n", 1),
        ("---\nname: a\n", 1),
        ("---\n- a\n---\n", 2),
        ('---\nname: a\ndescription: "b\n---\n', 4),
        ("---\nname: a\nname: b\n---\n", 3),
        ("---\n" + "x" * MAX_FRONT_MATTER + "\n---\n", 1),
        ("---\na: &a [*a]\n---\n", 2),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, line: int):
    with pytest.raises(InvalidSkillError) as raised:
        read_fields(text.encode())
    assert raised.value.line == line
    assert str(raised.value)


@settings(max_examples=20)
@given(st.text(alphabet=st.sampled_from("-\n\r: ab'\"[]{}&*!|>#\t\ufeff\x00é"), max_size=60))
def test_whatever_is_written_is_read_or_unreadable(text: str):
    for document in (text, f"---\n{text}\n---\n"):
        with suppress(InvalidSkillError):
            assert read_fields(document.encode()) is not None
