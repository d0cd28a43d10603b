"""The servers that a project has in node_modules, as they are: fetched once at a pinned version, found by the registry,
asked by the client. Those of no registry that this project needs anyway are asked where they are installed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.contracts.evidence import Answer
from bot.toolhost.lsp.codecs import LspCodec, TsserverCodec
from bot.toolhost.lsp.process import ServerConfig, Timeouts
from bot.toolhost.lsp.registry import SERVERS, LaunchCommand, Location
from bot.toolhost.lsp.server import LanguageServer
from bot.toolhost.lsp.server_loop import ServerLoop
from tests.support.npm import installed

PATH = os.pathsep.join((str(Path(__file__).parents[3] / ".cache" / "clangd" / "bin"), os.environ["PATH"]))
"""With what `.ci/extras` installs."""

LONG = 300.0
"""Seconds: TypeScript 5 takes two to its first answer, and more where much else is done."""

BIOME = "2.3.8"
APP = "packages/app"
FILES = {
    f"{APP}/tsconfig.json": json.dumps({"compilerOptions": {"strict": True}}),
    f"{APP}/.oxlintrc.json": json.dumps({"rules": {"no-debugger": "error"}}),
    f"{APP}/biome.json": json.dumps({"linter": {"rules": {"suspicious": {"noDebugger": "error"}}}}),
}
USED = "export function f(x: number) { return x; }\n"
USING = 'import { f } from "./b";\nf(1);\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project below the top, with its programs at the top, as workspaces of npm have them."""
    root = tmp_path_factory.mktemp("project")
    (root / APP).mkdir(parents=True)
    for name, text in FILES.items():
        (root / name).write_text(text)
    for name, text in (("a.ts", USING), ("b.ts", USED)):
        (root / APP / name).write_text(text)
    modules = root / "node_modules"
    (modules / ".bin").mkdir(parents=True)
    (modules / "typescript").symlink_to(installed("typescript", "5.9.3"))
    packages = (("oxlint", "1.94.0"), ("@biomejs/biome", BIOME))
    for package, version in packages:
        name = package.rpartition("/")[2]
        bins = next(one for one in installed(package, version).parents if one.name == "node_modules") / ".bin"
        program = bins / name
        (modules / ".bin" / name).symlink_to(os.path.realpath(program))
    return root


def started(loop: ServerLoop, root: Path, name: str) -> LanguageServer:
    known = next(one for one in SERVERS if one.name == name)
    start = known.find(Location(root, root / APP, {"PATH": PATH}, {}))
    assert isinstance(start, LaunchCommand), start
    environment = {"PATH": PATH, "HOME": str(root)} | {
        name: value.replace("{tmp}", str(root)) for name, value in known.variables.items()
    }
    return loop.start(
        ServerConfig(
            name, start.argv, root, environment, start.settings, start.options,
            timeouts=Timeouts(start=LONG, answer=LONG), project=start.root,
            codec=TsserverCodec if start.tsserver else LspCodec,
        )
    )  # fmt: skip


def codes(server: LanguageServer, *names: str) -> list[tuple[str, int, str]]:
    """Where what is wrong, and by which rule."""
    paths = [f"{APP}/{name}" for name in names]
    answers = server.diagnostics(paths, LONG)
    assert {answer.answer for answer in answers.values()} == {Answer.COMPLETE}, (
        server.off_reason or server.stderr_tail
    )
    items = [problem for path in paths for problem in answers[path].items]
    return [(problem.path.removeprefix(f"{APP}/"), problem.line, problem.code) for problem in items]


@pytest.mark.node
def test_typescript_5_answers_by_the_settings_below_the_top(loop: ServerLoop, root: Path) -> None:
    """It publishes without versions, and of a file that another's change broke long after; so it is asked."""
    server = started(loop, root, "typescript")
    server.open(f"{APP}/a.ts", USING, "typescript")
    server.open(f"{APP}/b.ts", USED, "typescript")
    assert codes(server, "a.ts", "b.ts") == []
    server.change(f"{APP}/b.ts", "export function f(x: string, y) { return [x, y]; }\n")
    assert codes(server, "a.ts", "b.ts") == [("a.ts", 2, "2554"), ("b.ts", 1, "7006")]
    server.change(f"{APP}/b.ts", USED)
    assert codes(server, "a.ts", "b.ts") == []
    server.stop()


@pytest.mark.node
def test_oxlint_answers_by_the_rules_below_the_top(loop: ServerLoop, root: Path) -> None:
    server = started(loop, root, "oxlint")
    server.open(f"{APP}/b.ts", "debugger;\n", "typescript")
    assert codes(server, "b.ts") == [("b.ts", 1, "eslint(no-debugger)")]
    server.change(f"{APP}/b.ts", "export {};\n")
    assert codes(server, "b.ts") == []
    server.stop()


@pytest.mark.node
def test_biome_answers_by_the_rules_below_the_top(loop: ServerLoop, root: Path) -> None:
    server = started(loop, root, "biome")
    server.open(f"{APP}/b.ts", "debugger;\n", "typescript")
    assert codes(server, "b.ts") == [("b.ts", 1, "lint/suspicious/noDebugger")]
    server.change(f"{APP}/b.ts", "export const x = 1;\n")
    assert codes(server, "b.ts") == []
    server.stop()


CLANGD = {
    "compile_commands.json": json.dumps(
        [{"directory": ".", "file": "a.c", "arguments": ["cc", "-c", "a.c"]}]
    ),
    "a.c": "",
}
GO = {"go.mod": "module a\n\ngo 1.21\n", "a.go": ""}


@pytest.mark.parametrize(
    ("name", "files", "file", "right", "wrong", "code"),
    [
        (
            "clangd",
            CLANGD,
            "a.c",
            "int f(void) { return 1; }\n",
            "int f(void) { return g; }\n",
            "undeclared_var_use",
        ),
        ("gopls", GO, "a.go", "package a\n\nvar X = 1\n", "package a\n\nvar X = g\n", "UndeclaredName"),
    ],
    ids=["clangd", "gopls"],
)
def test_one_of_the_machine_answers_for_the_project(
    loop: ServerLoop,
    tmp_path: Path,
    name: str,
    files: Mapping[str, str],
    file: str,
    right: str,
    wrong: str,
    code: str,
) -> None:
    if shutil.which(name, path=PATH) is None:
        pytest.skip(f"{name} is not here (`make extras` installs clangd; gopls comes with `go install`)")
    (tmp_path / APP).mkdir(parents=True)
    for path, text in (files | {file: right}).items():
        (tmp_path / APP / path).write_text(text)
    server = started(loop, tmp_path, name)
    server.open(f"{APP}/{file}", right, file.rpartition(".")[2])
    assert codes(server, file) == []
    server.change(f"{APP}/{file}", wrong)
    assert [(found, of) for found, _, of in codes(server, file)] == [(file, code)]
    server.change(f"{APP}/{file}", right)
    assert codes(server, file) == []
    server.stop()
