"""Amazon's binary event stream, written by hand from its description, as Bedrock sends it."""

import base64
import json
import struct
import zlib
from collections.abc import Mapping


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message: prelude with its checksum, headers of strings, payload, checksum of all of it."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack(">I", zlib.crc32(message))


def chunk(data: str) -> bytes:
    """One event of the Messages API."""
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps({"bytes": base64.b64encode(data.encode()).decode()}).encode())


def exception(kind: str, message: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": message}).encode())


def of_sse(body: bytes) -> bytes:
    """The same events as in a body of server-sent events."""
    lines = body.decode().splitlines()
    return b"".join(chunk(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))
