"""What people read while a run goes on: at their terminal, in the log of a job, in the thread."""

import subprocess
from pathlib import Path

import pytest

from tests.session.conftest import Cli, command
from tests.support import warm
from tests.support.fix_script import fix_steps
from tests.support.model_server import ModelServer
from tests.support.repositories import git

pytestmark = pytest.mark.bubblewrap

MODEL = "anthropic/claude-sonnet-5-5"


@pytest.mark.slow
@pytest.mark.checks
def test_a_fix_says_what_it_begins_with_and_each_call(cli: Cli, repo: Path):
    base = git(repo, "rev-parse", "HEAD")[:12]
    ran = cli.on(repo, "fix", "x", model=fix_steps())
    first, *rest = ran.err.splitlines()
    assert first.startswith(f"     at commit {base}, with claude-sonnet-5-5, sandbox bubblewrap")
    assert rest[0] == "  1  view tidytime/format.py"
    assert "     check with the change: python3 -m unittest (limit 60 s)" in rest


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_no_run(cli: Cli, repo: Path, tmp_path: Path):
    out = tmp_path / "bundle"
    with ModelServer(fix_steps()) as server:
        argv = warm.client_command(command("fix", "--repo", repo, "--model", MODEL, "--out", out, "x"))
        with subprocess.Popen(
            argv,
            env=cli.environment(**server.environment()),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stderr is not None
            process.stderr.readline()
            process.stderr.close()
    assert (out / "outcome.json").exists()
    assert git(repo, "branch", "--list", "agent/*")
