import os
import re
import socket
from pathlib import Path

import pytest

from bot.toolhost.files import LARGE
from bot.toolhost.tools.view import MAX_BYTES
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
