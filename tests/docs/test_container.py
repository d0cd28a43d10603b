"""The steps of the Dockerfile and the line of docs/container.md, one by one: no Docker is needed."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository

ROOT = Path(__file__).parents[2]


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
    done = subprocess.run(
        [sys.executable, *options, "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
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
        done = subprocess.run(
            [*nobody, sys.executable, *options, *command_of_the_page(), "--sandbox", "landlock"],
            cwd=repo,
            env=server.environment() | {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "sandbox   Landlock" in done.stdout
    branches = subprocess.run(
        ["git", "-C", str(repo), "branch", "--list", "agent/*"], capture_output=True, text=True, check=True
    )
    assert branches.stdout.strip()
