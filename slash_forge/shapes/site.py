"""The addresses of the forge, node ids, and the type of a JSON object."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Site:
    """`html` is the server's address, as `https://github.com` is GitHub's; the REST API is beneath it."""

    html: str

    @property
    def api(self) -> str:
        return f"{self.html}/api/v3"

    @property
    def store(self) -> str:
        """The store of logs and artifacts, under another host name: clients must not send it their token."""
        return f"{self.html.replace('127.0.0.1', 'localhost')}/_store"


def node_id(kind: str, number: int | str) -> str:
    """An opaque global id in GitHub's older format."""
    return base64.b64encode(f"{len(kind):03}:{kind}{number}".encode()).decode()
