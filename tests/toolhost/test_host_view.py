import errno
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.toolhost import write_changes
from bot.toolhost.files import LARGE
from bot.toolhost.tools.view import MAX_BYTES
from bot.toolhost.write_changes import Step, StepFailed, apply_steps
from tests.support.files import write_file
from tests.support.programs import run_program
from tests.toolhost.conftest import Bench


def numbered(count: int) -> str:
    return "".join(f"line {n}\n" for n in range(1, count + 1))


MORE = '[to go on: view {"path": "a.txt", "offset": %d}]'


@pytest.mark.parametrize(
    ("lines", "arguments", "start", "end"),
    [
        (2, {}, "a.txt: 2 lines\n1|line 1\n2|line 2", "2|line 2"),
        (0, {}, "a.txt is empty.", "a.txt is empty."),
        (10, {"offset": 4, "limit": 2}, "lines 4-5 of 10\n4|line 4\n5|line 5", "5|line 5"),
        (10, {"offset": 9, "limit": 2}, "lines 9-10 of 10\n", "10|line 10"),
        (3000, {"offset": 4, "limit": 2500}, "lines 4-2003 of 3000\n", f"2003|line 2003\n{MORE % 2004}"),
        (2001, {"limit": 5000}, "lines 1-2000 of 2001\n", f"2000|line 2000\n{MORE % 2001}"),
        (2000, {"offset": 1}, "a.txt: 2000 lines\n", "2000|line 2000"),
    ],
)
def test_lines_are_numbered_and_a_range_that_is_cut_says_how_to_go_on(
    bench: Bench, lines: int, arguments: dict[str, int], start: str, end: str
):
    bench.write("a.txt", numbered(lines))
    text = bench.text("view", path="a.txt", **arguments)
    assert text.startswith(start)
    assert text.endswith(end)
    assert text == bench.text("view", path="a.txt", **arguments), (
        "shown again: a compaction may have taken it"
    )


def test_following_the_hints_shows_every_line_once(bench: Bench):
    bench.write("a.txt", "".join(f"{n} {'é' * (n % 900)}\n" for n in range(1, 301)))
    seen: list[str] = []
    offset = 1
    while offset:
        outcome = bench.call("view", path="a.txt", offset=offset)
        assert len(outcome.content.encode()) <= MAX_BYTES + 200
        seen += [line for line in outcome.content.splitlines()[1:] if line[0].isdigit()]
        hint = re.search(r'"offset": (\d+)}]$', outcome.content)
        offset = int(hint[1]) if hint else 0
    assert [int(line.split("|")[0]) for line in seen] == list(range(1, 301))


@pytest.mark.parametrize("length", [2001, 3_000_000])
def test_a_long_line_is_cut_and_said_so(bench: Bench, length: int):
    bench.write("a.txt", "x" * length + "\nend\n")
    text = bench.text("view", path="a.txt")
    assert "1|" + "x" * 2000 + "[line goes on]\n2|end\n" in text
    assert text.endswith("\n[1 long line was cut; bash shows more: sed -n LINEp FILE | cut -c 2001-4000]")


def test_an_offset_outside_the_file_is_refused(bench: Bench):
    bench.write("a.txt", numbered(3))
    refusal = bench.refusal("view", path="a.txt", offset=4)
    assert refusal == "a.txt has only 3 lines. Use an offset from 1 to 3."
    assert "1|" in bench.text("view", path="a.txt", offset=0), "the first line"


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"one\r\ntwo\r\n", "CRLF line ends"),
        (b"one\r\ntwo\n", "mixed line ends"),
        (b"one\ntwo", "no line end after the last line"),
        (b"caf\xe9\ntwo\n", "encoding unknown, shown as Latin-1"),
        (b"\xef\xbb\xbfone\ntwo\n", "UTF-8 with byte order mark"),
        ("one\ntwo\x0c\u2028\x85still\n".encode(), "a.txt: 2 lines"),
    ],
)
def test_what_is_special_about_a_file_is_in_the_first_line(bench: Bench, content: bytes, note: str):
    bench.write("a.txt", content)
    head, *lines = bench.text("view", path="a.txt").split("\n")
    assert note in head
    assert lines[0] in ("1|one", "1|café")
    assert lines[1].startswith("2|two")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/proc/self/environ", "outside the repository"),
        ("/dev/zero", "outside the repository"),
        ("../outside.txt", "outside the repository"),
        ("env", "leads out of the repository"),
        ("loop", "loop"),
        ("here.sock", "is a socket"),
        ("pipe", "is a FIFO"),
        ("src", "src is a folder. List it with ls, or name a file in it."),
        ("a.bin", "(10 bytes) is not text: it is a binary file"),
        ("huge.log", "huge.log has over 64 MiB: show a part with bash"),
        ("cafe.txt", "caf\\xe9.txt"),
        ("src/config.yml", "does not exist. Did you mean src/config.yaml, other/config.yml?"),
    ],
)
def test_what_cannot_be_shown_is_named(bench: Bench, monkeypatch: pytest.MonkeyPatch, path: str, words: str):
    monkeypatch.chdir(bench.root)  # a socket's path has at most 107 bytes
    (bench.root / "env").symlink_to("/proc/self/environ")
    (bench.root / "loop").symlink_to("loop")
    os.mkfifo(bench.root / "pipe")
    bench.write("a.bin", b"\x89PNG\r\n\x1a\n\0\0")
    os.truncate(bench.write("huge.log", "text\n"), LARGE + 1)
    Path(os.fsdecode(os.fsencode(bench.root) + b"/caf\xe9.txt")).write_text("x")
    bench.write("src/config.yaml", "x")
    bench.write("other/config.yml", "x")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("here.sock")
        assert words in bench.refusal("view", path=path)


