"""Where skills are found, what is never looked into, and that thousands of them cost no more than some."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bot.checkout.git import Git
from bot.skills import discover as limits
from bot.skills.discover import discover
from bot.skills.find import checkout_skills, choose_skills, commit_skills
from bot.skills.skill import Level
from bot.skills.sources import CommitFolder, Folder
from bot.skills.sources import commit_folders as commit_folders
from tests.skills.corpus import skill
from tests.support.repositories import commit_all, git, make_repository


def text(name: str, use: str = "Says hello.") -> str:
    return skill(f"name: {name}\ndescription: {use}\n")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def names(place: Folder | CommitFolder) -> list[str]:
    return [judged.skill.name for judged in discover(place, "repository").checked if judged.skill]


def test_skills_are_found_in_folders_and_in_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "b/SKILL.md": text("b"),
            "a/SKILL.md": text("a"),
            "a/scripts/run.sh": "true\n",
            "a/inner/SKILL.md": text("inner"),
            "group/c/SKILL.md": text("c"),
            "small/skill.md": text("small"),
            "node_modules/x/SKILL.md": text("x"),
            "1/2/3/4/5/SKILL.md": text("deep"),
            "README.md": "",
            "SKILL.md": text("root"),
        },
    )
    assert names(Folder(tmp_path, "skills")) == ["a", "b", "c", "small"]
    [a, *_] = discover(Folder(tmp_path, "skills"), "repository").checked
    assert a.skill is not None
    assert [file.path for file in a.skill.files] == ["inner/SKILL.md", "scripts/run.sh"]


def test_a_link_in_a_skill_refuses_it_and_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"a/SKILL.md": text("a"), "b/SKILL.md": text("b")})
    (tmp_path / "a" / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "c").symlink_to(tmp_path / "b")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "SKILL.md").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "b" / "pipe")
    found = discover(Folder(tmp_path, "skills"), "repository")
    assert {judged.folder: judged.findings[0].rule for judged in found.checked} == {
        "a": "plain-files", "b": "plain-files", "d": "plain-files",
    }  # fmt: skip
    assert all(judged.skill is None for judged in found.checked)
    assert "skills/a/passwd: plain-files: this is a link" in str(found.checked[0].findings[0])
    assert any("skills/c is a link" in note for note in found.notes)


def test_a_commit_is_read_and_not_the_work_tree(tmp_path: Path) -> None:
    repo = make_repository(
        tmp_path / "r", {".agents/skills/a/SKILL.md": text("a"), ".agents/skills/a/x": "1"}
    )
    write(repo, {".agents/skills/b/SKILL.md": text("b"), ".agents/skills/a/SKILL.md": text("changed")})
    [place] = commit_folders(Git(repo / ".git"), "HEAD", [".agents/skills"])
    assert names(place) == ["a"]


def test_links_and_submodules_in_a_commit_are_refused(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r", {".agents/skills/a/SKILL.md": text("a"), ".claude/x": ""})
    (repo / ".agents/skills/a/link").symlink_to("/etc/passwd")
    (repo / ".claude/skills").symlink_to("../.agents/skills")
    head = commit_all(repo)
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{head},.agents/skills/sub")
    git(repo, "commit", "-q", "-m", "A submodule")
    found = commit_skills(Git(repo / ".git"), "HEAD")
    [judged] = found[0][1].checked
    assert (judged.skill, judged.findings[0].rule) == (None, "plain-files")
    assert found[0][1].notes == (".agents/skills/sub is a link or a submodule, so no skill is read there",)
    assert found[1][1] == ((), (".claude/skills is a link, so it is not looked into",))


def test_the_first_place_wins_and_the_collision_is_said(tmp_path: Path) -> None:
    repo = make_repository(
        tmp_path / "r",
        {
            ".agents/skills/write-tests/SKILL.md": text("write-tests", "The repository's own."),
            ".claude/skills/write-tests/SKILL.md": text("write-tests", "Another."),
            ".claude/skills/z/SKILL.md": text("z"),
            ".claude/skills/y/SKILL.md": text("z", "Second by folder... no, first: y is before z."),
        },
    )
    found = checkout_skills(repo, {})
    held = {one.skill.name: one for one in found.skills}
    assert held["write-tests"].skill.description == "The repository's own."
    assert held["z"].skill.folder == "y"
    assert held["triage-issue"].skill.origin == "bundled"
    said = [note for note in found.notes if "comes first" in note]
    assert said == [
        f"{folder}: not used, since {first} comes first and is named {name} too"
        for folder, first, name in (
            (".claude/skills/write-tests", ".agents/skills/write-tests", "write-tests"),
            (".claude/skills/z", ".claude/skills/y", "z"),
            ("skills/write-tests", ".agents/skills/write-tests", "write-tests"),
        )
    ]
    assert list(held) == sorted(held)


def test_a_linked_work_tree_has_the_skills_of_its_head(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r", {".agents/skills/a/SKILL.md": text("a")})
    git(repo, "worktree", "add", "-q", str(tmp_path / "w"))
    assert "a" in [one.skill.name for one in checkout_skills(tmp_path / "w", {}).skills]


def test_outside_of_a_repository_there_are_the_bundled_ones(tmp_path: Path) -> None:
    found = checkout_skills(tmp_path, {})
    assert {one.skill.origin for one in found.skills} == {"bundled"}
    assert "is not in a git repository" in found.notes[0]


def test_thousands_of_skills_are_bounded(tmp_path: Path) -> None:
    blobs = {f".agents/skills/s{number:05}/SKILL.md": text(f"s{number:05}") for number in range(2_000)}
    repo = make_repository(tmp_path / "r", {"README.md": ""})
    stream = ["commit refs/heads/main\ncommitter M <m@x> 0 +0000\ndata 1\nx\nfrom refs/heads/main^0\n"]
    stream += [f"M 100644 inline {path}\ndata {len(content)}\n{content}\n" for path, content in blobs.items()]
    import subprocess

    subprocess.run(["git", "fast-import", "--quiet"], cwd=repo, input="".join(stream).encode(), check=True)
    begun = time.monotonic()
    found = choose_skills(commit_skills(Git(repo / ".git"), "main"))
    assert time.monotonic() - begun < 10
    assert len(found.skills) == 100
    assert any("2000 skills; only the first 200" in note for note in found.notes)
    assert any("a session has the first 100" in note for note in found.notes)


def test_a_huge_skill_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a/SKILL.md": text("a") + "x" * 300_000, "b/SKILL.md": text("b"), "b/data": "x" * 2000})
    monkeypatch.setattr(limits, "MAX_BYTES", 1000)
    found = discover(Folder(tmp_path, "skills"), "repository")
    assert [judged.skill for judged in found.checked] == [None, None]
    assert {finding.rule for judged in found.checked for finding in judged.findings} == {"size"}
    assert all(finding.level is Level.REFUSED for judged in found.checked for finding in judged.findings)


def test_the_same_place_gives_the_same_answer(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}/SKILL.md": text(name) for name in "zyxab"})
    first = discover(Folder(tmp_path, "skills"), "repository")
    assert first == discover(Folder(tmp_path, "skills"), "repository")
    assert [judged.folder for judged in first.checked] == list("abxyz")
