"""Programs of the repository that would be started to look on while files are edited: none is where a rule would deny
the agent such a command, and none that the run itself put there (A-29, A-54)."""

import os
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from tests.session.conftest import Cli
from tests.support.attacks import fix_with
from tests.support.model_script import Call
from tests.support.repositories import commit_all, make_repository
from tests.support.workspaces import Bench, bash, eventually

pytestmark = [pytest.mark.checkers, pytest.mark.slow]

BIN = "node_modules/.bin"
TYPESCRIPT = "typescript-language-server"
EDIT = {"path": "a.js", "old": "1", "new": "2"}
FILES = {"a.js": "let a = 1\n", "biome.json": "{}\n", ".oxlintrc.json": "{}\n"}


def program(canary: object) -> str:
    return f'#!/bin/sh\necho "$0" >> {canary}\nexit 1\n'


@pytest.mark.bubblewrap
def test_a54_what_a_rule_denies_no_language_server_is_a_way_to_run(cli: Cli, tmp_path: Path):
    policy = "version: 1\nrules: [{effect: deny, opaque: true}]\n"
    files = {**FILES, f"{BIN}/biome": program("canary.txt"), f"{BIN}/{TYPESCRIPT}": program("canary.txt")}
    repo = make_repository(tmp_path / "app", {**files, ".github/agent.yml": policy, "b.py": "b = 1\n"})
    for name in ("biome", TYPESCRIPT):
        (repo / BIN / name).chmod(0o755)
    commit_all(repo)
    edits = [Call("edit", {**EDIT, "path": path}) for path in ("a.js", "b.py")]
    views = [Call("view", {"path": path}) for path in ("a.js", "b.py")]
    attacked = fix_with(cli.home, repo, [*views, *edits], cli.environment(), cold=False)
    why = "it runs what the project says, and rules[0] (.github/agent.yml:2) does not allow opaque commands"
    for name in ("biome", "typescript"):
        assert f"Diagnostics: {name} is not available: {why}" in attacked.tool_results[2]
    assert "no new problems (ruff)" in attacked.tool_results[3]
    assert attacked.files == {"a.js", "b.py"}


def test_a29_no_program_that_the_run_put_there_is_started_to_look_on(tmp_path: Path):
    """What setup left in a folder that git does not know is started: one that fails is off, and no more."""
    canary = tmp_path / "canary"
    files = {
        **FILES,
        f"{BIN}/biome": program(canary),
        "evil": program(canary),
        ".gitignore": f"{TYPESCRIPT}\noxlint\n",
    }
    tree = make_repository(tmp_path / "tree", files)
    server = tree / BIN / TYPESCRIPT
    server.write_text(program(canary))
    os.utime(server, (1, 1))
    for name in (TYPESCRIPT, "biome"):
        (tree / BIN / name).chmod(0o755)
    bench = Bench(tmp_path, tree)
    servers: dict[str, dict[str, str]] = {name: {} for name in ("typescript", "biome", "oxlint")}
    workspace = bench.start(diagnostics={"wait": 30.0, "servers": servers}, assume_read=True)
    planted = {"path": f"{BIN}/biome", "content": program(canary) + "# mine\n"}
    assert not workspace.call("write", planted, CancelToken()).is_error
    bash(workspace, f"chmod +x evil; ln -s ../../evil {BIN}/oxlint")
    content = workspace.call("edit", EDIT, CancelToken()).content
    assert f"biome is not available: {BIN}/biome was changed in this run, and would be run" in content
    assert f"oxlint is not available: {BIN}/oxlint was changed in this run, and would be run" in content
    assert eventually(canary.exists)
    bench.close()
    assert set(canary.read_text().splitlines()) == {str(server)}
