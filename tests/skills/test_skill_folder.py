"""The shelf: whole copies, read-only, scripts that can be run, and nothing outside of it."""

import os
import stat
import subprocess
from pathlib import Path

from bot.checkout.git import Git
from bot.session.run_folder import RunFolder
from bot.skills.folders import bundled, choose_skills, commit_skills
from bot.skills.tool import SkillFolder
from tests.skills.corpus import skill
from tests.support.files import write_file
from tests.support.repositories import commit_all, make_repository


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
