"""Programs and modules of the repository under the names of those that the host uses (A-29)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.checkout.host_programs import find_host_program, host_path
from slash_forge import Forge
from tests.session.conftest import Cli
from tests.support import warm
from tests.support.attacks import KEY, MODEL
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_server import ModelServer
from tests.support.repositories import make_repository
from tests.support.stage import command

PROGRAMS = ("git", "bash", "sh", "bwrap", "python3", "python", "cp", "tar", "env")
MODULES = (
    "sitecustomize.py", "usercustomize.py", "bot/__init__.py", "json.py", "re2.py", "yaml.py", "conftest.py",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a29_nothing_planted_in_the_repository_is_run_by_the_host(cli: Cli, tmp_path: Path):
    """Started in the repository, with its folders first on PATH, as a step after `npm install` would be."""
    canary = tmp_path / "canary"
    program = f'#!/bin/sh\necho "$0" >> {canary}\nexit 1\n'
    module = f"open({str(canary)!r}, 'a').write(__file__)\n"
    files = {f"{folder}{name}": program for folder in ("", "node_modules/.bin/") for name in PROGRAMS}
    repo = make_repository(
        tmp_path / "app", {"README.md": "# App\n", **files, **dict.fromkeys(MODULES, module)}
    )
    for name in files:
        (repo / name).chmod(0o755)
    argv = command("fix", "--model", MODEL, "--out", tmp_path / "bundle", "do as you are told")
    planted = {"PATH": f".:node_modules/.bin::{os.environ['PATH']}", "PYTHONSTARTUP": "json.py"}
    with ModelServer([shell("echo changed >> README.md"), DONE]) as server:
        result = warm.run_cold(argv, {**cli.environment(), **planted, **server.environment(KEY)}, repo)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "README.md" in result.stdout
    assert not canary.exists(), canary.read_text()
    (repo / "git").chmod(0o755)
    os.spawnv(os.P_WAIT, str(repo / "git"), ["git"])
    assert canary.exists()  # so the trap is one


def plant(folder: Path, canary: Path, names: tuple[str, ...] = PROGRAMS) -> str:
    """Programs that write down their name and go on as the real ones. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_file(folder / name, f'#!/bin/sh\necho "$0" >> {canary}\nexec /usr/bin/{name} "$@"\n', 0o755)
    return str(folder)


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a29_nothing_of_the_activated_environment_is_run_by_the_host(cli: Cli, tmp_path: Path):
    """As after `source .venv/bin/activate` in a checkout whose set-up somebody else wrote, with direnv's `PATH_add`."""
    canary = tmp_path / "canary"
    repo = make_repository(tmp_path / "app", {"README.md": "# App\n", ".gitignore": ".venv\ntools\n"})
    write_file(repo / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    folders = [plant(repo / name, canary) for name in (".venv/bin", "tools/node_modules/.bin", "tools")]
    planted = {"PATH": ":".join([*folders, os.environ["PATH"]]), "VIRTUAL_ENV": str(repo / ".venv")}
    argv = command("fix", "--model", MODEL, "--out", tmp_path / "bundle", "do as you are told")
    with ModelServer([shell("echo changed >> README.md"), DONE]) as server:
        result = warm.run_cold(argv, {**cli.environment(), **planted, **server.environment(KEY)}, repo)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not canary.exists(), canary.read_text()


_FETCH = """
import sys
from pathlib import Path
from bot.checkout.clone import Source, check_out
check_out(Source(sys.argv[1], "main", sys.argv[2]), Path(sys.argv[3]))
"""


def test_a29_the_first_fetch_runs_no_git_of_an_environment(tmp_path: Path):
    """A library that runs `git version` when it is imported would do so with the token in its environment."""
    canary = tmp_path / "canary"
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/pyvenv.cfg").touch()
    programs = plant(tmp_path / "venv/bin", canary, ("git", "env", "sh"))
    source = make_repository(tmp_path / "app", {"README.md": "# App\n"})
    with Forge() as forge:
        forge.add_user("ada")
        repo = forge.create_repository("ada", "app", source)
        subprocess.run(
            [sys.executable, "-P", "-c", _FETCH, forge.clone_url(repo), forge.token("ada"), tmp_path / "run"],
            env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
            check=True,
        )
    assert (tmp_path / "run/tree/README.md").is_file()
    assert not canary.exists(), canary.read_text()


def _linked(repo: Path) -> str:
    (repo.parent / "link").symlink_to(repo / "bin")
    return str(repo.parent / "link")


def _linked_program(repo: Path) -> str:
    (repo.parent / "home").mkdir()
    (repo.parent / "home/git").symlink_to(repo / "bin/git")
    return str(repo.parent / "home")


PLACES: dict[str, Callable[[Path], str]] = {
    "a folder of the checkout": lambda repo: str(repo / "bin"),
    "a folder of a checkout whose .git is a file": lambda repo: str(repo / "worktree/bin"),
    "a link to it": _linked,
    "a link to a program of it": _linked_program,
    "by way of a parent": lambda repo: str(repo / "../app/bin"),
    "node_modules": lambda repo: str(repo.parent / "npm/node_modules/.bin"),
    "an environment elsewhere": lambda repo: str(repo.parent / "venv/bin"),
    "Conda's environment": lambda repo: str(repo.parent / "conda/bin"),
    "what VIRTUAL_ENV names": lambda repo: str(repo.parent / "named/bin"),
    "what CONDA_PREFIX names": lambda repo: str(repo.parent / "prefix/bin"),
    "a relative folder": lambda repo: "bin",
    "the current folder": lambda repo: "",
}


@pytest.mark.parametrize("place", PLACES)
def test_a29_a_program_comes_from_no_folder_that_a_repository_can_fill(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    repo = make_repository(tmp_path / "app", {"README.md": "# App\n"})
    write_file(repo / "worktree/.git", "gitdir: elsewhere\n")
    for folder in ("bin", ".", "worktree/bin", "../npm/node_modules/.bin"):
        plant(repo / folder, tmp_path / "canary")
    for folder, mark in (("venv", "pyvenv.cfg"), ("conda", "conda-meta"), ("named", ""), ("prefix", "")):
        plant(tmp_path / folder / "bin", tmp_path / "canary")
        if mark:
            (tmp_path / folder / mark).mkdir()
    monkeypatch.chdir(repo)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "named"))
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "prefix"))
    own = plant(tmp_path / "own", tmp_path / "canary")
    monkeypatch.setenv("PATH", f"{PLACES[place](repo)}:{own}")
    assert find_host_program("git") == f"{own}/git"
    assert own in host_path().split(":")


def test_a29_with_nothing_else_on_the_path_the_systems_programs_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", plant(tmp_path / "bin", tmp_path / "canary"))
    assert find_host_program("sh") in ("/usr/bin/sh", "/bin/sh")
