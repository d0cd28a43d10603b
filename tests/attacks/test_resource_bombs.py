"""Attack A-49: forks, memory, disk, files, output and patches without end. Both back ends; each limit so low that a
bomb is small and goes off at once."""

import ctypes
import re
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.checkout import git, objects, remote
from bot.checkout.clone import Source, check_out
from bot.checkout.git import CheckoutError
from bot.contracts.cancel import CancelToken
from bot.toolhost.command_usage import DiskUse, Machine, runs_out
from bot.toolhost.resource_limits import ExceededLimit
from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import bubblewrap, landlock
from bot.workspace.sandbox.landlock import OLDEST, version
from slash_forge import Forge
from tests.support.repositories import Repository, make_repository
from tests.support.workspaces import Bench, bash

MIB = 1 << 20
LOW = {"memory": 160 * MIB, "processes": 25, "file": 8 * MIB, "disk": 24 * MIB, "open_files": 64}

HOLD = "python3 -S -c 'import time; held = b\"x\" * (48 << 20); time.sleep(60)'"
FILES_IN_MEMORY = """
import os, time
held = [os.memfd_create(str(n)) for n in range(24)]
for file in held: os.write(file, bytes(8 << 20))
time.sleep(60)
"""
SEGMENT = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
number = int(sys.argv[1]) if sys.argv[1:] else libc.shmget(0, 1 << 20, 0o1600)
place = libc.shmat(number, None, 0)
print("reached" if place not in (None, 2**64 - 1) else "refused")
"""
OPEN = 'files = [open(name) for name in ["/dev/null"] * 100]'
ZIP = """
import zipfile as z
with z.ZipFile("bomb.zip", "w", z.ZIP_DEFLATED) as out: out.writestr("zeros", bytes(16 << 20))
z.ZipFile("bomb.zip").extractall("out")
"""

HOPS = """
use POSIX; $end = time + 90;
for (1 .. 60) { if (!fork) { while (time < $end) { exit if fork; POSIX::setsid() } exit } }
sleep 60
"""
MANY = "more than 25 processes ran in the workspace at once"
SESSIONS = "use POSIX; $end = time + 20; for (1 .. 8) { fork; POSIX::setsid() } 1 while time < $end"

BELOW_THE_LIMIT = """
use POSIX; for (1 .. 15) { if (!fork) { select undef, undef, undef, 1; exit } }
do { $child = waitpid -1, 8; $news++ if $child > 0 } until $child < 0 && $! == ECHILD;
print $news > 15 ? "stopped and continued" : "never stopped"
"""
"""`waitpid` with WCONTINUED (8) also tells of a child that was stopped and goes on."""


BOMBS = {
    "forks": ("for i in $(seq 40); do setsid sleep 60 & done; wait", "processes", MANY),
    "forks, each in a session of its own": (f"perl -e '{SESSIONS}'", "processes", MANY),
    "forks that end at once": (f"perl -e '{HOPS}'", "processes", MANY),
    "memory of one": ("python3 -S -c 'bytearray(1 << 30)'", "memory", "one process may ask for 160 MiB of memory"),
    "memory of many": (f"for i in 1 2 3 4 5 6; do {HOLD} & done; wait", "memory", "more than 160 MiB of memory was"),
    "files in memory": (f"python3 -S -c '{FILES_IN_MEMORY}'", "memory", "more than 160 MiB of memory was"),
    "disk": ("for i in 1 2 3 4 5; do head -c 8000000 /dev/zero >part$i; done; sleep 60", "disk",
             "more than 24 MiB was added to the work tree"),
    "one huge file": ("exec head -c 9000000 /dev/zero >huge", "file", "one file may have 8 MiB here, holes included"),
    "a sparse file": ("truncate -s 1T sparse", "file", "one file may have 8 MiB here, holes included"),
    "a zip file": (f"python3 -c '{ZIP}'", "file", "one file may have 8 MiB here, holes included"),
    "open files": (f"python3 -c '{OPEN}'", "open_files", "one process may have 64 open files"),
}  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(bubblewrap, id="bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param(
            landlock,
            id="landlock",
            marks=[pytest.mark.slow, pytest.mark.skipif(version() < OLDEST, reason="no Landlock here")],
        ),
    ],
)
def confined(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("bombs")
    bench = Bench(folder, make_repository(folder / "tree", {"a.txt": "one\n"}))
    yield bench.start(request.param(), limits=LOW)
    bench.close()


def tidy(workspace: Workspace) -> None:
    assert bash(workspace, "rm -rf part* huge sparse out bomb*").metadata["exit_code"] == 0


@pytest.mark.parametrize("bomb", BOMBS)
def test_a49_a_bomb_is_stopped_by_a_limit_that_is_named(confined: Workspace, bomb: str):
    script, limit, words = BOMBS[bomb]
    outcome = bash(confined, script, timeout=60)
    assert words in outcome.content, outcome.content
    assert outcome.metadata["limit"] == limit
    assert not outcome.metadata["timed_out"]
    tidy(confined)


def test_a49_a_bomb_in_the_background_is_stopped_too(confined: Workspace):
    bash(confined, BOMBS["forks"][0], background=True)
    outcome = confined.call("bash_output", {"id": 1, "wait": 60}, CancelToken())
    assert (outcome.is_error, outcome.metadata["limit"]) == (True, "processes")
    assert MANY in outcome.content


def test_a49_a_fork_bomb_ends_everything_in_the_workspace_says_so_and_goes_no_further(confined: Workspace):
    """A command in the background that ran before it is ended with it; a process of the same user outside is not."""
    with subprocess.Popen(["sleep", "600"]) as outside:
        try:
            output = bash(confined, "while sleep 0.1; do :; done", background=True).content
            started = re.search(r'\{"id": (\d+)\}', output)
            assert started, output
            bomb = bash(confined, BOMBS["forks, each in a session of its own"][0])
            other = confined.call("bash_output", {"id": int(started[1]), "wait": 10}, CancelToken())
            for outcome in (bomb, other):
                assert outcome.metadata["limit"] == "processes"
                assert "everything that ran in the workspace, background commands and" in outcome.content
            assert "perl -e" in bomb.content
            assert bash(confined, "echo on").content.startswith("on\n")
            assert outside.poll() is None
        finally:
            outside.kill()


def test_a49_what_multiplies_stands_still_while_it_is_counted_and_then_goes_on(confined: Workspace):
    """A bomb without a bound leaves the tool host no time to count it. This one is below the limit."""
    for _ in range(5):  # on a busy machine it can be over before it is counted
        outcome = bash(confined, f"perl -e '{BELOW_THE_LIMIT}'", timeout=30)
        assert outcome.metadata["exit_code"] == 0
        if outcome.content.startswith("stopped and continued"):
            break
    assert outcome.content.startswith("stopped and continued"), outcome.content


def test_a28_a_command_that_ends_the_process_above_it_leaves_nothing_behind(confined: Workspace):
    outcome = bash(confined, "setsid sleep 4242 & kill -9 $PPID; sleep 60")
    assert "killed by SIGKILL" in outcome.content
    assert "since a command had ended the process that waits for it" in outcome.content
    assert bash(confined, "pgrep -f '[s]leep 4242'").metadata["exit_code"] == 1


def test_a49_output_without_end_is_stopped_by_the_time_and_kept_in_bounds(confined: Workspace):
    outcome = bash(confined, "yes", timeout=1)
    assert "timed out after 1 s" in outcome.content
    assert len(outcome.content) < 35_000
    assert Path(outcome.metadata["spill"]).stat().st_size < 60 * MIB


def test_a49_folders_in_memory_are_full_soon(confined: Workspace):
    if bash(confined, "touch /run/x").metadata["exit_code"] != 0:
        return  # this back end has none
    outcome = bash(
        confined, "for i in $(seq 10); do head -c 8000000 /dev/zero >/run/$i || exit; done; sleep 60"
    )
    assert "No space left on device" in outcome.content
    assert "full: /run (64 MiB). Delete what is there, or write to $TMPDIR" in outcome.content
    assert outcome.metadata["limit"] == "tmpfs"
    bash(confined, "rm -f /run/*")


@pytest.fixture
def segment() -> Iterator[int]:
    """A segment of System V outside, that everybody may use."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(0, 4096, 0o1666)
    yield number
    libc.shmctl(number, 0, None)


