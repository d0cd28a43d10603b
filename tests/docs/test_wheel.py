"""What `pipx install` and `uv tool install` build holds everything that the program needs, as files."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
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
        completed = run_program(argv, cwd=repo, env=environment)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    where = run_program([sys.executable, "-P", "-c", "import bot; print(bot.__file__)"], env=environment)
    assert where.stdout.startswith(str(installed))
    assert "✔ 3 files changed in a draft pull request" in run("demo")
    bundled = sorted(path.parent.name for path in ROOT.glob("skills/*/SKILL.md"))
    assert [skill["name"] for skill in json.loads(run("skills", "list", "--json"))["skills"]] == bundled
    assert "/agent.yml" in run("init", "--dry-run", "--reviews", "--tasks")


# The image


def instructions() -> dict[str, str]:
    """The last text of each instruction of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", "")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split(maxsplit=1) for line in lines)


def command_of_the_page() -> list[str]:
    """The words after the image's name in the page's `docker run`."""
    [line] = re.findall(r"^docker run .*$", (ROOT / "docs/container.md").read_text(), re.MULTILINE)
    words = shlex.split(line)
    assert not {"--privileged", "--cap-add"} & set(words)
    assert [word for word in words if word.endswith((".sock", "$HOME"))] == []
    return words[words.index("slash-agent") + 1 :]


def test_the_image_starts_the_program_that_the_action_installs():
    made = instructions()
    copied = made["COPY"].split()[1]
    [python, *options] = json.loads(made["ENTRYPOINT"])
    install = re.search(
        rf"python3 {copied}/(?P<script>\S+) (?P<folder>\S+) --extras (?P<extra>\w+)",
        (ROOT / "Dockerfile").read_text(),
    )
    assert install and (ROOT / install["script"]).is_file()
    assert python == f"{install['folder']}/bin/python"
    done = run_program([sys.executable, *options, "--version"], cwd=ROOT, check=True)
    assert done.stdout.startswith("slash-agent ")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare of util-linux is missing")
def test_a_user_without_a_name_gets_a_branch_under_landlock(tmp_path: Path):
    """As `docker run` has it: a user id that no file names, an empty home, no namespaces for bubblewrap."""
    home = tmp_path / "home"
    home.mkdir(mode=0o1777)
    repo = sample_repository(tmp_path / "repo")
    [_, *options] = json.loads(instructions()["ENTRYPOINT"])
    nobody = ["unshare", "--user", "--map-user=54321", "--map-group=54321"]
    if subprocess.run([*nobody, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this kernel lets nobody make a user namespace")
    with ModelServer(fix_steps()) as server:
        done = run_program(
            [*nobody, sys.executable, *options, *command_of_the_page(), "--sandbox", "landlock"],
            cwd=repo,
            env=server.environment() | {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        )
    assert done.returncode == 0, done.stderr
    assert "sandbox   Landlock" in done.stdout
    branches = run_program(["git", "-C", str(repo), "branch", "--list", "agent/*"], check=True)
    assert branches.stdout.strip()
