"""What is Landlock's own: what is granted beside a hole, what it needs, and who ends what is left."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import NoSandboxError
from bot.toolhost.descendants import children
from bot.workspace.egress.access import EgressAccess
from bot.workspace.process import WorkspaceError
from bot.workspace.sandbox import hidden_paths, landlock
from bot.workspace.sandbox.confinement import InheritedFiles, Mounts
from bot.workspace.sandbox.landlock import Landlock
from bot.workspace.sandbox.remedies import HOW_TO_FIX
from tests.support.repositories import make_repository
from tests.support.sandbox_commands import landlock_plan
from tests.support.workspaces import Bench, bash, eventually, running

pytestmark = pytest.mark.skipif(landlock.version() < landlock.OLDEST, reason="this kernel has no Landlock")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    yield made
    made.close()


def here() -> Landlock:
    return Landlock(landlock.version())


def plan(mounts: Mounts) -> dict[str, Any]:
    return landlock_plan(here(), mounts)


def test_all_of_a_toolchain_is_granted_but_its_credentials(tmp_path: Path):
    """A-13."""
    cargo = tmp_path / ".cargo"
    (cargo / "bin").mkdir(parents=True)
    (cargo / "credentials.toml").write_text("token = 'x'")
    (cargo / "config.toml").write_text("[net]\noffline = true")
    run = plan(Mounts(tmp_path / "tree", "/x", toolchains=(cargo,)))["run"]
    assert {str(cargo / "bin"), str(cargo / "config.toml")} <= set(run)
    assert not {str(cargo), str(cargo / "credentials.toml")} & set(run)


def test_nothing_is_granted_through_a_link_beside_a_hole(tmp_path: Path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / ".npmrc").touch()
    (tools / "etc").symlink_to("/var")
    run = plan(Mounts(tmp_path / "tree", "/x", toolchains=(tools,)))["run"]
    assert not {"/var", str(tools / "etc")} & set(run)


def test_the_folder_that_the_tree_stands_for_is_not_granted_with_what_it_lies_in(tmp_path: Path):
    """What leads there would find the code as it was."""
    tools = tmp_path / ".pyenv"
    repository = tools / "work/app"
    (repository / ".venv/bin").mkdir(parents=True)
    (tools / "shims").mkdir()
    (tools / "work/other").mkdir()
    program = ((tools, str(tools)),)
    mounts = Mounts(tmp_path / "tree", str(repository), (), (), (tools, repository / ".venv"), program)
    run = set(plan(mounts)["run"])
    assert {str(tools / "shims"), str(tools / "work/other"), str(repository / ".venv")} <= run
    assert not {str(tools), str(tools / "work"), str(repository)} & run


def test_beside_a_folder_that_cannot_be_listed_nothing_is_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".pyenv/work/app").mkdir(parents=True)
    (tmp_path / ".pyenv/shims").mkdir()
    scandir = os.scandir

    def refused(path: str) -> Any:
        if path == str(tmp_path / ".pyenv/work"):
            raise PermissionError(path)
        return scandir(path)

    mounts = Mounts(tmp_path / "tree", str(tmp_path / ".pyenv/work/app"), toolchains=(tmp_path / ".pyenv",))
    monkeypatch.setattr(os, "scandir", refused)
    assert str(tmp_path / ".pyenv/shims") in plan(mounts)["run"]


def test_a_setting_that_goes_while_they_are_listed_need_not_be_hidden(tmp_path: Path):
    """As of a package manager at work."""
    for name in "abc":
        (tmp_path / name).touch(0o600)
    listing = hidden_paths._not_for_others(str(tmp_path), ())
    first = next(listing)
    for name in "abc":
        (tmp_path / name).unlink()
    assert Path(first).parent == tmp_path
    assert list(listing) == []


def test_where_commands_could_change_the_program_itself_it_is_refused():
    with pytest.raises(NoSandboxError, match=r"Install Slash Agent outside of the repository"):
        plan(Mounts(Path(__file__).resolve().parents[3], "/x"))


def test_the_tree_is_where_it_is_wherever_it_was_asked_for(bench: Bench):
    inside = bench.start(here(), mount="/srv/repository")
    assert bash(inside, "pwd").content.startswith(f"{bench.tree}\n")


@pytest.mark.parametrize("abi", [3, 4, 5, 6])
def test_each_version_is_asked_for_what_it_knows(bench: Bench, abi: int):
    assert bash(bench.start(Landlock(abi)), "cat a.txt; cat /etc/shadow").metadata["exit_code"] == 1


def test_a_host_that_cannot_confine_itself_is_a_missing_sandbox(bench: Bench):
    with pytest.raises(NoSandboxError, match=r"Landlock ABI 7.*could not be started.*") as refused:
        bench.start(Broken(7))
    assert HOW_TO_FIX in str(refused.value)


class Broken(Landlock):
    """One whose plan names a version that no kernel has, with a filter that none takes."""

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        command = Landlock.command(self, argv, mounts, inherited)
        [plan] = inherited.descriptors
        worse = json.loads(os.pread(plan, 1 << 24, 0)) | {"seccomp": "00" * 8}
        os.ftruncate(plan, 0)
        os.pwrite(plan, json.dumps(worse).encode(), 0)
        return command


@pytest.mark.parametrize("who", ["host", "host by a command"])
def test_the_guardian_ends_what_a_killed_host_leaves_behind(bench: Bench, who: str, tmp_path: Path):
    """A-28."""
    inside = bench.start(here())
    seconds = f"6{abs(hash((who, str(tmp_path)))) % 10**9}"
    bash(inside, f"setsid env -i /bin/sleep {seconds} > /dev/null 2>&1 &\nsleep 60", background=True)
    assert eventually(lambda: len(running(f"sleep\0{seconds}")) == 1)
    if who == "host":
        os.kill(inside.facts.pid, signal.SIGKILL)
    else:
        with pytest.raises(WorkspaceError):
            bash(inside, f"kill -9 {inside.facts.pid}; sleep 5")
    assert eventually(lambda: running(f"sleep\0{seconds}") == [])


def test_no_command_reaches_the_guardian(bench: Bench):
    inside = bench.start(here())
    [guardian] = [
        pid for pid in children(os.getpid()) if Path(f"/proc/{pid}/comm").read_text() == "slash-guardian\n"
    ]
    assert children(guardian) == [inside.facts.pid]
    said = bash(inside, f"kill -9 {guardian}; kill -STOP {guardian}; kill -9 {os.getpid()}").content
    assert said.count("Operation not permitted") == 3


def test_asking_for_a_way_out_is_an_error(bench: Bench):
    """Never a silent loss."""
    with pytest.raises(
        NoSandboxError, match=r"gives this run egress \(python\).*Landlock ABI \d+\) has none"
    ):
        bench.start(here(), egress=EgressAccess(("python",)))
