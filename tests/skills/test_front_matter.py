"""The front matter of a SKILL.md, as people really write it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.parsing.front_matter import split_front_matter
from bot.skills.front_matter import (
    MAX_FRONT_MATTER,
    Flaw,
    _by_yaml,
    _simple,
    read_front_matter,
)

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
def test_every_line_end_and_a_byte_order_mark_are_read(text: str) -> None:
    found = read_front_matter(text)
    assert found.fields == {"name": "a", "description": "b"}
    assert (found.lines, found.unreadable) == ({"name": 2, "description": 3}, False)


def test_three_dashes_in_the_body_stay_in_the_body() -> None:
    assert split_front_matter(PLAIN + "one\n---\ntwo\n")[:2] == (
        "\nname: a\ndescription: b\n",
        "one\n---\ntwo\n",
    )


def test_a_colon_in_an_unquoted_value_is_read_and_said() -> None:
    found = read_front_matter("---\nname: a\ndescription: Use when: it's time\n---\nBody\n")
    assert found.fields["description"] == "Use when: it's time"
    [flaw] = found.flaws
    assert (flaw.rule, flaw.line, flaw.fatal) == ("front-matter", 3, False)


def test_scalars_are_the_text_they_are_written_as() -> None:
    found = read_front_matter("---\nname: 0123\na: yes\nb: null\nc: 1.10\nd:\n---\n")
    assert found.fields == {"name": "0123", "a": "yes", "b": "null", "c": "1.10", "d": ""}


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
        ("---\na: !!python/object/apply:os.system ['true']\n---\n", 2),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(text: str, line: int) -> None:
    flaw = read_front_matter(text).flaws[0]
    assert flaw.line == line
    assert flaw.message


def test_aliases_do_not_multiply() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(8)
    )
    begun = time.monotonic()
    assert read_front_matter(f"---\n{bomb}---\n").unreadable
    assert time.monotonic() - begun < 20


@given(st.text(alphabet=st.sampled_from("-\n\r: ab'\"[]{}&*!|>#\t\ufeff\x00é"), max_size=60))
def test_nothing_raises(text: str) -> None:
    found = read_front_matter(text)
    assert found.unreadable or isinstance(found.body, str)
    read_front_matter(f"---\n{text}\n---\n")


LINES = st.lists(
    st.tuples(
        st.sampled_from(["name", "description", "license", "allowed-tools"]),
        st.text(alphabet=st.sampled_from("ab1 :#-,'\"[]{}&*!|>%@`=~()?é\t"), max_size=12),
    ),
    min_size=1,
    max_size=4,
)


@given(LINES)
def test_what_is_read_without_yaml_is_what_yaml_says(fields: list[tuple[str, str]]) -> None:
    front = "\n" + "".join(f"{name}: {value}\n" for name, value in fields)
    simple = _simple(front)
    if simple is not None:
        flaws: list[Flaw] = []
        assert _by_yaml(front, flaws, None) == simple
        assert flaws == []


def test_plain_fields_need_no_yaml() -> None:
    assert _simple("\nname: a\ndescription: Says hello, (it) isn't much. Use it.\n") is not None
    code = "import sys; from bot.skills.find import bundled; bundled(); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
