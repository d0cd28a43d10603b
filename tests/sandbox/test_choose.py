"""Which sandbox a run gets, and the sentence where it gets none."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode, NoSandboxError
from bot.sandbox import choose as chooser
from bot.sandbox.choose import choose


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(chooser, "_USUAL", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def fake(folder: Path, script: str) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_off_is_off() -> None:
    assert choose("off").name == "off"


@pytest.mark.bubblewrap
@pytest.mark.parametrize("setting", ["auto", "strict"])
def test_bubblewrap_is_found_with_its_version(setting: chooser.Setting) -> None:
    assert choose(setting).name.startswith("bubblewrap ")


@pytest.mark.parametrize("setting", ["auto", "strict"])
def test_without_bubblewrap_a_run_is_refused_with_the_fix(
    nothing_installed: Path, setting: chooser.Setting
) -> None:
    with pytest.raises(
        NoSandboxError, match=r"not installed.*apt-get install bubblewrap.*--sandbox off"
    ) as refused:
        choose(setting)
    assert refused.value.exit_code is ExitCode.NO_SANDBOX


def test_a_bubblewrap_that_cannot_run_is_no_bubblewrap(nothing_installed: Path) -> None:
    fake(nothing_installed, "exit 1")
    with pytest.raises(NoSandboxError, match=r"--version failed"):
        choose("auto")


def test_a_program_of_that_name_without_a_version_is_no_bubblewrap(nothing_installed: Path) -> None:
    fake(nothing_installed, "echo hello")
    with pytest.raises(NoSandboxError, match=r"gave no version but 'hello'"):
        choose("auto")


def test_another_system_than_linux_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(NoSandboxError, match=r"runs on Linux"):
        choose("auto")