def test_a10_no_shared_memory_of_the_machine_can_be_reached(confined: Workspace, segment: int):
    assert "refused" in bash(confined, f"python3 -S -c '{SEGMENT}' {segment}").content


def test_a28_no_shared_memory_outlives_its_command(confined: Workspace):
    before = bash(confined, "wc -l < /proc/sysvipc/shm").content
    bash(confined, f"python3 -S -c '{SEGMENT}'")
    assert bash(confined, "wc -l < /proc/sysvipc/shm").content == before


def test_a49_where_the_machine_runs_out_of_memory_the_command_is_ended_that_took_it():
    """Buffers of sockets and the like are in nobody's books."""
    much, little = Machine(64 * MIB, 32 * MIB), Machine(64 * MIB, 4 * MIB)
    assert not runs_out(much, Machine(64 * MIB, 5 * MIB), 2 * MIB)
    assert runs_out(much, Machine(64 * MIB, 3 * MIB), 2 * MIB)
    assert not runs_out(little, Machine(64 * MIB, 3 * MIB), 2 * MIB)


def test_a49_folders_and_empty_files_are_on_the_disk_too(tmp_path: Path):
    """A disk runs out of places for files as well."""
    use = DiskUse((tmp_path,), 100 * 4096, pause=0)
    assert use.check([], 0) is None
    for number in range(60):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/empty").touch()
    assert use.check([], 0) == ExceededLimit("disk", 100 * 4096)


