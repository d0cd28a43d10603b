"""Which sandboxes a machine has, and the sentence where it has none."""

from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode, NoSandboxError
from bot.workspace.sandbox import backends as chooser
from bot.workspace.sandbox import seccomp
from bot.workspace.sandbox.backends import bubblewrap, candidates, landlock
from tests.support.files import write_file

FIX = r"apt-get install bubblewrap.*--sandbox off"


@pytest.fixture
def no_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Only what the test puts into the folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "version", lambda: 0)


def fake(folder: Path, script: str) -> None:
    program = folder / "bwrap"
    write_file(program, f"#!/bin/sh\n{script}\n", 0o755)


def names(setting: chooser.Setting) -> list[str]:
    return [one.name.split()[0] for one in candidates(setting)[0]]


@pytest.mark.bubblewrap
def test_bubblewrap_comes_before_landlock_and_strict_is_bubblewrap_alone():
    assert names("auto") == ["bubblewrap", "Landlock"]
    assert names("strict") == ["bubblewrap"]


def test_what_is_missing_is_said_beside_what_is_there(no_bubblewrap: Path):
    assert candidates("auto") == ([landlock()], ["bubblewrap (bwrap) is not installed."])


def test_with_neither_a_run_is_refused_with_the_fix(no_bubblewrap: Path, no_landlock: None):
    with pytest.raises(NoSandboxError, match=r"not installed.*has no Landlock.*" + FIX) as refused:
        candidates("auto")
    assert refused.value.exit_code is ExitCode.NO_SANDBOX


def test_strict_without_bubblewrap_is_refused_although_there_is_landlock(no_bubblewrap: Path):
    with pytest.raises(NoSandboxError, match=r"not installed\. .*" + FIX):
        candidates("strict")


@pytest.mark.parametrize("abi", [1, 2])
def test_a_landlock_that_lets_files_be_emptied_is_too_old(monkeypatch: pytest.MonkeyPatch, abi: int):
    monkeypatch.setattr(chooser, "version", lambda: abi)
    with pytest.raises(NoSandboxError, match=rf"has version {abi} of Landlock; version 3 is needed"):
        landlock()


UNFIT = {
    "that cannot run": ("exit 1", r"--version failed"),
    "without a version": ("echo hello", r"gave no version but 'hello'"),
    "that mounts by name alone": ("echo bubblewrap 0.8.0", r"bubblewrap 0\.8\.0 .*Update it to 0\.10"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_program_of_that_name_is_no_bubblewrap(no_bubblewrap: Path, name: str):
    script, why = UNFIT[name]
    fake(no_bubblewrap, script)
    with pytest.raises(NoSandboxError, match=why):
        bubblewrap()


def test_a_bubblewrap_in_an_environment_of_a_repository_is_not_run(
    no_bubblewrap: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = no_bubblewrap / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "pyvenv.cfg").touch()
    fake(programs, "echo bubblewrap 0.11.0 --ro-bind-fd")
    monkeypatch.setenv("PATH", f"{programs}:{no_bubblewrap}")
    with pytest.raises(NoSandboxError, match="not installed"):
        bubblewrap()


def test_a_machine_without_a_table_of_calls_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(seccomp, "MACHINES", {})
    with pytest.raises(NoSandboxError, match="There is no sandbox for"):
        candidates("auto")
