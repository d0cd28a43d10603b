"""The proxy on a socket of loopback, with real TLS behind it, and everything that must not get through."""

import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from socketserver import BaseRequestHandler

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.sandbox import HostUse
from bot.policy.registry_mirrors import Target
from bot.workspace.egress.proxy import Proxy
from bot.workspace.egress.tunnel_limits import NOT_LISTED, TunnelLimits
from tests.support.loopback import Loopback
from tests.support.tls import make_authority
from tests.support.workspaces import eventually

HOST = "pypi.test"
EVIL = "evil.test"


class Place:
    """A registry behind TLS, and a proxy in front of it."""

    def __init__(self, authority: Path, port: int) -> None:
        self.port = port
        self.client = ssl.create_default_context(cafile=authority)
        self.target = Target(HOST, port, private=True)
        self.asked: list[str] = []
        self.addresses: Sequence[str] = ("127.0.0.1",)
        self._open: list[Proxy] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if not self.addresses:
            raise OSError("no such name")
        return self.addresses

    def proxy(self, limits: TunnelLimits | None = None, **target: object) -> tuple[Proxy, tuple[str, int]]:
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        proxy = Proxy(listener, {self.target._replace(**target)}, resolve=self.resolve, limits=limits)  # type: ignore[arg-type]
        self._open.append(proxy)
        return proxy, address

    def close(self) -> None:
        for proxy in self._open:
            proxy.close()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    authority, server = make_authority(tmp_path_factory.mktemp("tls"), [HOST, EVIL])

    class Registry(BaseRequestHandler):
        """Sends as many bytes as it is asked for, or as it got."""

        def handle(self) -> None:
            while asked := self.request.recv(65536):
                self.request.sendall(b"x" * (int(asked) if asked.strip().isdigit() else len(asked)))

    with Loopback(Registry, certificate=server) as index:
        yield authority, index.port


@pytest.fixture
def place(registry: tuple[Path, int]) -> Iterator[Place]:
    made = Place(*registry)
    yield made
    made.close()


def connect(address: tuple[str, int], request: bytes) -> tuple[socket.socket, bytes]:
    """The connection, and all that the proxy answers before the tunnel begins."""
    connection = socket.create_connection(address, timeout=30)
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer and (data := connection.recv(65536)):
        answer += data
    return connection, answer


def tunnel(place: Place, address: tuple[str, int]) -> socket.socket:
    connection, answer = connect(
        address, f"CONNECT {HOST}:{place.port} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    return connection


def ended(proxy: Proxy, count: int = 1) -> None:
    assert eventually(lambda: sum(use.tunnels for use in proxy.uses) == count, 30)


def test_an_allowed_host_is_reached_and_what_moved_is_counted(place: Place):
    proxy, address = place.proxy()
    with place.client.wrap_socket(tunnel(place, address), server_hostname=HOST) as secure:
        secure.sendall(b"100000")
        got = 0
        while got < 100000:
            got += len(secure.recv(65536))
    ended(proxy)
    (noted,) = proxy.uses
    assert (noted.host, noted.allowed, noted.why) == (f"{HOST}:{place.port}", True, "")
    assert noted.down > 100000 > noted.up > 200
    assert place.asked == [HOST]


def test_a_session_with_another_host_in_the_tunnel_is_cut_off(place: Place):
    proxy, address = place.proxy()
    with pytest.raises(OSError):
        place.client.wrap_socket(tunnel(place, address), server_hostname=EVIL)
    ended(proxy)
    (noted,) = proxy.uses
    assert (noted.allowed, noted.why) == (False, f"the session in the tunnel is with {EVIL}")


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"GET / HTTP/1.1\r\nHost: pypi.test\r\n\r\n", "what came through the tunnel is not TLS"),
        (b"SSH-2.0-x\r\n", "what came through the tunnel is not TLS"),
        (b"\x16\x03\x01\0\x05", "what came through the tunnel is no whole client hello"),
    ],
)
def test_what_is_no_tls_is_cut_off(place: Place, first: bytes, why: str):
    proxy, address = place.proxy(TunnelLimits(request_time=0.3))
    with tunnel(place, address) as connection:
        connection.sendall(first)
        assert connection.recv(100) == b""
    ended(proxy)
    assert proxy.uses[0].why == why


