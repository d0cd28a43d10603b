"""The client against ruff and ty as they are."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.contracts.evidence import Problem, Severity
from bot.toolhost.lsp.client import LanguageServer, SourceFile
from tests.support.language_servers import start
from tests.support.workspaces import eventually

BIN = Path(sys.executable).parent
FILE = "the module ü#.py"
WRONG = 'import os\n"{}".format(1, 2)\nnumber: int = "🙂ü"; other: int = "b"\n'


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LanguageServer]]:
    root = tmp_path_factory.mktemp("a root with %20 in it")
    (root / "pyproject.toml").write_text('[tool.ruff.lint]\nselect = ["E9", "F"]\n')
    started = {name: start((str(BIN / name), "server"), root, name) for name in ("ruff", "ty")}
    yield started
    for server in started.values():
        server.end()


def file(server: LanguageServer, name: str, text: str) -> SourceFile:
    """A new file, or the open one with this text."""
    found = server.documents[name].file if name in server.documents else SourceFile(name, None, text)
    found.now = text
    return found


def problems(server: LanguageServer, name: str, text: str) -> tuple[Problem, ...]:
    server.read(file(server, name, text), "python")
    assert eventually(lambda: server.is_ready([name])), server.off_reason
    return server.documents[name].problems or ()


def test_both_find_what_is_wrong_at_its_place_and_what_was_put_right(
    servers: dict[str, LanguageServer],
) -> None:
    unused, format_ = problems(servers["ruff"], FILE, WRONG)
    assert (unused.code, unused.severity) == ("F401", Severity.WARNING)
    assert (format_.tool, format_.path, format_.code, format_.line) == ("ruff", FILE, "F523", 2)
    first, second = problems(servers["ty"], FILE, WRONG)
    assert (first.line, first.column) == (3, 15)
    assert (second.line, second.column, second.code) == (3, 34, "invalid-assignment")
    assert first.severity is Severity.ERROR
    assert first.snippet == 'number: int = "🙂ü"; other: int = "b"'
    for server in servers.values():
        assert problems(server, FILE, "number: int = 1\n") == ()
