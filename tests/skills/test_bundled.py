"""The skills that come with the program, in the source and in the wheel."""

from pathlib import Path

import pytest
import skills_ref

from bot.skills.folders import BUNDLED, bundled, choose_skills

ROOT = Path(__file__).parents[2]
NAMES = [
    "docs-drift", "fix-failing-test", "resolve-conflict", "review-pull-request", "triage-issue",
    "update-dependencies", "write-tests",
]  # fmt: skip


def test_they_are_these_and_nothing_is_wrong_with_them():
    found = bundled()
    assert [judged.folder for judged in found.skills] == NAMES
    assert [finding for judged in found.skills for finding in judged.findings] == []
    assert found.notes == ()
    assert BUNDLED.resolve() == ROOT / "skills"
    assert found.source.name == "skills"


@pytest.mark.parametrize("name", NAMES)
def test_each_is_short_and_grants_itself_nothing(name: str):
    text = (ROOT / "skills" / name / "SKILL.md").read_text()
    assert len(text) / 3 < 5_000, "at three characters a token, the specification's recommendation"
    [skill] = [held for held in choose_skills([bundled()]).skills if held.name == name]
    assert len(skill.description) <= 300
    assert skill.allowed_tools == ""
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("scripts/"):
                assert (ROOT / "skills" / name / word).is_file()


def test_the_bundled_skills_are_good_by_the_specifications_own_reference():
    folders = sorted(path.parent for path in Path("skills").resolve().glob("*/SKILL.md"))
    assert {folder.name: skills_ref.validate(folder) for folder in folders} == {
        one.name: [] for one in folders
    }
