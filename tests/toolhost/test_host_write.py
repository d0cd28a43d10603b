import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.toolhost import write_changes
from bot.toolhost.write_changes import Step, StepFailed, apply_steps
from tests.support.files import write_file
from tests.support.programs import run_program
from tests.toolhost.conftest import Bench


def test_a_new_file_gets_its_folders_and_the_usual_mode(bench: Bench):
    outcome = bench.call("write", path="a/b/c.txt", content="one\n")
    path = bench.root / "a/b/c.txt"
    umask = os.umask(0o022)
    os.umask(umask)
    assert path.read_text() == "one\n"
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert outcome.content == "Created a/b/c.txt (+1 -0)."
    assert outcome.metadata["created"] is True


def test_a_file_must_have_been_viewed_as_it_is_and_keeps_line_ends_mark_and_mode(bench: Bench):
    path = bench.write("größe $x;.txt", b"one\r\n")
    path.chmod(0o440)
    assert 'view {"path": "' in bench.refusal("write", path=path.name, content="two\n")
    bench.call("view", path=path.name)
    path.chmod(0o640)
    write_file(path, b"\xef\xbb\xbfone\r\ntwo\r\n", 0o440)
    assert "changed since" in bench.refusal("write", path=path.name, content="three\n")
    bench.call("view", path=path.name)
    bench.call("write", path=path.name, content="1\n2\n3\n")
    assert path.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"
    assert path.stat().st_mode & 0o777 == 0o440
    bench.call("write", path="empty.txt", content="")
    assert (bench.root / "empty.txt").read_bytes() == b""


def test_the_same_content_is_a_success_that_writes_nothing(bench: Bench):
    path = bench.write("a.txt", "one\n")
    os.utime(path, ns=(5, 5))
    assert "nothing was written" in bench.text("write", path="a.txt", content="one\n")
    assert path.stat().st_mtime_ns == 5


def test_a_folder_is_not_written(bench: Bench):
    (bench.root / "src").mkdir()
    assert "folder" in bench.refusal("write", path="src", content="x")
    assert "folder" in bench.refusal("write", path="new/", content="x")


def test_writing_leaves_a_binary_file_alone(bench: Bench):
    path = bench.write("a.bin", b"\0\1\2")
    assert "is not text: it is a binary file" in bench.refusal("write", path="a.bin", content="x")
    assert path.read_bytes() == b"\0\1\2"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "tree"
    disk.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_leaves_the_old_file_and_says_so(bench: Bench, small_disk: Path):
    path = bench.write("a.txt", "one\n")
    bench.call("view", path="a.txt")
    message = bench.refusal("write", path="a.txt", content="x" * 100_000)
    assert message.startswith("The disk is full; nothing was written.")
    assert path.read_text() == "one\n"
    assert not list(small_disk.glob(".slash-agent-*"))


def test_a_full_disk_leaves_no_folder_behind(bench: Bench, small_disk: Path):
    assert "The disk is full" in bench.refusal("write", path="new/deep/a.txt", content="x" * 100_000)
    assert os.listdir(small_disk) == []


_LIMITED = """
import resource, sys
from pathlib import Path
from bot.toolhost.write_changes import Step, StepFailed, apply_steps
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
path = Path(sys.argv[1])
try:
    apply_steps([Step(path, path.read_bytes(), b"x" * 10_000)])
except StepFailed as failed:
    print(failed.error.errno)
"""


def test_a_write_that_fails_half_way_leaves_the_old_bytes(bench: Bench):
    path = bench.write("a.txt", "old\n" * 500)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    ran = run_program(
        [sys.executable, "-c", _LIMITED, str(path)], check=True, cwd=Path(write_changes.__file__).parents[2]
    )
    assert ran.stdout.strip() == str(errno.EFBIG)
    assert path.read_text() == "old\n" * 500
    assert os.listdir(bench.root) == ["a.txt"]


@pytest.fixture
def steps(tmp_path: Path) -> tuple[Step, ...]:
    (tmp_path / "a").write_bytes(b"a")
    write_file(tmp_path / "b", b"b", 0o751)
    return (
        Step(tmp_path / "a", b"a", None, 0o644), Step(tmp_path / "b", b"b", b"B", 0o751),
        Step(tmp_path / "sub" / "c", None, b"C"),
    )  # fmt: skip


def there(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail(monkeypatch: pytest.MonkeyPatch, what: str, name: str, error: BaseException) -> list[str]:
    """Let one thing fail for the file `name`; return what is put in its place, in order."""
    done: list[str] = []
    real_put, real_write = write_changes.put, write_changes.write_beside

    def put(step: Step, temporary: str) -> None:
        if (what, name) == ("put", step.path.name):
            raise error
        done.append(step.path.name)
        real_put(step, temporary)

    def write_beside(path: Path, data: bytes, mode: int | None) -> str:
        if (what, name) == ("write" if data.isupper() else "undo", path.name):
            raise error
        return real_write(path, data, mode)

    monkeypatch.setattr(write_changes, "put", put)
    monkeypatch.setattr(write_changes, "write_beside", write_beside)
    return done


def test_deletions_come_last(steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done = fail(monkeypatch, "", "", OSError())
    apply_steps(steps)
    assert there(tmp_path) == {"b": b"B", "sub/c": b"C"}
    assert done == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("what", "name"), [("write", "b"), ("write", "c"), ("put", "b"), ("put", "c"), ("put", "a")]
)
def test_a_step_that_fails_is_named_and_those_before_it_are_undone(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, name: str
):
    fail(monkeypatch, what, name, OSError(28, "No space left on device"))
    with pytest.raises(StepFailed) as caught:
        apply_steps(steps)
    assert (caught.value.path.name, caught.value.torn) == (name, ())
    assert there(tmp_path) == {"a": b"a", "b": b"b"}
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o751
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_what_cannot_be_undone_is_named(
    steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fail(monkeypatch, "undo", "b", OSError(28, "No space left on device"))
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    with pytest.raises(StepFailed) as caught:
        apply_steps(steps)
    assert caught.value.torn == (tmp_path / "b",)
    assert there(tmp_path) == {"b": b"B"}


def test_an_interrupt_undoes_too(steps: tuple[Step, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fail(monkeypatch, "put", "a", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        apply_steps(steps)
    assert there(tmp_path) == {"a": b"a", "b": b"b"}
