"""The server name in what real TLS clients send first, and in what is made to look like it."""

import contextlib
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.workspace.egress.tunnel import RECORD_HEADER, HelloError, record_length, server_name


def hello(host: str | None, **settings: object) -> bytes:
    """The first record that a real client sends for `host`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    for name, value in settings.items():
        setattr(context, name, value)
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


REAL = hello("pypi.org")
BODY = REAL[RECORD_HEADER:]


def with_extensions(*extensions: bytes) -> bytes:
    block = b"".join(extensions)
    body = (
        b"\x03\x03"
        + bytes(32)
        + b"\0"
        + b"\0\x02\x13\x01"
        + b"\x01\0"
        + len(block).to_bytes(2, "big")
        + block
    )
    return b"\x01" + len(body).to_bytes(3, "big") + body


def extension(kind: int, body: bytes) -> bytes:
    return kind.to_bytes(2, "big") + len(body).to_bytes(2, "big") + body


def names(*hosts: bytes) -> bytes:
    entries = b"".join(b"\0" + len(host).to_bytes(2, "big") + host for host in hosts)
    return extension(0, len(entries).to_bytes(2, "big") + entries)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_real_clients_name_is_read(version: ssl.TLSVersion):
    record = hello("files.pythonhosted.org", minimum_version=version, maximum_version=version)
    assert record_length(record[:RECORD_HEADER]) == len(record) - RECORD_HEADER
    assert server_name(record[RECORD_HEADER:]) == "files.pythonhosted.org"


def test_a_made_one_is_read_and_put_in_lower_case():
    assert server_name(with_extensions(names(b"PyPI.org"))) == "pypi.org"


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (with_extensions(), "names no server"),
        (hello(None)[RECORD_HEADER:], "names no server"),
        (with_extensions(names(b"pypi.org"), names(b"evil.example")), "names two"),
        (with_extensions(names(b"pypi.org", b"evil.example")), "names two"),
        (with_extensions(names(b"pypi.org"), extension(0xFE0D, b"\0" * 40)), "encrypted"),
        (with_extensions(extension(0, b"\0\x0b\x01\0\x08pypi.org")), "names two"),
        (with_extensions(names("pypï.org".encode())), "no plain text"),
        (BODY + b"\0", "more than a client hello"),
        (b"\x02" + BODY[1:], "does not begin with a client hello"),
        (BODY[:-1], "broken"),
        (b"", "broken"),
    ],
)
def test_a_name_that_cannot_be_believed_is_refused(record: bytes, why: str):
    with pytest.raises(HelloError, match=why):
        server_name(record)


@pytest.mark.parametrize(
    "header",
    [b"GET /", b"\x17\x03\x03\x01\0", b"\x16\x02\0\x01\0", b"\x16\x03\x01\xff\xff", b"\x80\x2e\x01\x03\x01", b""],
)  # fmt: skip
def test_what_is_no_tls_is_refused(header: bytes):
    with pytest.raises(HelloError, match="not TLS"):
        record_length(header)


@given(st.binary(max_size=600) | st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)))
def test_whatever_comes_is_a_name_or_a_refusal(made: bytes | tuple[int, int]):
    record = made if isinstance(made, bytes) else BODY[: made[0]] + bytes([made[1]]) + BODY[made[0] + 1 :]
    with contextlib.suppress(HelloError):
        assert server_name(record).isascii()
