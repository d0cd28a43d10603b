"""`slash-agent fix` from wherever somebody calls it, and asked in ways that cannot lead anywhere."""

import os
from pathlib import Path

import pytest

from bot.publish.bundle import read_bundle
from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
from tests.support.repositories import git

pytestmark = pytest.mark.bubblewrap


LATIN = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "where",
    [
        "instruction",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("repository", "home", "branch", "--out")),
    ],
)
def test_bytes_that_are_not_utf8_lose_no_run(cli: Cli, repo: Path, tmp_path: Path, where: str):
    options: list[object] = []
    if where == "repository":
        repo = repo.rename(tmp_path / LATIN)
    elif where == "home":
        cli = Cli(tmp_path / LATIN)
        cli.home.mkdir()
    elif where == "branch":
        git(repo, "switch", "-q", "-c", LATIN)
    elif where == "--out":
        options = ["--out", tmp_path / LATIN / "bundle"]
        (tmp_path / LATIN).mkdir()
    instruction = f"order {LATIN}" if where == "instruction" else "x"
    ran = cli.on(repo, "fix", "--json", *options, instruction, model=fix_steps())
    assert ran.code == 0, ran.err
    bundle = read_bundle(Path(ran.json["bundle"]))
    assert bundle.outcome.request.instruction == instruction.replace("\udce9", "\ufffd")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("is_new", "note"),
    [
        (True, "Your policy .github/agent.yml is not committed and held for this run all the same."),
        (False, "Your changes to .github/agent.yml are not committed and held for this run all the same."),
    ],
)
def test_a_policy_that_is_not_committed_is_named(cli: Cli, repo: Path, is_new: bool, note: str):
    if is_new:
        git(repo, "rm", "-q", "--cached", ".github/agent.yml")
        git(repo, "commit", "-q", "-m", "No policy")
    else:
        with (repo / ".github" / "agent.yml").open("a") as policy:
            policy.write("bring: [nowhere]\n")
    ran = cli.on(repo, "fix", "x", model=fix_steps())
    assert note in ran.err
    if is_new:
        assert note in ran.out
    else:
        assert "brings nowhere, but there is no folder" in " ".join(ran.out.split())
