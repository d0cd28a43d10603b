"""Skills of the person at the machine: their folders."""

from pathlib import Path

import pytest

from bot.skills.folders import SkillSet, checkout_skills
from bot.skills.tool import SkillFolder
from tests.skills.corpus import text, write
from tests.support.repositories import make_repository


def names(found: SkillSet, origin: str) -> list[str]:
    return [held.name for held in found.skills if held.origin == origin]


def test_the_repositorys_come_before_the_users_and_those_before_the_bundled(tmp_path: Path):
    home = write(
        tmp_path / "home",
        {
            ".config/slash-agent/skills/a/SKILL.md": text("a", "First."),
            ".agents/skills/a/SKILL.md": text("a", "Second."),
            ".agents/skills/b/SKILL.md": text("B", "Second."),
            ".claude/skills/a/SKILL.md": text("a", "Fourth."),
            ".claude/skills/b/SKILL.md": text("b", "Fourth."),
            ".claude/skills/write-tests/SKILL.md": text("write-tests", "My way."),
        },
    )
    repo = make_repository(tmp_path / "r", {".claude/skills/a/SKILL.md": text("a", "Third.")})
    found = checkout_skills(repo, {"HOME": str(home)})
    held = {one.name: one for one in found.skills}
    assert (held["a"].description, held["a"].source.name) == ("Third.", ".claude/skills")
    assert held["B"].description == "Second."
    assert held["write-tests"].description == "My way."
    assert names(found, "user") == ["B", "write-tests"]
    for folder in ("~/.config/slash-agent/skills", "~/.agents/skills", "~/.claude/skills"):
        assert f"{folder}/a: not used, since .claude/skills/a comes first and is named a too" in found.notes
    assert (
        "~/.claude/skills/b: not used, since ~/.agents/skills/b comes first and is named B too" in found.notes
    )


@pytest.mark.parametrize("more", [{"GITHUB_ACTIONS": "true"}, {"HOME": ""}, {"HOME": "home"}])
def test_a_runners_home_and_one_that_is_no_place_have_none(
    tmp_path: Path, more: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    home = write(tmp_path / "home", {".claude/skills/a/SKILL.md": text("a")})
    monkeypatch.chdir(tmp_path)
    assert {held.origin for held in checkout_skills(tmp_path, {"HOME": str(home), **more}).skills} == {
        "bundled"
    }


def test_a_folder_that_is_linked_into_the_users_is_read_and_no_link_within_it(tmp_path: Path):
    home = write(tmp_path / "home", {".claude/skills/a/SKILL.md": text("a")})
    write(tmp_path / "dotfiles", {"b/SKILL.md": text("b"), "b/x": "1", "c/SKILL.md": text("c")})
    (tmp_path / "dotfiles/c/shadow").symlink_to("/etc/passwd")
    for name in "bc":
        (home / ".claude/skills" / name).symlink_to(tmp_path / "dotfiles" / name)
    found = checkout_skills(tmp_path, {"HOME": str(home)})
    assert names(found, "user") == ["a", "b"]
    [b] = [held for held in found.skills if held.name == "b"]
    SkillFolder(tmp_path / "shelf", "/shown").document(b)
    assert (tmp_path / "shelf/b/x").read_text() == "1"
    assert any("c/shadow: plain-files" in note for note in found.notes)
