"""Real servers by the recipes that take the place of CI's containers, in a network of their own without a way out."""

import glob
import os
import shutil
import socket

import pytest

from bot.ecosystems.services import Service, service_for
from bot.session.workspaces.start_services import _UNTIL
from tests.support.programs import run_program

pytestmark = pytest.mark.bubblewrap

POSTGRES = {"POSTGRES_USER": "app", "POSTGRES_DB": "orders", "POSTGRES_PASSWORD": "x"}
MYSQL = {
    "MYSQL_DATABASE": "orders",
    "MYSQL_USER": "app",
    "MYSQL_PASSWORD": "pw1",
    "MYSQL_ROOT_PASSWORD": "pw2",
}
CASES = {
    "postgres:16": (POSTGRES, 5433, "psql -h 127.0.0.1 -p 5433 -U app orders -Atc 'SELECT 42'"),
    "postgres": ({}, 0, "psql -h localhost -U postgres -Atc 'SELECT 42'"),
    "mariadb:11": (MYSQL, 3307, "mysql -h 127.0.0.1 -P 3307 -u app -ppw1 orders -Ne 'SELECT 42'"),
    "mysql": ({"MYSQL_ALLOW_EMPTY_PASSWORD": "yes"}, 0, "mysql -h 127.0.0.1 -u root -Ne 'SELECT 42'"),
    "redis:7": ({}, 0, "redis-cli set a 42 > /dev/null; redis-cli get a"),
}
PROGRAMS = {
    "postgres": "/usr/lib/postgresql/*/bin/postgres",
    "mysql": "/usr/sbin/mysqld",
    "redis": "/usr/bin/redis-server",
}
ALONE = (
    "bwrap", "--unshare-all", "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
    "--tmpfs", "/tmp",
)  # fmt: skip
NOBODY = ("setpriv", "--reuid=33", "--regid=33", "--clear-groups")


def asked(
    monkeypatch: pytest.MonkeyPatch, image: str, variables: dict[str, str], port: int, query: str
) -> str:
    """What the server of `image` answers. PostgreSQL refuses root, so another user starts it."""
    kind = image.partition(":")[0].replace("mariadb", "mysql")
    if not glob.glob(PROGRAMS[kind]) or shutil.which("setpriv") is None:
        pytest.skip(f"there is no {kind} here")
    is_root = os.geteuid() == 0
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    service = service_for("db", image, port, variables)
    assert isinstance(service, Service)
    script = (
        f"cd /tmp; ({service.command}\n) > server.log 2>&1 &\n{_UNTIL.format(ready=service.ready)}\n{query}"
    )
    bounded = (
        'export TMPDIR=/tmp HOME=/tmp PATH=/usr/bin:/bin; timeout 60 bash -c "$SCRIPT" || cat /tmp/*.log >&2'
    )
    done = run_program(
        [*(NOBODY if is_root and kind == "postgres" else ()), *ALONE, "bash", "-c", bounded],
        env={**os.environ, "SCRIPT": script},
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() or done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("image", CASES)
def test_each_recipe_starts_the_real_server_with_the_account_of_cis_container(
    monkeypatch: pytest.MonkeyPatch, image: str
):
    assert asked(monkeypatch, image, *CASES[image]) == "42"


@pytest.mark.slow
def test_a142_a_superusers_database_reaches_nothing_outside(monkeypatch: pytest.MonkeyPatch):
    """`COPY FROM PROGRAM` runs any command as the server: in the sandbox it has no network to reach out by."""
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        reach = f'bash -c "(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached || echo no"'
        query = f"CREATE TABLE t (a text);\nCOPY t FROM PROGRAM '{reach}';\nSELECT a FROM t;"
        answer = asked(
            monkeypatch, "postgres", {}, 0, f"psql -h localhost -U postgres -qAt <<'END'\n{query}\nEND"
        )
    assert answer == "no"
