"""The catalogue: sorted, one short line a skill, never too long; and what is not in it."""

import random
from pathlib import Path

import pytest

from bot.skills.folders import Wanted, choose_skills, denied_action
from bot.skills.skill import Discovered, Skill
from bot.skills.sources import folder_source
from bot.skills.tool import MAX_CHARACTERS, catalogue, skill_spec


def a_skill(name: str, description: str = "Says hello.") -> Skill:
    return Skill(name, description, "repository", name)


def test_it_is_sorted_whatever_the_order():
    skills = [a_skill(name) for name in ("c", "a", "b")]
    assert catalogue(skills).splitlines() == [f"- {name}: Says hello." for name in "abc"]
    specs = []
    for seed in range(5):
        random.Random(seed).shuffle(skills)
        specs.append(skill_spec(skills))
    assert all(spec == specs[0] for spec in specs)
    assert "enum" not in specs[0].parameters["properties"]["command"], "each name is listed once"


def test_of_many_skills_each_can_be_told_from_the_others():
    skills = [a_skill(f"s{n:03}", f"Does {n}. " + "w" * 1024) for n in range(100)]
    lines = catalogue([*skills, a_skill("short", "Says hello. Use when greeted.")]).splitlines()
    assert lines[-1] == "- short: Says hello. Use when greeted."
    assert all(line.startswith(f"- s{n:03}: Does {n}. www") for n, line in enumerate(lines[:-1]))
    assert sum(len(line.partition(": ")[2]) for line in lines) <= MAX_CHARACTERS
    assert len({len(line) for line in lines[:-1]}) == 1


def test_of_bundled_skills_the_names_say_enough():
    bundled = [a_skill(name)._replace(origin="bundled") for name in ("write-tests", "docs-drift")]
    assert catalogue([*bundled, a_skill("own")]) == "- own: Says hello.\n- docs-drift, write-tests"


@pytest.mark.parametrize(
    ("name", "description", "allowed"),
    [
        ("pushing-commits-to-the-repo", "What to do.", ""),
        ("after", "What to do every time you push. Watch CI.", ""),
        ("release", "Open a pull request for the release.", ""),
        ("ship", "Ships it.", "Read, Bash(git push:*)"),
        ("merge", "Merges it.", "Bash(gh pr merge:*)"),
    ],
)
def test_a_skill_for_what_no_run_may_do_is_not_offered(name: str, description: str, allowed: str):
    assert denied_action(a_skill(name, description)._replace(allowed_tools=allowed))


def test_such_a_skill_of_the_repository_is_left_out_with_the_reason(tmp_path: Path):
    source = folder_source(tmp_path, "s")
    skills = [a_skill("release", "Open a pull request for the release."), a_skill("hello")]
    found = choose_skills([Discovered(source, [one._replace(source=source) for one in skills])])
    assert [one.name for one in found.skills] == ["hello"]
    assert found.notes[0].startswith(
        "s/release: the skill release is not offered: it is for work after the run"
    )


@pytest.mark.parametrize(
    ("wanted", "offered"),
    [
        (Wanted(), False),
        (Wanted("deploy it"), False),
        (Wanted("see docs/deploy"), False),
        (Wanted("/deploy-all"), False),
        (Wanted("/deploy"), True),
        (Wanted("use /deploy, please"), True),
        (Wanted(name="deploy-all"), False),
        (Wanted(name="Deploy"), True),
        (None, True),
    ],
)
def test_a_skill_for_people_alone_is_there_if_a_person_writes_its_name(
    tmp_path: Path, wanted: Wanted | None, offered: bool
):
    skill = a_skill("deploy")._replace(manual=True)
    found = choose_skills([Discovered(folder_source(tmp_path, "s"), (skill,))], wanted)
    assert [one.name for one in found.skills] == ["deploy"] * offered
    assert any("only people start it" in note for note in found.notes) is not offered


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("pre-push-review", "Review the branch before pushing the changes."),
        ("push-notifications", "How push notifications are sent and tested."),
        ("review-pull-request", "Review a pull request."),
        ("git-hygiene", "Write commits as this project likes them."),
    ],
)
def test_a_skill_that_only_speaks_of_pushing_is_offered(name: str, description: str):
    assert denied_action(a_skill(name, description)._replace(allowed_tools="Bash(git log:*)")) == ""
