"""The catalogue: sorted, one short line a skill, never too long; and what is not in it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bot.skills.discover import Discovered
from bot.skills.find import choose_skills, denied_action
from bot.skills.skill import CheckedSkill, Skill
from bot.skills.sources import Folder
from bot.skills.tool import MAX_CHARACTERS, MAX_DESCRIPTION, catalogue, skill_spec


def a_skill(name: str, description: str = "Says hello.") -> Skill:
    return Skill(name, description, "repository", name)


def test_it_is_sorted_whatever_the_order() -> None:
    skills = [a_skill(name) for name in ("c", "a", "b")]
    assert catalogue(skills).splitlines() == [f"- {name}: Says hello." for name in "abc"]
    specs = []
    for seed in range(5):
        random.Random(seed).shuffle(skills)
        specs.append(skill_spec(skills))
    assert all(spec == specs[0] for spec in specs)
    assert "enum" not in specs[0].parameters["properties"]["command"], "each name is listed once"


def test_a_description_is_its_first_sentence_on_one_line() -> None:
    said = "Writes release notes e.g. for users. Use when asked for a changelog entry."
    assert catalogue([a_skill("notes", said)]) == "- notes: Writes release notes e.g. for users."
    assert catalogue([a_skill("notes", "What is new? Lists it.")]) == "- notes: What is new?"


def test_a_long_sentence_is_cut() -> None:
    [line] = catalogue([a_skill("long", "w" * 1024)]).splitlines()
    assert len(line) == len("- long: ") + MAX_DESCRIPTION
    assert line.endswith("w…")


def test_a_hundred_skills_stay_within_bounds() -> None:
    text = catalogue([a_skill(f"s{n:03}", "w" * 1024) for n in range(15)])
    assert len(text.splitlines()) == 15
    assert len(text) < MAX_CHARACTERS + 15 * len("- s000: \n")
    names = [f"s{n:03}" for n in range(100)]
    assert catalogue([a_skill(name) for name in names]) == f"- {', '.join(names)}"


def test_of_bundled_skills_the_names_say_enough() -> None:
    bundled = [a_skill(name)._replace(origin="bundled") for name in ("write-tests", "docs-drift")]
    assert catalogue([*bundled, a_skill("own")]) == "- own: Says hello.\n- docs-drift, write-tests"


@pytest.mark.parametrize(
    ("name", "description", "allowed"),
    [
        ("pushing-commits-to-the-repo", "What to do.", ()),
        ("after", "What to do every time you push. Watch CI.", ()),
        ("release", "Open a pull request for the release.", ()),
        ("ship", "Ships it.", ("Read", "Bash(git push:*)")),
        ("merge", "Merges it.", ("Bash(gh pr merge:*)",)),
    ],
)
def test_a_skill_for_what_no_run_may_do_is_not_offered(
    name: str, description: str, allowed: tuple[str, ...]
) -> None:
    assert denied_action(a_skill(name, description)._replace(allowed_tools=allowed))


def test_such_a_skill_of_the_repository_is_left_out_with_the_reason(tmp_path: Path) -> None:
    skills = [a_skill("release", "Open a pull request for the release."), a_skill("hello")]
    found = choose_skills(
        [(Folder(tmp_path, "s"), Discovered(tuple(CheckedSkill(one.folder, one) for one in skills)))]
    )
    assert [one.skill.name for one in found.skills] == ["hello"]
    assert found.notes[0].startswith(
        "s/release: the skill release is not offered: it is for work after the run"
    )


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("pre-push-review", "Review the branch before pushing the changes."),
        ("push-notifications", "How push notifications are sent and tested."),
        ("review-pull-request", "Review a pull request."),
        ("git-hygiene", "Write commits as this project likes them."),
    ],
)
def test_a_skill_that_only_speaks_of_pushing_is_offered(name: str, description: str) -> None:
    assert denied_action(a_skill(name, description)._replace(allowed_tools=("Bash(git log:*)",))) == ""