@pytest.mark.parametrize(
    ("request_line", "status", "why"),
    [
        ("CONNECT evil.test:443 HTTP/1.1", 403, "not on the list of allowed hosts"),
        ("CONNECT pypi.test:22 HTTP/1.1", 403, "not on the list of allowed hosts"),
        ("CONNECT pypi.test.evil.test:PORT HTTP/1.1", 403, "not on the list of allowed hosts"),
        ("CONNECT xpypi.test:PORT HTTP/1.1", 403, "not on the list of allowed hosts"),
        ("CONNECT evil.test\0.pypi.test:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT pypi.test\0:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT evil.test@pypi.test:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT 127.0.0.1:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT [::1]:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT 2130706433:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT p\u00ffpi.test:PORT HTTP/1.1", 400, "not the name of a host with a port"),
        ("CONNECT  pypi.test:PORT HTTP/1.1", 405, "only tunnels (CONNECT) are opened, so only https works"),
        ("CONNECT pypi.test:PORT HTTP/2", 405, "only tunnels (CONNECT) are opened, so only https works"),
        ("connect pypi.test:PORT HTTP/1.1", 405, "only tunnels (CONNECT) are opened, so only https works"),
        ("GET http://pypi.test:PORT/ HTTP/1.1", 405, "only tunnels (CONNECT) are opened, so only https works"),
        ("POST http://169.254.169.254/ HTTP/1.1", 405, "only tunnels (CONNECT) are opened, so only https works"),
    ],
)  # fmt: skip
def test_a_hostile_request_is_refused_in_words(place: Place, request_line: str, status: int, why: str):
    proxy, address = place.proxy()
    request = request_line.replace("PORT", str(place.port)).encode("latin-1")
    connection, answer = connect(address, request + b"\r\nHost: pypi.test\r\n\r\n")
    connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} Refused by the sandbox: {why}\r\n".encode())
    assert body == f"Refused by the sandbox: {why}.\n".encode()
    assert f"Content-Length: {len(body)}\r\n".encode() in head
    ended(proxy)
    assert (proxy.uses[0].allowed, proxy.uses[0].why) == (False, why)
    assert proxy.uses[0].host.isascii()
    assert place.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "2002:7f00:1::1", "64:ff9b::7f00:1", "2001:db8::1", "nonsense",
        "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::a00:1", "fec0::1", "3fff::1", "5f00::1", "168.63.129.16",
        "192.88.99.1", "2a00:1450::5efe:10.0.0.1", "2a00:1450::200:5efe:10.0.0.1", "2002:a83f:8110::1",
    ],
)  # fmt: skip
def test_a_name_that_leads_to_no_public_address_is_refused(place: Place, address: str):
    place.addresses = (address,)
    _, listener = place.proxy(private=False)
    connection, answer = connect(listener, f"CONNECT {HOST}:{place.port} HTTP/1.1\r\n\r\n".encode())
    connection.close()
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"not public" in answer


def test_the_name_is_resolved_once_and_another_answer_later_changes_nothing(place: Place):
    """Rebinding: the address that was judged is the one that is connected to."""
    proxy, address = place.proxy()
    with tunnel(place, address) as connection:
        place.addresses = ("169.254.169.254",)
        with place.client.wrap_socket(connection, server_hostname=HOST) as secure:
            secure.sendall(b"1")
            assert secure.recv(10) == b"x"
    assert place.asked == [HOST]
    ended(proxy)


@pytest.mark.parametrize(
    "request_head", [b"CONNECT pypi.test:443 HTTP/1.1\r\n", b"x" * 20_000, b"\r\n" * 9000]
)
def test_a_request_without_end_is_given_up(place: Place, request_head: bytes):
    proxy, address = place.proxy(TunnelLimits(request_time=0.3))
    connection = socket.create_connection(address, timeout=30)
    try:
        connection.sendall(request_head)
        connection.recv(65536)
    except OSError:
        pass  # cut off while it was still sending
    finally:
        connection.close()
    ended(proxy)
    assert not proxy.uses[0].allowed


@pytest.mark.parametrize(
    ("limits", "ask", "why"),
    [
        (TunnelLimits(up=5_000), b"y" * 20_000, "cut off: it sent more than a package manager has to send"),
        (TunnelLimits(up_total=5_000), b"y" * 20_000, "cut off: it sent more than a package manager has to send"),
        (TunnelLimits(down=50_000), b"900000", "cut off: more than 50000 bytes were received"),
        (TunnelLimits(time=2), b"1", "open for longer than 2 seconds"),
    ],
)  # fmt: skip
def test_a_cap_ends_a_tunnel_and_is_named(place: Place, limits: TunnelLimits, ask: bytes, why: str):
    proxy, address = place.proxy(limits)
    try:
        with place.client.wrap_socket(tunnel(place, address), server_hostname=HOST) as secure:
            secure.sendall(ask)
            while secure.recv(65536):
                pass
    except OSError:
        pass  # cut off
    ended(proxy)
    assert (proxy.uses[0].allowed, proxy.uses[0].why) == (True, why)


