"""What is refused, by rule, file and line, and what is loaded though against the specification."""

import pytest

from bot.skills.rules import check_document
from bot.skills.skill import Skill
from bot.skills.sources import NO_SOURCE

USE = "description: Says hello.\n"


IT = Skill("", "", "repository", "it", source=NO_SOURCE._replace(name=".agents/skills"))


def judged(front: str, body: str = "Do it.\n") -> Skill:
    return check_document(IT, f"---\n{front}---\n{body}".encode())


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
    [finding] = check_document(IT, b"---\nname: \xff\n---\n").findings
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
