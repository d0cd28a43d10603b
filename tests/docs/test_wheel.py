"""What `pipx install` and `uv tool install` build holds everything that the program needs, as files."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.repositories import git, sample_repository

ROOT = Path(__file__).parents[2]
# For readers of the code alone.
_NOT_NEEDED = {"bot/workspace/protocol.md"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what is tracked, as it is from the repository, by the hook that pip and uv call."""
    folder = tmp_path_factory.mktemp("wheel")
    archive = folder / "source.tar"
    tracked = git(
        ROOT, "ls-files", "bot", "slash_forge", "skills", "pyproject.toml", "README.md", "LICENSE"
    ).splitlines()
    subprocess.run(["tar", "-cf", archive, "-C", ROOT, *tracked], check=True)
    source = folder / "source"
    source.mkdir()
    subprocess.run(["tar", "-xf", archive, "-C", source], check=True)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, folder], cwd=source, check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_it_holds_every_file_of_the_program_and_the_skills_as_files(wheel: Path):
    names = [
        name
        for name in git(ROOT, "ls-files", "bot", "slash_forge", "skills").splitlines()
        if name != "bot/skills/bundled"
    ]
    wanted = {
        name.replace("skills/", "bot/skills/bundled/", 1) if name.startswith("skills/") else name
        for name in names
    }
    with zipfile.ZipFile(wheel) as opened:
        assert wanted - set(opened.namelist()) == _NOT_NEEDED
        assert not [name for name in opened.namelist() if "__pycache__" in name]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_the_program_in_it_runs_the_demo_lists_its_skills_and_sets_a_repository_up(
    wheel: Path, tmp_path: Path
):
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(installed)
    repo = sample_repository(tmp_path / "tidytime")
    home = tmp_path / "home"
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(installed),
    }

    def run(*arguments: str) -> str:
        argv = [sys.executable, "-P", "-m", "bot", *arguments]
        completed = subprocess.run(
            argv, cwd=repo, env=environment, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    where = subprocess.run(
        [sys.executable, "-P", "-c", "import bot; print(bot.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert where.stdout.startswith(str(installed))
    assert "✔ 3 files changed in a draft pull request" in run("demo")
    bundled = sorted(path.parent.name for path in ROOT.glob("skills/*/SKILL.md"))
    assert [skill["name"] for skill in json.loads(run("skills", "list", "--json"))["skills"]] == bundled
    assert "/agent.yml" in run("init", "--dry-run", "--reviews", "--tasks")
