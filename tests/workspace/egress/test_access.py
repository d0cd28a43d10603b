"""The way out from inside a real workspace: what is allowed works, and nothing else is there at all."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pip
import pytest

from bot.policy.registry_mirrors import Mirror, Target
from bot.workspace.client import Workspace
from bot.workspace.egress.access import EgressAccess
from bot.workspace.sandbox.backends import bubblewrap
from tests.support.loopback import Loopback
from tests.support.registry import Registry
from tests.support.repositories import make_repository
from tests.support.tls import make_authority
from tests.support.workspaces import Bench, bash, eventually

pytestmark = pytest.mark.bubblewrap

HOST = "packages.test"
PIP = Path(pip.__file__).parent
# With the bytecode that lies beside pip: compiling it anew takes longer than an install.
RUN_PIP = f"PYTHONPYCACHEPREFIX= {os.path.realpath(sys.executable)} {PIP}"


@pytest.fixture(scope="module")
def egress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EgressAccess]:
    folder = tmp_path_factory.mktemp("tls")
    authority, server = make_authority(folder, [HOST])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ("127.0.0.1",)

    with Loopback(Registry, certificate=server) as index, pytest.MonkeyPatch.context() as patch:
        patch.setattr("bot.workspace.egress.proxy.system_addresses", resolve)
        port = index.port
        mirror = Mirror("python", Target(HOST, port, private=True), f"https://{HOST}:{port}/simple")
        yield EgressAccess(("python",), (mirror,), {"SSL_CERT_FILE": authority})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, make_repository(tmp_path / "tree", {"a.txt": "one\n"}))
    yield made
    made.close()


@pytest.fixture
def inside(bench: Bench, egress: EgressAccess) -> Workspace:
    return bench.start(bubblewrap(), egress=egress, bring=[PIP])


@pytest.mark.slow
def test_a_package_manager_gets_its_package_and_nothing_else_is_reached(inside: Workspace):
    assert inside.facts.leaks == ()
    installed = bash(inside, f"{RUN_PIP} install --no-cache-dir --target there tidyhello 2>&1")
    assert installed.metadata["exit_code"] == 0, installed.content
    said = bash(inside, "PYTHONPATH=there python3 -c 'import tidyhello; print(tidyhello.GREETING)'").content
    assert "hello from the registry" in said
    for command in (
        "curl -sS --max-time 5 https://evil.test/",
        "curl -sS --max-time 5 --noproxy '*' https://packages.test/",
        "curl -sS --max-time 5 --noproxy '*' https://1.1.1.1/",
        "curl -sS --max-time 5 -x http://127.0.0.1:3128 http://packages.test/ -f",
        "getent hosts packages.test",
        "exec 3<>/dev/tcp/1.1.1.1/53",
        "exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3",
    ):
        assert bash(inside, command, timeout=20).metadata["exit_code"] != 0, command
    proxy = inside.proxy
    assert proxy is not None
    assert eventually(lambda: any(use.host == "evil.test" for use in proxy.uses), 30)
    inside.close()
    verdicts = {(use.host.partition(":")[0], use.allowed) for use in proxy.uses}
    assert {(HOST, True), ("evil.test", False)} <= verdicts


def test_a41_a_packages_own_scripts_are_not_run_unasked(inside: Workspace):
    install = f"{RUN_PIP} install --no-cache-dir --target there"
    assert bash(inside, f"{install} tidyevil 2>&1").metadata["exit_code"] != 0
    assert bash(inside, "test -e /tmp/canary").metadata["exit_code"] != 0
    assert "npm_config_ignore_scripts=true" in bash(inside, "env").content
    bash(inside, f"{install} --only-binary :none: tidyevil 2>&1")
    assert bash(inside, "test -e /tmp/canary").metadata["exit_code"] == 0  # so the trap is one


def test_without_a_way_out_there_is_no_proxy(bench: Bench):
    inside = bench.start(bubblewrap())
    assert inside.proxy is None
    assert bash(inside, "exec 3<>/dev/tcp/127.0.0.1/3128").metadata["exit_code"] != 0
    assert "https_proxy" not in bash(inside, "env").content.lower()


def test_two_workspaces_have_a_proxy_each(bench: Bench, egress: EgressAccess):
    """The port is one of each workspace's own network: no command of the other can take it."""
    first, second = (bench.start(bubblewrap(), egress=egress) for _ in range(2))
    for workspace in (first, second):
        assert bash(workspace, "exec 3<>/dev/tcp/127.0.0.1/3128").metadata["exit_code"] == 0
    first.close()
    assert bash(second, "exec 3<>/dev/tcp/127.0.0.1/3128").metadata["exit_code"] == 0


def test_when_the_proxy_is_gone_commands_fail_and_nothing_opens(inside: Workspace):
    assert inside.proxy is not None
    inside.proxy.close()
    assert bash(inside, "curl -sS --max-time 5 https://packages.test/", timeout=20).metadata["exit_code"] != 0
