"""What language servers say of an edit, through a whole tool host: with the edit's result, within the limit, and at no
cost but the diagnostics where a server is not what it should be."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.tools import ToolOutcome
from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import bubblewrap, landlock
from tests.support.language_servers import PLAYER, pulls
from tests.support.repositories import make_repository
from tests.support.workspaces import Bench, eventually

LONG = 30.0
"""Seconds that no test needs."""

FILES = {
    "app.py": 'from lib import f\n\nprint(f(1))\nprint("a" + 1)\n',
    "lib.py": "def f(x: int) -> int:\n    return x\n",
    "other.py": "import no_such_a\n",
    "settings.json": "{}\n",
    "pyproject.toml": "[tool.ty.rules]\n[tool.ruff.lint]\nselect = ['E9', 'F']\n",
    "ci.yml": "on: push\n",
}


def call(workspace: Workspace, tool: str, **arguments: Any) -> ToolOutcome:
    return workspace.call(tool, arguments, CancelToken())


def found(outcome: ToolOutcome) -> list[str]:
    """The lines on diagnostics."""
    lines = outcome.content.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith("Diagnostics")), len(lines))
    return lines[start:]


def record(outcome: ToolOutcome) -> dict[str, Any]:
    return dict(outcome.metadata["diagnostics"])


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Workspace]:
    """Behind a wall, with ruff and ty as they are."""
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", FILES))
    yield bench.start(landlock(), diagnostics={"wait": LONG}, assume_read=True)
    bench.close()


def test_what_an_edit_breaks_is_in_its_result_once_with_those_that_use_it(real: Workspace):
    def edit(old: str, new: str) -> ToolOutcome:
        return call(real, "edit", path="lib.py", old=old, new=new)

    call(real, "view", path="app.py")
    outcome = edit("x: int", "x: int, y: int")
    assert found(outcome)[0].startswith("Diagnostics (ty, ruff; complete): 1 new")
    assert found(outcome)[1].startswith("app.py:3:7 error ty:missing-argument")
    assert "unsupported-operator" not in outcome.content
    again = edit("return x", "return x + 1")
    assert found(again) == ["Diagnostics (ty, ruff; complete): 1 new (1 shown before)"]
    assert record(again)["new_count"] == 1
    head, line, *_ = found(edit("return x + 1", "return x + nobody"))
    assert head == "Diagnostics (ty, ruff; complete): 2 new (1 shown before)"
    assert "nobody" in line
    mended = call(real, "write", path="lib.py", content=FILES["lib.py"])
    assert found(mended) == ["Diagnostics: no new problems (ty, ruff)"]
    assert "missing-argument" in edit("x: int", "x: int, y: int, z: int").content, "shown anew"
    call(real, "write", path="lib.py", content=FILES["lib.py"])
    assert call(real, "bash", command="git status --short --ignored").content.startswith("(no output)")


def test_of_several_edits_in_one_answer_the_last_tells(real: Workspace):
    first = {"path": "lib.py", "content": "def f(x: int) -> int:\n    return g(x)\n"}
    assert found(real.call("write", first, CancelToken(), more_edits=True)) == []
    added = f"{first['content']}\n\ndef g(x: int) -> int:\n    return x\n"
    told = found(call(real, "write", path="lib.py", content=added))
    assert told == ["Diagnostics: no new problems (ty, ruff)"]
    unused = {"path": "more.py", "content": "nobody\n"}
    assert found(real.call("write", unused, CancelToken(), more_edits=True)) == []
    late = found(call(real, "view", path="lib.py"))
    assert "more.py:1:1 error ty:unresolved-reference" in late[1]


def test_files_that_are_made_or_changed_by_commands_are_looked_at_and_others_not(real: Workspace):
    code = "import no_such_a\nimport no_such_b\nprint(nobody, no_such_a, no_such_b)\n"
    call(real, "view", path="app.py")
    head, first, _ = found(call(real, "write", path="made.py", content=code))
    assert head == "Diagnostics (ty, ruff; complete): 1 new"
    assert first == "made.py:3:7 error ty:unresolved-reference Name `nobody` used when not defined"

    def after(command: str) -> list[str]:
        """What the next result says of the command's changes, which a scan has found."""
        assert found(call(real, "bash", command=command)) == []
        real.scan()
        return found(call(real, "ls"))

    assert after("rm made.py") == []
    assert "missing-argument" in after("sed -i 's/f(1)/f()/' app.py")[1]
    assert after("git checkout -q app.py")[0].startswith("Diagnostics: no new")
    for command in ("true", "printf 'x\\0y' > binary.py; rm binary.py", "printf 'x\\0y' > binary.py"):
        assert after(command) == []
    assert found(call(real, "write", path="notes.md", content="x")) == []


@pytest.mark.bubblewrap
def test_behind_the_other_wall_it_is_the_same_and_the_record_names_the_servers(tmp_path: Path):
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", FILES))
    real = bench.start(bubblewrap(), diagnostics={"wait": LONG}, assume_read=True)
    outcome = call(real, "edit", path="app.py", old="f(1)", new="f(nothing)")
    assert "unresolved-reference" in found(outcome)[1]
    uses = {use["name"]: use for use in record(outcome)["servers"]}
    assert uses["ty"]["version"].startswith("0.")
    bench.close()


@pytest.mark.slow
def test_commands_of_the_model_do_not_end_what_looks_on(tmp_path: Path):
    script, log = tmp_path / "ty.json", tmp_path / "ty.log"
    script.write_text(json.dumps(pulls([["items", []]])))
    command = shlex.join([sys.executable, "-I", "-S", str(PLAYER), str(script), str(log)])
    bench = Bench(tmp_path, make_repository(tmp_path / "tree", FILES))
    options = {"wait": LONG, "servers": {"ty": {"command": command}, "ruff": {"off": True}}}
    workspace = bench.start(diagnostics=options, assume_read=True)
    call(workspace, "view", path="app.py")
    assert eventually(log.exists)
    for _ in range(3):
        call(workspace, "bash", command="sleep 60 & true")
    said = found(call(workspace, "edit", path="app.py", old="f(1)", new="f(2)"))
    assert said == ["Diagnostics: no new problems (ty)"]
    assert log.read_text().count('"life"') == 1
    bench.close()
