"""What people read while a run goes on: at their terminal, in the log of a job, in the thread."""

from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.fix_script import fix_steps
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
