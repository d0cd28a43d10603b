"""The servers that a project has in node_modules, as they are: fetched once at a pinned version, found by the registry,
asked by the client."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bot.contracts.problems import Answer
from bot.workshop.host.lsp.bounds import Pauses
from bot.workshop.host.lsp.registry import SERVERS, Place, Start
from bot.workshop.host.lsp.servers import Hub, Program, Server
from tests.support.npm import installed

pytestmark = pytest.mark.node

LONG = 300.0
"""Seconds: TypeScript 5 takes two to its first answer, and more where much else is done."""

APP = "packages/app"
FILES = {
    f"{APP}/tsconfig.json": json.dumps({"compilerOptions": {"strict": True}}),
    f"{APP}/.oxlintrc.json": json.dumps({"rules": {"no-debugger": "error"}}),
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
    for name, version in (("typescript-language-server", "5.3.0"), ("oxlint", "1.94.0")):
        program = installed(name, version).parent / ".bin" / name
        (modules / ".bin" / name).symlink_to(os.path.realpath(program))
    return root


def started(hub: Hub, root: Path, name: str) -> Server:
    known = next(one for one in SERVERS if one.name == name)
    start = known.find(Place(root, root / APP, {"PATH": ""}, {}))
    assert isinstance(start, Start), start
    environment = {"PATH": os.environ["PATH"], "HOME": str(root)}
    return hub.start(
        Program(
            name, start.argv, root, environment, start.settings, start.options,
            pauses=Pauses(start=LONG, patience=LONG), project=start.root,
        )
    )  # fmt: skip


def codes(server: Server, *names: str) -> list[tuple[str, int, str]]:
    """Where what is wrong, and by which rule."""
    paths = [f"{APP}/{name}" for name in names]
    answers = server.diagnostics(paths, LONG)
    assert {answer.answer for answer in answers.values()} == {Answer.COMPLETE}, (
        server.off or server.last_words
    )
    items = [problem for path in paths for problem in answers[path].items]
    return [(problem.path.removeprefix(f"{APP}/"), problem.line, problem.code) for problem in items]


def test_typescript_5_answers_by_the_settings_below_the_top(hub: Hub, root: Path) -> None:
    """It publishes without versions, and of a file that another's change broke long after; so it is asked."""
    server = started(hub, root, "typescript")
    server.open(f"{APP}/a.ts", USING, "typescript")
    server.open(f"{APP}/b.ts", USED, "typescript")
    assert codes(server, "a.ts", "b.ts") == []
    server.change(f"{APP}/b.ts", "export function f(x: string, y) { return [x, y]; }\n")
    assert codes(server, "a.ts", "b.ts") == [("a.ts", 2, "2554"), ("b.ts", 1, "7006")]
    server.change(f"{APP}/b.ts", USED)
    assert codes(server, "a.ts", "b.ts") == []
    server.stop()


def test_oxlint_answers_by_the_rules_below_the_top(hub: Hub, root: Path) -> None:
    server = started(hub, root, "oxlint")
    server.open(f"{APP}/b.ts", "debugger;\n", "typescript")
    assert codes(server, "b.ts") == [("b.ts", 1, "eslint(no-debugger)")]
    server.change(f"{APP}/b.ts", "export {};\n")
    assert codes(server, "b.ts") == []
    server.stop()
