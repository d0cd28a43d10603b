"""`.github/action/install.py`: what a runner gets, from the lock with hashes, and that the program starts there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot import __version__
from tests.support.files import write_file
from tests.support.programs import run_program
from tests.support.runner import ROOT

pytestmark = pytest.mark.slow


def test_the_program_runs_in_what_was_installed(installed: Path):
    completed = run_program(
        [installed / "bin" / "python", "-P", "-m", "bot", "--version"], cwd="/", env={}, check=True
    )
    assert completed.stdout == f"slash-agent {__version__}\n"


def test_what_a_run_needs_is_there_and_what_only_development_or_an_extra_needs_is_not(installed: Path):
    site = next(installed.glob("lib/python*/site-packages"))
    there = {path.name for path in site.iterdir()}
    assert {"anthropic", "openai", "github", "git", "yaml", "pydantic", "jinja2"} <= there
    assert not {"pytest", "mypy", "ruff", "hypothesis", "boto3"} & there


def test_everything_installed_is_in_the_lock_at_its_version(installed: Path):
    lock = (ROOT / "requirements.lock").read_text().lower().replace("_", "-")
    listed = subprocess.run(
        [
            installed / "bin" / "python", "-c",
            # The checkout is on its path, too, with what an editable install of somebody's has left there.
            ("from importlib.metadata import distributions as d; from sysconfig import get_path as at; "
            "[print(f'{x.name}=={x.version}') for x in d(path=[at('purelib')])]"),
        ],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    packages = listed.lower().replace("_", "-").split()
    assert len(packages) > 10
    assert [line for line in packages if line not in lock] == []


@pytest.mark.parametrize("index", ["PIP_INDEX_URL", "UV_INDEX_URL"])
def test_an_index_that_does_not_answer_is_one_sentence_below_the_installers_own(tmp_path: Path, index: str):
    script = ROOT / ".github" / "action" / "install.py"
    closed = {index: "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0"}
    failed = run_program([sys.executable, script, tmp_path / "venv"], env={**os.environ, **closed})
    assert failed.returncode == 1
    assert failed.stderr.endswith("as printed above. Is the package index reachable?\n")
    assert "Traceback" not in failed.stderr


def test_a_python_without_pip_installs_too(tmp_path: Path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    script = ROOT / ".github" / "action" / "install.py"
    subprocess.run([bare / "bin" / "python", script, tmp_path / "venv"], check=True)
    completed = run_program(
        [tmp_path / "venv" / "bin" / "python", "-P", "-m", "bot", "--version"], check=True
    )
    assert completed.stdout == f"slash-agent {__version__}\n"


def test_checkers_come_with_their_extra_and_leave_the_rest_as_it_was(installed: Path, tmp_path: Path):
    script = ROOT / ".github" / "action" / "install.py"
    command = [sys.executable, script, tmp_path / "venv", "--extras=checkers"]
    subprocess.run(command, check=True)
    programs = {path.name for path in (tmp_path / "venv" / "bin").iterdir()}
    assert {"ruff", "ty"} <= programs
    assert not {"pytest", "mypy", "pip", "uv"} & programs
    assert not {"ruff", "ty"} & {path.name for path in (installed / "bin").iterdir()}
    lock = (ROOT / "requirements.lock").read_text()
    output = run_program([tmp_path / "venv" / "bin" / "ty", "--version"], check=True)
    assert f"ty=={output.stdout.split()[1]} " in lock


@pytest.mark.parametrize("name", ["dev", "chekers", "--index-url=http://x"])
def test_an_extra_that_is_not_offered_is_named_before_anything_is_installed(tmp_path: Path, name: str):
    script = ROOT / ".github" / "action" / "install.py"
    completed = run_program([sys.executable, script, tmp_path / "venv", f"--extras={name}"])
    assert completed.returncode != 0
    assert f"there is no extra '{name}'; `extras` takes bedrock, checkers, vertex" in completed.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("package", ["uv", "pyyaml"])
def test_a_package_that_is_not_what_the_lock_says_is_not_installed(tmp_path: Path, package: str):
    copy = tmp_path / "action"
    for name in (".github/action/install.py", "pyproject.toml", "requirements.lock"):
        write_file(copy / name, (ROOT / name).read_bytes())
    lock = copy / "requirements.lock"
    lock.write_text(_with_other_hashes(lock.read_text(), package))
    script = copy / ".github" / "action" / "install.py"
    completed = run_program([sys.executable, script, tmp_path / "venv"])
    assert completed.returncode != 0
    assert "hash" in completed.stderr.lower()
    assert not list((tmp_path / "venv").glob("lib/python*/site-packages/slash_agent.pth"))


def _with_other_hashes(lock: str, package: str) -> str:
    blocks = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    [index] = [number for number, block in enumerate(blocks) if block.startswith(f"{package}==")]
    blocks[index] = re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", blocks[index])
    return "".join(blocks)
