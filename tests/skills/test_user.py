"""Skills of the person at the machine: their folders."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import skills_ref

from bot.checkout.git import Git
from bot.session.run_folder import RunFolder
from bot.skills.folders import BUNDLED, SkillSet, bundled, checkout_skills, choose_skills, commit_skills
from bot.skills.tool import SkillFolder
from tests.skills.corpus import skill, text, write
from tests.support.files import write_file
from tests.support.repositories import commit_all, make_repository


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


# Bundled skills


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


# The folder that commands see


def test_a_skill_of_a_commit_is_copied_with_modes_and_nothing_writable(tmp_path: Path):
    repo = make_repository(
        tmp_path / "r",
        {
            ".agents/skills/a/SKILL.md": skill("name: a\ndescription: Says hello.\n"),
            ".agents/skills/a/scripts/run.sh": "#!/bin/sh\necho hello\n",
            ".agents/skills/a/assets/x.bin": b"\0\xff",
        },
    )
    (repo / ".agents/skills/a/scripts/run.sh").chmod(0o755)
    commit_all(repo)
    [held] = choose_skills(commit_skills(Git(repo / ".git"), "HEAD")).skills
    shelf = SkillFolder(tmp_path / "run" / "skills", "/shown")
    assert shelf.document(held).startswith(b"---\nname: a")
    copied = tmp_path / "run" / "skills" / "a"
    assert subprocess.run([copied / "scripts/run.sh"], capture_output=True, check=True).stdout == b"hello\n"
    assert (copied / "assets/x.bin").read_bytes() == b"\0\xff"
    for path in (copied, *copied.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o222, path
    assert sorted(os.listdir(tmp_path / "run" / "skills")) == ["a"]
    RunFolder(tmp_path / "run").drop()
    assert not (tmp_path / "run").exists(), "what is read-only can still be cleared away"


def test_what_stands_in_the_way_is_replaced(tmp_path: Path):
    [held, *_] = choose_skills([bundled()]).skills
    write_file(tmp_path / held.name / "SKILL.md", "planted")
    assert b"planted" not in SkillFolder(tmp_path, "/shown").document(held)
