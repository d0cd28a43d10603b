"""The addresses of the forge, and node ids."""

from __future__ import annotations

import base64
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Site:
    """`html` is the server's address, as `https://github.com` is GitHub's; the REST API is beneath it."""

    html: str

    @property
    def api(self) -> str:
        return f"{self.html}/api/v3"

    @property
    def store(self) -> str:
        """Where logs and artifacts are kept: another host's name, for clients that must notice."""
        return f"{self.html.replace('127.0.0.1', 'localhost')}/_store"


def node_id(kind: str, number: int | str) -> str:
    """An opaque global id, made the way GitHub made them."""
    return base64.b64encode(f"{len(kind):03}:{kind}{number}".encode()).decode()
