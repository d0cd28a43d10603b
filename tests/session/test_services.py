"""`run_services:`: real servers inside the sandbox, and one that never answers."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.environment_runs import fixed, states
from tests.support.fix_script import shell
from tests.support.repositories import make_repository

pytestmark = pytest.mark.bubblewrap

REDIS = {
    "name": "redis",
    "command": 'redis-server --port {port} --bind 127.0.0.1 --dir "$TMPDIR" --save ""',
    "ready": "redis-cli -p {port} ping",
}


def repository(folder: Path, service: dict[str, object], check: str) -> Path:
    policy = {"version": 1, "diagnostics": {"checkers": []}, "checks": [check], "run_services": [service]}
    return make_repository(folder / "app", {".github/agent.yml": json.dumps(policy), "a.txt": "a\n"})


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis is not here")
def test_each_round_has_a_server_of_its_own_and_the_machine_has_none(cli: Cli, tmp_path: Path) -> None:
    """A round that saw the data of another would count to two."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        service = {name: text.format(port=port) for name, text in REDIS.items()}
        # The port is taken on the machine: the sandbox's own is free.
        repo = repository(tmp_path, dict(service), f"test $(redis-cli -p {port} incr a) = 1")
        outcome = fixed(cli, repo, "bubblewrap", shell(f"redis-cli -p {port} incr a && echo b > b.txt"))
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])


CI = """
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      cache:
        image: redis:7
        ports: ["{port}:6379"]
    steps:
    - name: Test
      run: test $(redis-cli -p $PORT incr a) = 1
      env:
        PORT: ${{{{ job.services.cache.ports[6379] }}}}
"""


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis is not here")
@pytest.mark.slow
@pytest.mark.checks
def test_without_a_policy_cis_own_service_runs_inside(cli: Cli, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ci = CI.format(port=taken.getsockname()[1])
        repo = make_repository(tmp_path / "app", {".github/workflows/ci.yml": ci, "a.txt": "a\n"})
        outcome = fixed(cli, repo, "bubblewrap", shell("echo b > b.sh"))
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])


def test_a_server_that_never_answers_is_named_and_nothing_is_green(cli: Cli, tmp_path: Path) -> None:
    service = {"name": "database", "command": "sleep 600", "ready": "echo no answer >&2; false", "timeout": 1}
    outcome = fixed(cli, repository(tmp_path, service, "true"), "bubblewrap", shell("echo b > b.txt"))
    assert "passed" not in states(outcome)
    assert "the service database did not answer within 1 s: no answer" in json.dumps(outcome)


def test_a126_a_server_reaches_no_more_than_the_checks_do(cli: Cli, tmp_path: Path) -> None:
    """As a superuser's database could: it connects to a port of the machine, and writes what came of it."""
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        reach = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo no"
        service = {
            "name": "database",
            "command": f"bash -c '{reach}' > \"$TMPDIR/reached\"; sleep 600",
            "ready": 'test -s "$TMPDIR/reached"',
        }
        repo = repository(tmp_path, service, 'grep -q no "$TMPDIR/reached"')
        outcome = fixed(cli, repo, "bubblewrap", shell("echo b > b.txt"))
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])
