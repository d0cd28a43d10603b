"""The client with the two servers that come with us, as they are."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.evidence import Answer, Severity
from bot.toolhost.lsp.process import ServerConfig
from bot.toolhost.lsp.server import LanguageServer
from bot.toolhost.lsp.server_loop import ServerLoop

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
LONG = 60.0
FILE = "the module ü#.py"
WRONG = 'import os\n"{}".format(1, 2)\nnumber: int = "🙂ü"; other: int = "b"\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("a root with %20 in it")
    (root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["E9", "F"]\n')
    return root


@pytest.fixture(scope="module")
def loop() -> Iterator[ServerLoop]:
    loop = ServerLoop()
    yield loop
    loop.stop()


@pytest.fixture(scope="module")
def servers(loop: ServerLoop, root: Path) -> dict[str, LanguageServer]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root)}
    programs = (ServerConfig(name, (str(BIN / name), "server"), root, environment) for name in ("ruff", "ty"))
    return {program.name: loop.start(program) for program in programs}


def test_both_find_what_is_wrong_at_its_place_and_what_was_put_right(
    loop: ServerLoop, servers: dict[str, LanguageServer]
) -> None:
    for server in servers.values():
        server.open(FILE, WRONG, "python")
    found = loop.diagnostics({server: [FILE] for server in servers.values()}, LONG)
    assert {answers[FILE].answer for answers in found.values()} == {Answer.COMPLETE}
    unused, format_ = found[servers["ruff"]][FILE].items
    assert (unused.code, unused.severity) == ("F401", Severity.WARNING)
    assert (format_.tool, format_.path, format_.code, format_.line) == ("ruff", FILE, "F523", 2)
    first, second = found[servers["ty"]][FILE].items
    assert (first.line, first.column, first.end_column) == (3, 15, 19)
    assert (second.line, second.column, second.code) == (3, 34, "invalid-assignment")
    assert first.severity is Severity.ERROR
    assert first.snippet == 'number: int = "🙂ü"; other: int = "b"'

    for server in servers.values():
        server.change(FILE, "number: int = 1\n")
    found = loop.diagnostics({server: [FILE] for server in servers.values()}, LONG)
    assert [answers[FILE].items for answers in found.values()] == [(), ()]


def test_many_double_edits_are_never_answered_for_an_older_text(
    loop: ServerLoop, servers: dict[str, LanguageServer]
) -> None:
    for server in servers.values():
        server.open("edited.py", "", "python")
    for number in range(5):
        for server in servers.values():
            server.change("edited.py", f"stale_{number}\n\n\n")
            server.change("edited.py", f"\n\nmissing_{number}\n")
        for server, answers in loop.diagnostics(
            {server: ["edited.py"] for server in servers.values()}, LONG
        ).items():
            (problem,) = answers["edited.py"].items
            assert f"missing_{number}" in problem.message, server.name
            assert problem.line == 3


def test_a_change_shows_in_the_files_that_import_it(servers: dict[str, LanguageServer], root: Path) -> None:
    ty = servers["ty"]
    (root / "used.py").write_text("def f() -> int: return 1\n")
    (root / "using.py").write_text("from used import f\n")
    ty.open("used.py", "def f() -> int: return 1\n", "python")
    ty.open("using.py", "from used import f\n", "python")
    assert ty.diagnostics(["using.py"], LONG)["using.py"].items == ()
    ty.change("used.py", "def g() -> int: return 1\n")
    (broken,) = ty.diagnostics(["used.py", "using.py"], LONG)["using.py"].items
    assert "`f`" in broken.message


def test_what_they_took_can_be_told(servers: dict[str, LanguageServer]) -> None:
    ty = servers["ty"]
    ty.open("told.py", "x = 1\n", "python")
    ty.diagnostics(["told.py"], LONG)
    use = ty.use()
    assert (use.name, use.note) == ("ty", "")
    assert use.version[0].isdigit()
    assert 0 < use.first_answer < LONG
    assert use.asked >= 1
    assert use.waited > 0
    assert use.memory > 1 << 20


def test_all_end_when_they_are_told_to(root: Path) -> None:
    loop = ServerLoop()
    server = loop.start(
        ServerConfig("ruff", (str(BIN / "ruff"), "server"), root, {"PATH": os.environ["PATH"]})
    )
    server.open("a.py", "x = 1\n", "python")
    assert server.diagnostics(["a.py"], LONG)["a.py"].answer is Answer.COMPLETE
    pid = server.process.client.pid
    began = time.monotonic()
    loop.stop()
    assert time.monotonic() - began < LONG
    assert not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text()
    assert server.off_reason == "stopped"
    assert server.diagnostics(["a.py"], 1.0)["a.py"].answer is not Answer.COMPLETE