# A long file is outlined before it is shown.

MODULE = """import os


class A:
    @property
    def f(self) -> int:
        def inner() -> int:
            return 1
        return inner()

    async def g(self) -> None: ...


def h() -> None:
    pass
"""


def test_a_long_file_is_outlined_where_no_range_is_named(bench: Bench):
    bench.write("a.py", MODULE + "# more\n" * 600)
    assert bench.text("view", path="a.py") == (
        "a.py: 615 lines. This is only its outline (first and last line of each definition), after what stands above "
        'it; view the parts you need: view {"path": "a.py", "offset": LINE, "limit": COUNT}\n'
        "1|import os\n2|\n3|\n"
        "4-13 class A:\n6-10   def f(self) -> int:\n7-10     def inner() -> int:\n"
        "11-13   async def g(self) -> None: ...\n14-615 def h() -> None:"
    )
    assert bench.text("view", path="a.py", offset=4, limit=2).splitlines()[1:3] == [
        "4|class A:",
        "5|    @property",
    ]
    assert bench.text("view", path="a.py", limit=2000).endswith("615|# more")


@pytest.mark.parametrize(
    "name, text, outline",
    [
        ("a.ts", "export class A {\n  get(x: number): void {\n    if (x) {\n    }\n  }\n}\nconst b = 1\n",
         ["1-6 export class A {", "2-6   get(x: number): void {", "7-607 const b = 1"]),
        ("a.go", "type A struct {\n}\n\nfunc (a A) F() {\n}\nfunc g() {}\n",
         ["1-3 type A struct {", "4-5 func (a A) F() {", "6-606 func g() {}"]),
        ("a.rs", "pub(crate) struct A;\nimpl A {\n    pub async fn f() {}\n}\n",
         ["1-1 pub(crate) struct A;", "2-604 impl A {", "3-604   pub async fn f() {}"]),
        ("A.java",
         "public final class A {\n    private static int f(int x) {\n        return g(x);\n    }\n    void g() {\n",
         ["1-605 public final class A {", "2-4   private static int f(int x) {", "5-605   void g() {"]),
        ("a.c", "#define X 1\nstruct a {\n};\nstatic int f(int x)\n{\n",
         ["1-1 #define X 1", "2-3 struct a {", "4-605 static int f(int x)"]),
        ("a.py", "class A:\n    def f(self\nclass B:\nclass C:\n",
         ["1-2 class A:", "2-2   def f(self", "3-3 class B:", "4-604 class C:"]),
    ],
)  # fmt: skip
def test_outlines_of_other_languages(bench: Bench, name: str, text: str, outline: list[str]):
    bench.write(name, text + "\n" * 600)
    assert bench.text("view", path=name).splitlines()[1:] == outline


def test_of_long_data_the_first_lines_are_shown(bench: Bench):
    bench.write("a.json", "[\n" + "1,\n" * 1000 + "1]\n")
    text = bench.text("view", path="a.json")
    assert text.startswith("lines 1-200 of 1002\n1|[\n")
    assert text.endswith('[to go on: view {"path": "a.json", "offset": 201}]')


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
