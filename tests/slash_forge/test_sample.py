"""The bundled sample: one real bug, one failing test, a fix of a few lines."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slash_forge import Forge
from slash_forge.bundled import set_up
from tests.slash_forge.conftest import Run, Wire


def unittest(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "unittest"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(git: Run, tmp_path: Path) -> Iterator[Path]:
    with Forge() as forge:
        git("clone", "-q", forge.clone_url(set_up(forge).repository), "sample")
        yield tmp_path / "sample"


def test_exactly_one_test_fails_and_the_suite_is_quick(checkout: Path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    completed = unittest(checkout)
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
