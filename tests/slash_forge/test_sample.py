"""The bundled sample: one real bug, one failing test, a fix of a few lines."""

import os
import resource
import sys
from pathlib import Path

from slash_forge import Forge
from slash_forge.bundled import set_up
from tests.slash_forge.conftest import Run, Wire
from tests.support.programs import run_program


def test_exactly_one_test_fails_and_the_suite_is_quick(git: Run, tmp_path: Path):
    with Forge() as forge:
        git("clone", "-q", forge.clone_url(set_up(forge).repository), "sample")
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "unittest"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    completed = run_program(command, cwd=tmp_path / "sample", env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert completed.returncode == 1
    assert "FAILED (failures=1)" in completed.stderr
    assert "test_rounding_carries_into_the_next_unit" in completed.stderr
    assert after.ru_utime - before.ru_utime < 5


def test_it_begins_at_the_same_commit_every_time():
    commits = set()
    for _ in range(2):
        with Forge() as forge:
            commits.add(forge.branch_sha(set_up(forge).repository))
    assert len(commits) == 1


def test_its_two_tokens_may_what_two_jobs_need():
    with Forge() as forge:
        sample = set_up(forge)
        ref = {"ref": "refs/heads/x", "sha": forge.branch_sha(sample.repository)}
        path = f"/repos/{sample.repository}"
        run, publish = Wire(forge, sample.run_token), Wire(forge, sample.publish_token)
        assert run.api("POST", f"{path}/issues/{sample.issue}/comments", {"body": "x"}).status == 201
        assert run.api("POST", f"{path}/git/refs", ref).status == 403
        assert publish.api("POST", f"{path}/git/refs", ref).status == 201