def test_what_may_be_sent_counts_over_all_tunnels(place: Place):
    proxy, address = place.proxy(TunnelLimits(up_total=1_000))
    with tunnel(place, address) as connection, contextlib.suppress(OSError):
        secure = place.client.wrap_socket(connection, server_hostname=HOST)
        secure.sendall(b"y" * 2_000)
        while secure.recv(65536):
            pass
    ended(proxy)
    connection, answer = connect(address, f"CONNECT {HOST}:{place.port} HTTP/1.1\r\n\r\n".encode())
    connection.close()
    assert b"the sandbox has sent as much as it may" in answer


def test_too_many_tunnels_at_once_are_refused(place: Place):
    _, address = place.proxy(TunnelLimits(parallel=1))
    with tunnel(place, address):
        connection, answer = connect(address, f"CONNECT {HOST}:{place.port} HTTP/1.1\r\n\r\n".encode())
        connection.close()
    assert b"more than 1 tunnels at once" in answer


@pytest.mark.slow
def test_who_reads_nothing_keeps_no_connection_open_after_its_tunnel(place: Place):
    proxy, address = place.proxy(TunnelLimits(time=3, goodbye=0.2))  # in which a slow machine must have asked
    secure = place.client.wrap_socket(tunnel(place, address), server_hostname=HOST)
    with secure, contextlib.suppress(OSError):
        secure.sendall(b"90000000")
        ended(proxy)
        assert eventually(lambda: proxy._ledger.open == 0, 30)


def test_refused_requests_keep_no_tunnel_out_of_the_log(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bot.workspace.egress.tunnel_limits._MOST_REFUSED", 5)
    proxy, address = place.proxy()
    for number in range(8):
        connect(address, f"CONNECT a{number}.test:443 HTTP/1.1\r\n\r\n".encode())[0].close()
    with place.client.wrap_socket(tunnel(place, address), server_hostname=HOST) as secure:
        secure.sendall(b"5")
        assert secure.recv(5) == b"xxxxx"
    ended(proxy, 9)
    assert [noted.host for noted in proxy.uses if noted.allowed] == [f"{HOST}:{place.port}"]
    assert HostUse("", False, NOT_LISTED, 3) in proxy.uses


def test_closing_ends_open_tunnels_and_the_socket(place: Place, caplog: pytest.LogCaptureFixture):
    proxy, address = place.proxy()
    with tunnel(place, address) as connection:
        proxy.close()
        assert connection.recv(10) == b""
    assert caplog.records == []  # asyncio's complaint would stand in the job's log
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    proxy.close()


def test_a_tunnel_that_is_open_to_the_last_is_told_of(place: Place):
    """Else a program in the background would send what it likes and be in no report."""
    proxy, address = place.proxy()
    with place.client.wrap_socket(tunnel(place, address), server_hostname=HOST) as secure:
        secure.sendall(b"5")
        assert secure.recv(5)
        proxy.close()
    (noted,) = proxy.uses
    assert (noted.host, noted.allowed, noted.why) == (
        f"{HOST}:{place.port}", True, "cut off: the sandbox was closed",
    )  # fmt: skip
    assert noted.up > 200


def test_other_targets_hold_from_the_next_request_on(place: Place):
    proxy, address = place.proxy()
    proxy.targets = frozenset()
    connection, answer = connect(address, f"CONNECT {HOST}:{place.port} HTTP/1.1\r\n\r\n".encode())
    connection.close()
    assert answer.startswith(b"HTTP/1.1 403 ")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"CONNECT ", b"CONNECT pypi.test", b"CONNECT pypi.test:443 "]),
)
def test_no_request_but_the_right_one_opens_a_tunnel(
    fuzzed: tuple[Place, Callable[[bytes], bytes]], noise: bytes, head: bytes
):
    place, send = fuzzed
    assert b" 200 " not in send(head + noise + b"\r\n\r\n").partition(b"\r\n")[0]
    assert place.asked == []


@pytest.fixture(scope="module")
def fuzzed(registry: tuple[Path, int]) -> Iterator[tuple[Place, Callable[[bytes], bytes]]]:
    place = Place(*registry)
    _, address = place.proxy(TunnelLimits(request_time=5, tunnels=10**6))

    def send(request: bytes) -> bytes:
        connection, answer = connect(address, request)
        connection.close()
        return answer

    yield place, send
    place.close()
