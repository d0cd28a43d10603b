"""Egress and services in a whole run: what policy gives its commands, setup and checks, and what is told of it."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from bot.contracts.errors import UsageError
from bot.contracts.outcome import StopReason
from bot.contracts.request import Tier
from bot.contracts.sandbox import HostUse
from bot.session.workspaces.start_workspaces import Network
from bot.session.workspaces.usage_notes import network_notes
from bot.workspace.sandbox.landlock import OLDEST, version
from tests.session.conftest import Cli
from tests.support.environment_runs import fixed, states
from tests.support.fix_script import DONE, shell
from tests.support.loopback import Loopback
from tests.support.model_script import Call, Say, ScriptRequest, Step, Turn
from tests.support.outcomes import REQUEST
from tests.support.registry import Registry, name_mirror
from tests.support.repositories import make_repository
from tests.support.runs import make_run
from tests.support.stage import Stage
from tests.support.tls import make_authority
from tests.support.verb_runs import fork_pull, request_in, request_on, run_verb

pytestmark = pytest.mark.bubblewrap

HOST = "packages.test"
PROBE = "exec 3<>/dev/tcp/127.0.0.1/3128 && echo there is a proxy; env"


class Mirror(NamedTuple):
    """`environment` names it as the workflow's mirror."""

    port: int
    environment: dict[str, str]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    trusted, server = make_authority(tmp_path_factory.mktemp("tls"), [HOST])
    with Loopback(Registry, certificate=server) as index:
        port = index.port
        yield trusted, port


@pytest.fixture
def mirror(authority: tuple[Path, int], monkeypatch: pytest.MonkeyPatch) -> Mirror:
    trusted, port = authority
    return Mirror(port, name_mirror(monkeypatch, HOST, port, trusted))


@pytest.mark.slow
def test_nothing_of_a_fork_gets_any_network(stage: Stage, mirror: Mirror):
    policy = "version: 1\ntiers:\n  maintainer:\n    egress: [python]\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    number = fork_pull(stage, {"tidytime/new.py": "x = 1\n"})
    asked = request_on(stage, number, "fix")
    assert asked.pull is not None
    came = run_verb(
        stage, request_on(stage, number, "fix", trusted_sha=asked.pull.head_sha),
        [shell(PROBE), Turn((Say("Done."),))],
        more=mirror.environment,
    )  # fmt: skip
    assert "there is a proxy" not in came.results[0]
    assert "HTTPS_PROXY" not in came.results[0]
    assert came.outcome.network == ()


def network(environment: dict[str, str], egress: str = "[python]") -> Network:
    policy = f"version: 1\ntiers: {{maintainer: {{egress: {egress}}}}}\n"
    actor = REQUEST.actor._replace(tier=Tier.MAINTAINER)
    request = REQUEST._replace(actor=actor)
    run = make_run(Path(), policy=policy, request=request, environment=environment)
    return Network(run, ())


def test_commands_with_a_network_trust_the_authorities_of_the_machine(tmp_path: Path):
    for name in ("all.pem", "own.pem"):
        (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n")
    own = {"NODE_EXTRA_CA_CERTS": f"{tmp_path}/own.pem", "PIP_CERT": f"{tmp_path}/gone.pem"}
    egress = network(own).access("agent-0")
    assert egress is not None
    assert tuple(egress.authorities.values()) == (tmp_path / "own.pem",)
    variables = egress.variables()
    assert variables["NODE_EXTRA_CA_CERTS"] == f"{tmp_path}/own.pem"
    assert not {"SSL_CERT_FILE", "PIP_CERT"} & set(variables)
    both = network({**own, "SSL_CERT_FILE": f"{tmp_path}/all.pem"}).access("agent-0")
    assert both is not None
    variables = both.variables()
    assert (variables["NODE_EXTRA_CA_CERTS"], variables["PIP_CERT"]) == (
        f"{tmp_path}/own.pem", f"{tmp_path}/all.pem",
    )  # fmt: skip


def test_a13_a_file_of_authorities_that_holds_a_private_key_is_not_shown(tmp_path: Path):
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n")
    named = {"SSL_CERT_FILE": f"{tmp_path}/ca.pem"}
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE names .*holds a private key.*certificates alone"):
        network(named)
    assert network(named, egress="[]").access("agent-0") is None


@pytest.mark.parametrize(
    ("mirrors", "words"),
    [
        ("perl=https://x.test/", "mirror"),
        ("python=https://a.test/s node=https://b.test python=https://c.test/s", "more than one mirror for python"),
    ],
)  # fmt: skip
def test_mirrors_that_cannot_be_used_are_refused(mirrors: str, words: str):
    with pytest.raises(UsageError, match=words):
        network({"SLASH_AGENT_MIRRORS": mirrors})


@pytest.mark.slow
def test_setup_that_could_not_fetch_says_what_the_network_refused(stage: Stage, mirror: Mirror):
    setup = (
        "version: 1\nsetup:\n"
        "  - command: curl -sS --max-time 20 https://evil.test/; exit 3\n    egress: [python]\n"
    )
    stage.forge.commit(stage.repo, {".github/agent.yml": setup})
    steps = [Turn((Say("Done."),))]
    outcome = run_verb(stage, request_in(stage, "fix"), steps, more=mirror.environment).outcome
    assert (outcome.stop_reason, "ended with exit code 3" in outcome.reason) == (StopReason.ERROR, True)
    refusal = "Network: evil.test was refused (1 tunnel): not on the list of allowed hosts."
    assert outcome.reason.endswith(refusal)


@pytest.mark.slow
@pytest.mark.skipif(version() < OLDEST, reason="this kernel has no Landlock")
def test_setup_in_a_sandbox_that_gives_no_network_is_a_failed_run_with_a_bundle(stage: Stage):
    setup = "version: 1\nsetup:\n  - command: pip download x\n    egress: [python]\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": setup})
    steps = [Turn((Say("Done."),))]
    outcome = run_verb(stage, request_in(stage, "fix"), steps, sandbox="landlock").outcome
    assert outcome.stop_reason is StopReason.ERROR
    assert outcome.reason.startswith(
        "The policy gives this run egress (python), and the sandbox used here (Landlock"
    )


