"""The skills that come with the program, in the source and in the wheel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bot.skills.find import BUNDLED, bundled, choose_skills

ROOT = Path(__file__).parents[2]
NAMES = [
    "docs-drift", "fix-failing-test", "resolve-conflict", "review-pull-request", "triage-issue",
    "update-dependencies", "write-tests",
]  # fmt: skip


def test_they_are_these_and_nothing_is_wrong_with_them() -> None:
    place, found = bundled()
    assert [judged.folder for judged in found.checked] == NAMES
    assert [finding for judged in found.checked for finding in judged.findings] == []
    assert found.notes == ()
    assert BUNDLED.resolve() == ROOT / "skills"
    assert place.name == "skills"


@pytest.mark.parametrize("name", NAMES)
def test_each_is_short_and_grants_itself_nothing(name: str) -> None:
    text = (ROOT / "skills" / name / "SKILL.md").read_text()
    assert len(text) / 3 < 5_000, "at three characters a token, the specification's recommendation"
    [skill] = [held.skill for held in choose_skills([bundled()]).skills if held.skill.name == name]
    assert len(skill.description) <= 300
    assert (skill.allowed_tools, skill.model) == ((), "")
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("scripts/"):
                assert (ROOT / "skills" / name / word).is_file()


def test_the_wheel_carries_them_and_an_installation_lists_them(tmp_path: Path) -> None:
    """Built from a copy, since a build leaves folders behind; installed without what it needs, which is here."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for folder in ("bot", "skills"):
        shutil.copytree(
            ROOT / folder,
            source / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "sample"),
        )
    uv = Path(sys.executable).with_name("uv")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_OFFLINE": "1", "UV_NO_CONFIG": "1"}

    def do(*command: object) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    do(
        uv,
        "build",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "-o",
        tmp_path / "dist",
        source,
    )
    [wheel] = (tmp_path / "dist").glob("*.whl")
    carried = zipfile.ZipFile(wheel).namelist()
    assert [name for name in NAMES if f"bot/skills/bundled/{name}/SKILL.md" not in carried] == []
    assert not [name for name in carried if "__pycache__" in name]
    do(uv, "venv", "--python", sys.executable, tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    do(uv, "pip", "install", "--no-deps", "--python", python, wheel)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    environment["PYTHONPATH"] = packages
    listed = json.loads(do(python, "-m", "bot", "skills", "list", "--json"))
    assert [one["name"] for one in listed["skills"]] == NAMES
    where = do(python, "-c", "from bot.skills.find import BUNDLED; print(BUNDLED)").strip()
    assert where.startswith(str(tmp_path / "venv"))
