"""Servers that tests need: how each runs inside the sandbox, as CI's container of that image would."""

import glob
import os
import re
import shutil
from collections.abc import Mapping
from typing import NamedTuple

_WORD = re.compile(r"[\w.@%+=:-]*")
_IMAGE = re.compile(r"(?:[\w.-]+(?::\d+)?/)*(?P<name>[\w-]+)(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?")


class Service(NamedTuple):
    """A server with its values filled in: the fields of the policy's `run_services`, and its port."""

    name: str
    command: str
    ready: str
    port: int


class _Server(NamedTuple):
    """`images` are the names of its images, `programs` patterns of which one must be on the machine. `values` are
    filled in: each is that of the first variable of the image that is set, or the word in lower case."""

    images: str
    port: int
    programs: str
    command: str
    ready: str
    values: Mapping[str, str] = {}
    as_root: bool = True


_SERVERS = (
    _Server(
        "postgres postgis pgvector timescaledb",
        5432,
        "postgres /usr/lib/postgresql/*/bin/postgres",
        """\
export PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)"
data="$TMPDIR/data-{port}"
initdb -D "$data" -U {user} -A trust > /dev/null
[ {database} = postgres ] ||
  echo 'CREATE DATABASE "{database}"' | postgres --single -D "$data" postgres > /dev/null
exec postgres -D "$data" -k "$TMPDIR" -h localhost -p {port}""",
        "psql -h localhost -p {port} -U {user} -d {database} -c 'SELECT 1'",
        {"user": "POSTGRES_USER postgres", "database": "POSTGRES_DB POSTGRES_USER postgres"},
        as_root=False,
    ),
    _Server(
        "mysql mariadb percona",
        3306,
        "mariadbd mysqld /usr/sbin/mariadbd /usr/sbin/mysqld",
        """\
export PATH="$PATH:/usr/sbin"
data="$TMPDIR/data-{port}"
server=$(command -v mariadbd || command -v mysqld)
case $server in
*mariadbd) mariadb-install-db --no-defaults --datadir="$data" --skip-test-db > /dev/null ;;
*) "$server" --no-defaults --initialize-insecure --datadir="$data" --user="$(id -un)" ;;
esac
account() {{
  for host in localhost 127.0.0.1; do
    echo "CREATE USER IF NOT EXISTS '$1'@'$host';"
    echo "ALTER USER '$1'@'$host' IDENTIFIED BY '$2';"
    echo "GRANT ALL ON *.* TO '$1'@'$host' WITH GRANT OPTION;"
  done
}}
account {user} "{password}" > "$data.sql"
account root "{root_password}" >> "$data.sql"
[ -z "{database}" ] || echo 'CREATE DATABASE `{database}`;' >> "$data.sql"
exec "$server" --no-defaults --user="$(id -un)" --datadir="$data" --socket="$data.sock" \\
  --pid-file="$data.pid" --port={port} --bind-address=127.0.0.1 --init-file="$data.sql\"""",
        '"$(command -v mariadb || command -v mysql)" -h 127.0.0.1 -P {port} -u root '
        "--password={root_password} -e 'SELECT 1' {database}",
        {
            "user": "MYSQL_USER MARIADB_USER root",
            "password": "MYSQL_PASSWORD MARIADB_PASSWORD",
            "root_password": "MYSQL_ROOT_PASSWORD MARIADB_ROOT_PASSWORD",
            "database": "MYSQL_DATABASE MARIADB_DATABASE",
        },
    ),
    _Server(
        "redis valkey redis-stack",
        6379,
        "redis-server valkey-server",
        '"$(command -v redis-server || command -v valkey-server)" --port {port} --bind 127.0.0.1 '
        '--dir "$TMPDIR" --save ""',
        '"$(command -v redis-cli || command -v valkey-cli)" -p {port} ping',
    ),
)


def service_for(name: str, image: str, port: int, variables: Mapping[str, str]) -> Service | str:
    """Return the server in place of CI's container `image`, at `port` if that is not 0, with the user, password and
    database that `variables` give; or why there is none, as a clause."""
    match = _IMAGE.fullmatch(image)
    server = next((one for one in _SERVERS if match and match["name"] in one.images.split()), None)
    if server is None:
        return f"there is no recipe to run the image {image} in the sandbox"
    if not any(map(_is_there, server.programs.split())):
        return f"the program {server.programs.split()[0]} is not on this machine"
    if os.geteuid() == 0 and not server.as_root:
        return f"{server.programs.split()[0]} does not run as root"
    values = {}
    for field, names in server.values.items():
        known = (variables.get(one, one) for one in names.split() if one in variables or one.islower())
        values[field] = next(known, "")
    if not all(map(_WORD.fullmatch, values.values())):
        return "its user, password or database has characters that a recipe cannot hold"
    port = port or server.port
    command, ready = (text.format(**values, port=port) for text in (server.command, server.ready))
    return Service(name, command, ready, port)


def _is_there(program: str) -> bool:
    return bool(glob.glob(program) if program.startswith("/") else shutil.which(program))
