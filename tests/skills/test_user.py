"""Skills of the person at the machine: their folders and their plug-ins."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.skills.find import SkillSet, checkout_skills
from bot.skills.tool import SkillFolder
from tests.skills.corpus import text, write
from tests.support.repositories import make_repository

OFFICIAL = "~/.claude/plugins/cache/official/tdd/1.0/skills"


def plugin(home: Path, folder_name: str = "tdd", **manifest: Any) -> str:
    """A plug-in with the skill `review`; returns the folder that it is installed in."""
    folder = home / f".claude/plugins/cache/official/{folder_name}/1.0"
    manifest = {"name": folder_name, **manifest}
    write(
        folder,
        {
            ".claude-plugin/plugin.json": json.dumps(manifest),
            "skills/review/SKILL.md": text("review"),
            "skills/review/x.sh": "",
        },
    )
    return str(folder)


def installed(home: Path, entries: Mapping[str, Any], enabled: Mapping[str, Any]) -> None:
    write(
        home / ".claude",
        {
            "plugins/installed_plugins.json": json.dumps({"version": 2, "plugins": entries}),
            "settings.json": json.dumps({"enabledPlugins": enabled}),
        },
    )


def names(found: SkillSet, origin: str) -> list[str]:
    return [held.name for held in found.skills if held.origin == origin]


def test_the_repositorys_come_before_the_users_and_those_before_the_bundled(tmp_path: Path) -> None:
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
) -> None:
    home = write(tmp_path / "home", {".claude/skills/a/SKILL.md": text("a")})
    installed(
        home, {"tdd@official": [{"scope": "user", "installPath": plugin(home)}]}, {"tdd@official": True}
    )
    monkeypatch.chdir(tmp_path)
    assert {held.origin for held in checkout_skills(tmp_path, {"HOME": str(home), **more}).skills} == {
        "bundled"
    }


def test_a_folder_that_is_linked_into_the_users_is_read_and_no_link_within_it(tmp_path: Path) -> None:
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


def test_a_plug_in_that_is_installed_and_enabled_has_its_skills_under_its_own_name(tmp_path: Path) -> None:
    home = write(tmp_path / "home", {".claude/skills/review/SKILL.md": text("review")})
    entries = {
        "tdd@official": [
            {"scope": "project", "installPath": "/x"},
            {"scope": "user", "installPath": plugin(home)},
        ],
        "off@official": [{"scope": "user", "installPath": plugin(home, "off")}],
        "other@official": [{"scope": "project", "installPath": plugin(home, "other")}],
        "gone@official": [{"scope": "user", "installPath": "/nowhere"}],
        "odd": "?",
    }
    installed(
        home, entries, {"tdd@official": True, "off@official": False, "other@official": True, "odd": True}
    )
    found = checkout_skills(tmp_path, {"HOME": str(home)})
    assert names(found, "plugin") == ["tdd:review"]
    assert names(found, "user") == ["review"]
    [held] = [one for one in found.skills if one.name == "tdd:review"]
    assert held.source.name == OFFICIAL
    shelf = SkillFolder(tmp_path / "shelf", "/shown")
    assert shelf.document(held).startswith(b"---\nname: review")
    assert shelf.path_of("tdd:review") == "/shown/tdd.review"
    assert (tmp_path / "shelf/tdd.review/x.sh").is_file()


@pytest.mark.parametrize("name", ["../up", "", 7, "a:b", "A"])
def test_a_plug_in_without_a_valid_name_is_said(tmp_path: Path, name: object) -> None:
    home = tmp_path / "home"
    installed(home, {"tdd@o": [{"scope": "user", "installPath": plugin(home, name=name)}]}, {"tdd@o": True})
    found = checkout_skills(tmp_path, {"HOME": str(home)})
    assert names(found, "plugin") == []
    assert f"{OFFICIAL}: no skill is read there" in found.notes[-1]


@pytest.mark.parametrize("file", ["plugins/installed_plugins.json", "settings.json"])
@pytest.mark.parametrize("content", ["{", "[]", '{"plugins": [], "enabledPlugins": 1}', "[" * 100_000])
def test_what_cannot_be_understood_means_no_plug_in(tmp_path: Path, file: str, content: str) -> None:
    home = tmp_path / "home"
    installed(home, {"tdd@o": [{"scope": "user", "installPath": plugin(home)}]}, {"tdd@o": True})
    write(home / ".claude", {file: content})
    assert names(checkout_skills(tmp_path, {"HOME": str(home)}), "plugin") == []


def test_where_there_are_too_many_those_of_plug_ins_are_left_out_first(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = plugin(home)
    write(Path(folder), {f"skills/s{number:03}/SKILL.md": text(f"s{number:03}") for number in range(120)})
    installed(home, {"a@o": [{"scope": "user", "installPath": folder}]}, {"a@o": True})
    found = checkout_skills(tmp_path, {"HOME": str(home)})
    assert len(found.skills) == 100
    assert "write-tests" in names(found, "bundled")
