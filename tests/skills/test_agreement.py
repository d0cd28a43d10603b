"""Our verdict on a skill is that of the specification's own reference, the package skills-ref."""

from __future__ import annotations

from pathlib import Path

import pytest
import skills_ref

from bot.skills.discover import discover
from bot.skills.sources import folder_source
from tests.skills.corpus import BAD, GOOD

ALL = {**GOOD, **BAD}


def conforms(root: Path, folder: str, text: str) -> bool:
    (root / folder).mkdir()
    (root / folder / "SKILL.md").write_bytes(text.encode())
    [judged] = discover(folder_source(root, "skills"), "repository").checked
    assert judged.conforms or any(finding.rule and finding.file for finding in judged.findings)
    return judged.conforms


@pytest.mark.parametrize("folder", ALL)
def test_the_verdict_is_that_of_the_reference(tmp_path: Path, folder: str) -> None:
    ours = conforms(tmp_path, folder, ALL[folder])
    theirs = skills_ref.validate(tmp_path / folder)
    assert ours == (theirs == []), theirs
    assert ours == (folder in GOOD)


def test_the_bundled_skills_are_good_by_both() -> None:
    skills = sorted(path.parent for path in Path("skills").resolve().glob("*/SKILL.md"))
    assert [(skill.name, skills_ref.validate(skill)) for skill in skills if skills_ref.validate(skill)] == []


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("name: it\ndescription: from --- to\n", "the reference takes any three hyphens for the end"),
        (
            "name: it\ndescription: a\x07b\n",
            "the reference fails on a control character instead of refusing it",
        ),
    ],
)
def test_where_the_reference_is_not_followed(tmp_path: Path, front: str, why: str) -> None:
    text = f"---\n{front}---\nBody\n"
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "SKILL.md").write_text(text)
    try:
        theirs = skills_ref.read_properties(tmp_path / "it").description
    except Exception:
        theirs = "(crash)"
    [judged] = discover(folder_source(tmp_path, "skills"), "repository").checked
    assert (judged.skill.description if judged.skill else "(refused)") != theirs, why
