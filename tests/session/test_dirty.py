"""`slash-agent fix --dirty`: whole runs that begin with uncommitted changes."""

import json
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import DESCRIBE, DONE, VIEW, fix_steps
from tests.support.model_script import Call
from tests.support.repositories import git

pytestmark = pytest.mark.bubblewrap


def test_the_run_begins_with_the_changes_and_the_branch_has_only_its_own(cli: Cli, repo: Path):
    file = repo / "tidytime" / "units.py"
    file.write_text(f"{file.read_text()}MINE = 1\n")
    for name in ("named.py", "left.py"):
        (repo / name).write_text("NAMED = 1\n")
    look = Call("bash", {"command": "tail -n 1 tidytime/units.py; cat named.py; ls; git status --short"})
    ran = cli.on(
        repo, "fix", "--json", "--dirty", "--include", repo / "named.py", "round it",
        model=[look, *fix_steps()],
    )  # fmt: skip
    result = json.dumps(ran.requests[1].json["messages"][-1])
    assert ran.code == 0, ran.err
    assert "MINE = 1" in result
    assert "NAMED = 1" in result
    assert "left.py" not in result
    assert git(repo, "diff", "--name-only", f"main...{ran.json['branch']}") == "tidytime/format.py"
    [note] = [one for one in ran.json["outcome"]["notes"] if "uncommitted changes" in one]
    assert "named.py" in note
    assert "tidytime/units.py" in note
    assert ran.json["unseen"] == 1


@pytest.mark.slow
def test_a_change_of_changed_lines_is_a_patch_and_no_commit(cli: Cli, repo: Path):
    file = repo / "tidytime" / "format.py"
    file.write_text(file.read_text().replace("abs(seconds)", "abs(float(seconds))"))
    edit = Call("edit", {"path": "tidytime/format.py", "old": "abs(float(", "new": "round(float("})
    ran = cli.on(repo, "fix", "--dirty", "round it", model=[VIEW, edit, DESCRIBE, DONE])
    assert ran.code == 0, ran.err
    assert "so it is a patch and no commit" in ran.out
    assert git(repo, "branch", "--list", "agent/*") == ""
    [apply] = [
        line.split("apply", 1)[1] for line in ran.out.splitlines() if " apply " in line and "git" in line
    ]
    git(repo, *apply.split()[3:])
    assert "round(float(seconds))" in file.read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--dirty", "--pr"], "so it cannot open a pull request"),
        (["--include", "x"], "--include names untracked files for --dirty"),
    ],
)
def test_options_that_do_not_go_together(cli: Cli, repo: Path, words: list[str], why: str):
    ran = cli("fix", "--repo", repo, *words, "round it")
    assert ran.code == 2
    assert why in ran.err