def test_what_only_deletes_is_let_be_though_more_came_after_the_limit_was_passed(tmp_path: Path):
    use = DiskUse((tmp_path,), 4096, pause=0)
    (tmp_path / "a").write_bytes(bytes(8192))
    assert use.check([], use.before()) == ExceededLimit("disk", 4096)
    (tmp_path / "b").write_bytes(bytes(8192))
    assert use.check([], use.before()) is None


PATCHES = {
    "one file of many lines": f"*** Add File: bomb.txt\n{('+' + 'x' * 70 + chr(10)) * 30_000}",
    "many files": "".join(f"*** Add File: bomb{number}.txt\n+x\n" for number in range(500)),
    "one long line": f"*** Add File: bomb.txt\n+{'x' * 2_000_000}\n",
    "many hunks": "*** Update File: a.txt\n" + "@@\n-two\n+three\n" * 5_000,
}


@pytest.mark.parametrize("kind", PATCHES)
def test_a49_a_patch_that_explodes_is_an_answer_and_no_end(confined: Workspace, kind: str):
    text = f"*** Begin Patch\n{PATCHES[kind]}*** End Patch"
    assert len(confined.call("patch", {"patch": text}, CancelToken()).content) < 100_000
    assert bash(confined, "cat a.txt").content.startswith("one\n")
    tidy(confined)


# Bombs in the tree


Bomb = Callable[[Repository], str]


def many_files(repository: Repository) -> str:
    """100,000 files from 6 objects; 11 objects make 10,000,000,000."""
    entry = ("100644", repository.store("blob", b"x"))
    for _ in range(5):
        entry = ("40000", repository.store_tree(*((entry[0], f"{n}", entry[1]) for n in range(10))))
    return entry[1]


def nested(repository: Repository) -> str:
    """Folders in folders, 300 deep."""
    entry = ("100644", repository.store("blob", b"x"))
    for _ in range(300):
        entry = ("40000", repository.store_tree((entry[0], "d", entry[1])))
    return entry[1]


def huge_file(repository: Repository) -> str:
    """A file whose object says that it unpacks to 11 GiB."""
    sha = repository.store("blob", b"x")
    path = repository.path / ".git" / "objects" / sha[:2] / sha[2:]
    path.write_bytes(zlib.compress(b"blob %d\0" % (11 << 30) + bytes(1000)))
    return repository.store_tree(("100644", "zeros", sha))


def one_long_path(repository: Repository) -> str:
    return repository.store_tree(("100644", "x" * 20_000, repository.store("blob", b"x")))


TREES: list[tuple[Bomb, str]] = [
    (many_files, "more than 10,000 files and folders"),
    (nested, "nests folders more than 256 deep"),
    (huge_file, "holds more than 10 GiB"),
    (one_long_path, "has a path of more than 4,096 bytes"),
]


@pytest.mark.parametrize(("bomb", "words"), TREES, ids=[bomb.__name__ for bomb, _ in TREES])
def test_a75_a_tree_bomb_is_refused_before_it_is_written(
    bomb: Bomb, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(objects, "MOST_ENTRIES", 10_000)
    repository = Repository(tmp_path / "source")
    repository.commit_of(bomb(repository))
    with pytest.raises(CheckoutError, match=words):
        check_out(Source(str(repository.path), "HEAD"), tmp_path / "run")
    assert not (tmp_path / "run" / "tree").exists()


def test_a75_nor_does_one_come_by_way_of_a_fetch(tmp_path: Path):
    repository = Repository(tmp_path / "source")
    repository.commit_of(nested(repository))
    with Forge() as forge:
        forge.add_user("ada")
        url = forge.clone_url(forge.create_repository("ada", "bomb", repository.path))
        with pytest.raises(CheckoutError, match=r"256 deep.* name a branch without it"):
            check_out(Source(url, "main"), tmp_path / "run")
    assert not (tmp_path / "run" / "tree").exists()


def test_a75_git_unpacks_no_more_than_its_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository = Repository(tmp_path / "source")
    repository.commit(zeros=bytes(30 << 20))
    for module in (git, remote):
        monkeypatch.setattr(module, "memory_limit", lambda: 24)
    with Forge() as forge:
        forge.add_user("ada")
        url = forge.clone_url(forge.create_repository("ada", "bomb", repository.path))
        with pytest.raises(CheckoutError, match="git needs more than 24 MiB of memory or 3600 s to unpack"):
            check_out(Source(url, "main"), tmp_path / "run")