def test_hosts_that_were_refused_crowd_out_none_that_was_reached():
    refused = [HostUse(f"h{number}.example", False, "not on the list", 1) for number in range(50)]
    uses = [
        *refused,
        HostUse("", False, "too many to be noted one by one", 7),
        HostUse("pypi.org", True, "", 1, 9, 5),
    ]
    lines = network_notes(uses)
    assert "Network: pypi.org, 1 tunnel, 1 KiB received, 9 bytes sent." in lines
    assert len(lines) == 21
    assert lines[-1] == "Network: 32 further hosts."
    assert (
        network_notes(uses[-2:])[1] == "Network: 7 further requests met a limit, and what for was not noted."
    )


REDIS = {
    "name": "redis",
    "command": 'redis-server --port {port} --bind 127.0.0.1 --dir "$TMPDIR" --save ""',
    "ready": "redis-cli -p {port} ping",
}


def repository(folder: Path, service: dict[str, object], check: str) -> Path:
    policy = {"version": 1, "diagnostics": {"checkers": []}, "checks": [check], "run_services": [service]}
    return make_repository(folder / "app", {".github/agent.yml": json.dumps(policy), "a.txt": "a\n"})


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis is not here")
def test_each_round_has_a_server_of_its_own_and_the_machine_has_none(cli: Cli, tmp_path: Path):
    """A round that saw the data of another would count to two."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        service = {name: text.format(port=port) for name, text in REDIS.items()}
        # The port is taken on the machine: the sandbox's own is free.
        repo = repository(tmp_path, dict(service), f"test $(redis-cli -p {port} incr a) = 1")
        outcome = fixed(cli, repo, "bubblewrap", shell(f"redis-cli -p {port} incr a && echo b > b.txt"))
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])


@pytest.mark.slow
def test_a_server_that_never_answers_is_named_and_nothing_is_green(cli: Cli, tmp_path: Path):
    service = {"name": "database", "command": "sleep 600", "ready": "echo no answer >&2; false", "timeout": 1}
    outcome = fixed(cli, repository(tmp_path, service, "true"), "bubblewrap", shell("echo b > b.txt"))
    assert "passed" not in states(outcome)
    assert "the service database did not answer within 1 s: no answer" in json.dumps(outcome)


def test_reading_waits_neither_for_a_server_nor_for_copies_of_caches(cli: Cli, tmp_path: Path):
    service = {"name": "a", "command": "touch began; sleep 600", "ready": "test -e began"}
    looked: list[str] = []

    def script(request: ScriptRequest) -> Step:
        looked[:] = request.results
        return [Call("glob", {"pattern": "began"}), shell("mv began b.txt"), DONE][min(request.number, 2)]

    ran = cli.on(repository(tmp_path, service, "true"), "fix", "--json", "x", model=script)
    assert looked[0].startswith("No file matches")
    assert "b.txt" in json.dumps(ran.json["outcome"]["files"]), looked


def test_a126_a_server_reaches_no_more_than_the_checks_do(cli: Cli, tmp_path: Path):
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
def test_without_a_policy_cis_own_service_runs_inside(cli: Cli, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ci = CI.format(port=taken.getsockname()[1])
        repo = make_repository(tmp_path / "app", {".github/workflows/ci.yml": ci, "a.txt": "a\n"})
        outcome = fixed(cli, repo, "bubblewrap", shell("echo b > b.sh"))
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])
    assert not [note for note in outcome["notes"] if "CI has workflows" in note]


@pytest.mark.slow
@pytest.mark.checks
@pytest.mark.parametrize(
    ("policy", "told"), [("version: 1\n", True), ("version: 1\nchecks: ['true']\n", False)]
)
def test_a_run_says_that_no_test_of_ci_is_taken(cli: Cli, tmp_path: Path, policy: str, told: bool):
    ci = "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n    - run: pytest -k ${{ steps.a.outputs.b }}\n"
    files = {".github/agent.yml": policy, ".github/workflows/ci.yml": ci, "test_a.py": ""}
    outcome = fixed(cli, make_repository(tmp_path / "app", files), "bubblewrap", shell("echo b > b.py"))
    assert any("CI has workflows" in note for note in outcome["notes"]) is told
