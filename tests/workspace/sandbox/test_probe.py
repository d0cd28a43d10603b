"""Which sandboxes a machine has, and the probe: what it shows, what it takes for a broken wall, and which wall is taken
then."""

import fcntl
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode, NoSandboxError
from bot.toolhost.canaries import TRIES
from bot.workspace import canaries
from bot.workspace.canaries import MAY_BE_CLOSED, NAMES, describe
from bot.workspace.probe import first_that_holds, probe
from bot.workspace.sandbox import backends as chooser
from bot.workspace.sandbox import seccomp
from bot.workspace.sandbox.backends import Off, bubblewrap, candidates, landlock
from bot.workspace.sandbox.backends import landlock as kernel_s_own
from bot.workspace.sandbox.confinement import InheritedFiles, Mounts
from bot.workspace.sandbox.landlock import OLDEST, Landlock, version
from tests.support.files import write_file
from tests.support.worlds import World

needs_landlock = pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")
PERFMON, SYS_ADMIN = 38, 21


class NoWall(Off):
    """A back end that says that it confines, and does not."""

    name = "no wall"
    tier = "T1"
    confines = True


class BrokenWall(NoWall):
    name = "broken wall"

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        return ["/bin/sh", "-c", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"]


def test_each_canary_has_its_words():
    assert all(describe([name]) != name for name in TRIES)


@pytest.mark.parametrize(
    "back_end",
    [
        pytest.param(bubblewrap, marks=pytest.mark.bubblewrap),
        pytest.param(kernel_s_own, marks=needs_landlock),
    ],
)
def test_every_canary_that_sings_in_the_open_is_silent_inside(back_end: object):
    assert callable(back_end)
    found = probe(back_end())
    assert [one.name for one in found.canaries] == list(NAMES)
    assert not any(one.inside for one in found.canaries)
    assert {one.name for one in found.canaries if not one.outside} <= MAY_BE_CLOSED
    assert (found.abi, found.kernel, found.notes) == (version(), os.uname().release, ())


def test_a_wall_that_is_none_is_found_out():
    """Every canary is seen to get through one that does nothing."""
    with pytest.raises(NoSandboxError, match=r"no wall does not hold") as refused:
        probe(NoWall())
    for name in set(NAMES) - MAY_BE_CLOSED:
        assert describe([name]) in str(refused.value)


def test_a_canary_that_is_silent_in_the_open_makes_the_probe_a_broken_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(canaries.Canaries, "reached", lambda *said: set(NAMES) - {"TCP", "io_uring"})
    with pytest.raises(NoSandboxError, match=r"itself broken here.*could not reach: TCP\."):
        probe(NoWall())


def test_the_first_that_holds_is_taken_and_it_is_said_why_not_another():
    chosen = first_that_holds([BrokenWall(), NoWall(), Off()], ["The first is not installed."])
    assert chosen.confinement.name == "off"


@needs_landlock
def test_the_note_says_what_failed_and_what_is_had_instead():
    chosen = first_that_holds([BrokenWall(), kernel_s_own()])
    [note] = chosen.sandbox_probe.notes
    assert chosen.sandbox_probe.tier == "T2"
    assert note.startswith(
        "broken wall could not be started: setting up uid map: Permission denied. Landlock ABI"
    )
    assert note.endswith("is used instead; it cannot give commands a network.")


def test_where_none_holds_all_reasons_are_said():
    with pytest.raises(
        NoSandboxError, match=r"The first\. broken wall could not.* no wall does not hold.*--sandbox off"
    ):
        first_that_holds([BrokenWall(), NoWall()], ["The first."])


@needs_landlock
@pytest.mark.skipif(os.getuid() != 0, reason="only root has capabilities to keep")
@pytest.mark.parametrize("capability", [PERFMON, SYS_ADMIN])
def test_a10_a_root_that_keeps_a_capability_is_refused(capability: int):
    with pytest.raises(
        NoSandboxError, match=r"another process's environment can be read.*capabilities are left"
    ):
        probe(Landlock(version(), kept_capabilities=(capability,)))


@needs_landlock
@pytest.mark.parametrize("abi", [3, 4, 5])
def test_a_landlock_that_lets_signals_through_is_taken_with_a_note(abi: int):
    found = probe(Landlock(abi))
    assert found.notes == (f"Landlock ABI {abi}: processes outside can be signalled.",)
    assert [one.name for one in found.canaries if one.inside] == ["signal to another process"]


_CHOOSE = """
import sys
sys.path.insert(0, sys.argv[1])
from bot.workspace.probe import choose
wall = choose("auto").sandbox_probe
print(wall.tier, [one.name for one in wall.canaries if not one.outside], wall.notes)
"""


@pytest.mark.bubblewrap
@needs_landlock
@pytest.mark.parametrize("less", [("docker",), ("docker", "nobody")], ids="-".join)
def test_in_a_container_bubblewrap_gives_way_to_landlock(less: tuple[str, ...]):
    world = World("landlock", less)
    if reason := world.missing():
        pytest.skip(reason)
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        world.command("-c", _CHOOSE, root), capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.stdout.startswith("T2 ['io_uring', 'user namespace'] ") or "kernel settings" in done.stdout, (
        done
    )
    assert "No permissions to create new namespace" in done.stdout


def test_nothing_is_left_of_a_probe(monkeypatch: pytest.MonkeyPatch):
    with tempfile.TemporaryDirectory(prefix="left-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with pytest.raises(NoSandboxError):
            probe(NoWall())
        assert list(Path(folder).iterdir()) == []


def test_what_ends_as_soon_as_it_is_asked_to_was_there_all_the_same(tmp_path: Path):
    with canaries.plant(tmp_path / "canaries", tmp_path, all_of_them=True) as planted:
        assert planted.lock
        for number in range(50):
            held = os.open(planted.lock / str(number), os.O_RDWR | os.O_CREAT)
            fcntl.flock(held, fcntl.LOCK_EX)
            until_removed = threading.Thread(target=_close_when_removed, args=(held,))
            until_removed.start()
            assert "process left behind" in planted.reached(str(number), ())
            until_removed.join()
            assert not (planted.lock / str(number)).exists()


def _close_when_removed(descriptor: int) -> None:
    while os.fstat(descriptor).st_nlink:
        pass
    os.close(descriptor)


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
