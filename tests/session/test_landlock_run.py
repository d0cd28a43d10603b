"""A whole run where no namespace can be made: setup, folders that are brought, checks before and after."""

import json
from pathlib import Path

import pytest

from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.files import write_file
from tests.support.fix_script import DONE, shell
from tests.support.model_script import Step
from tests.support.repositories import make_repository

pytestmark = pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")

POLICY = """version: 1
bring: [vendor]
setup:
  - command: mkdir -p build && echo 41 > build/answer
checks:
  - name: answer
    command: sh check.sh
"""


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_setup_that_needs_the_network_is_left_out_of_a_local_run(cli: Cli, tmp_path: Path, there: bool):
    step = "[ -d .venv ] || (pip install -r requirements.txt)"
    policy = (
        f"version: 1\nsetup:\n  - touch before\n  - command: '{step}'\n    egress: [python]\n"
        "  - touch after\nchecks: ['test -e before']\n"
    )
    repo = make_repository(
        tmp_path / "app", {".github/agent.yml": policy, ".gitignore": ".venv\nbefore\nafter\n", "a": ""}
    )
    if there:
        write_file(repo / ".venv/pyvenv.cfg", "home = /usr/bin\n")
    ran = cli.on(repo, "fix", "--sandbox", "landlock", "--json", "x", model=[shell("ls > a"), DONE])
    assert ran.code == 0, ran.output
    outcome = ran.json["outcome"]
    [check] = outcome["checks"]
    assert (check["before"]["state"], check["after"]["state"]) == ("passed", "passed")
    notes = [note for note in outcome["notes"] if note.startswith("Setup was not run, since Landlock")]
    assert [step in note and "touch after" in note for note in notes] == ([] if there else [True])


@pytest.mark.slow
def test_setup_and_checks_work_behind_landlock(cli: Cli, tmp_path: Path):
    repo = make_repository(
        tmp_path / "app",
        {
            ".github/agent.yml": POLICY,
            ".gitignore": "vendor/\n",
            "check.sh": 'test "$(sh vendor/add.sh "$(cat build/answer)")" = "$(cat want)"\n',
            "want": "40\n",
        },
    )
    write_file(repo / "vendor/add.sh", "echo $(($1 + 1))\n")
    steps: list[Step] = [
        shell("sh vendor/add.sh $(cat build/answer); pwd"),
        shell("rm -r build vendor; echo 42 > want"),
        DONE,
    ]
    out = tmp_path / "out"
    ran = cli.on(repo, "fix", "--sandbox", "landlock", "--out", out, "--json", "fix it", model=steps)
    assert len(ran.requests) > 1, ran.output
    asked = json.dumps(ran.requests[0].json["messages"])
    seen = json.dumps(ran.requests[1].json["messages"][-1])
    outcome = ran.json["outcome"]
    check = outcome["checks"][0]
    assert (check["before"]["state"], check["after"]["state"]) == ("failed", "passed"), check
    assert [file["path"] for file in outcome["files"]] == ["want"]
    # The model is told of the place where the tree is, since nothing can be shown elsewhere.
    tree = seen.partition("42\\n")[2].partition("\\n")[0]
    assert tree.endswith("/tree")
    assert f"repository root: {tree}" in asked
