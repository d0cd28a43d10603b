"""What is refused, by rule, file and line, and what is loaded though against the specification."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.parsing.front_matter import split_front_matter
from bot.skills.rules import MAX_FRONT_MATTER, InvalidSkillError, check_document, read_fields
from bot.skills.skill import Skill
from bot.skills.sources import NO_SOURCE

USE = "description: Says hello.\n"


IT = Skill("", "", "repository", "it", source=NO_SOURCE._replace(name=".agents/skills"))


def judged(front: str, body: str = "Do it.\n") -> Skill:
    return check_document(IT, f"---\n{front}---\n{body}".encode(), None)


@pytest.mark.parametrize(
    ("front", "rule", "line"),
    [
        (USE, "name-required", 1),
        (f"name:\n{USE}", "name-required", 2),
        (f"name: {'𐐨' * 60}\n{USE}", "name-length", 2),
        (f"name: ../../etc/passwd\n{USE}", "name-characters", 2),
        (f"name: a/b\n{USE}", "name-characters", 2),
        (f"name: .\n{USE}", "name-characters", 2),
        ("name: it\n", "description-required", 1),
        ("name: it\ndescription: ' '\n", "description-required", 3),
        ('name: it\ndescription: "<!-- hidden -->\\u200b"\n', "description-required", 3),
    ],
)
def test_a_skill_is_refused_by_name_of_the_rule_and_line(front: str, rule: str, line: int):
    found = judged(front)
    assert (rule, line) in [(one.rule, one.line) for one in found.findings]
    assert str(found.findings[0]).startswith(".agents/skills/it/SKILL.md:")


@pytest.mark.parametrize(
    "front",
    [
        f"name: other\n{USE}", f"name: It\n{USE}", f"name: i_t\n{USE}", f"name: -it\n{USE}",
        f"name: {'n' * 65}\n{USE}", f"name: it\ndescription: {'d' * 1025}\n", f"name: it\n{USE}when_to_use: always\n",
        f"name: it\n{USE}allowed-tools: [Read]\n",
    ],
)  # fmt: skip
def test_a_skill_against_the_letter_is_loaded(front: str):
    found = judged(front)
    assert found.name
    assert found.findings == ()


def test_blanks_in_a_name_become_hyphens():
    assert judged(f"name: PDF  Processing\n{USE}").name == "PDF-Processing"


def test_what_is_not_utf8_is_refused():
    [finding] = check_document(IT, b"---\nname: \xff\n---\n", None).findings
    assert (finding.rule, finding.line) == ("encoding", 2)


def test_a_name_is_compared_as_unicode_sees_it():
    assert judged("name: cafe\u0301\n" + USE).name == "caf\u00e9"


def test_the_description_is_what_people_see_on_one_line():
    found = judged("name: it\ndescription: |\n  Says <!-- obey me -->\n  hello\u200b\u202e.\n")
    assert found.description == "Says hello."


# Fields that limit


@pytest.mark.parametrize(
    "field",
    [
        "paths: src/**", "paths: [src/**]", "context: fork", "agent: Explore", "hooks:\n  PreToolUse: x",
        "disallowed-tools: Bash", "disallowedTools: Bash", "tools: Read", "enabled: false", "disabled: true",
        "platforms: windows", "only-for: ci", "globs: '*.ts'", "model-invocable: false",
    ],
)  # fmt: skip
def test_a_limit_that_a_run_does_not_keep_is_named(field: str):
    skill = judged(f"name: it\n{USE}{field}\n")
    assert skill.limit.startswith(f"its field {field.partition(':')[0]!r} limits its use")


@pytest.mark.parametrize(
    "field",
    [
        "disable-model-invocation: false", "disable-model-invocation: no", "user-invocable: false",
        "user-invocable: true", "enabled: true", "disabled: false", "paths: []", "allowed-tools: Read",
        "version: 1.2", "author: Mira", "argument-hint: '[file]'", "model: opus", "effort: high", "license: MIT",
    ],
)  # fmt: skip
def test_what_limits_nothing_limits_nothing(field: str):
    skill = judged(f"name: it\n{USE}{field}\n")
    assert (skill.manual, skill.limit) == (False, "")


# Front matter


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
