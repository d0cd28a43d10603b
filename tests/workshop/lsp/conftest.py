"""One thread for all servers of the tests; each test starts servers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.workshop.host.lsp.servers import Hub
from tests.support.language_servers import Scripted

Play = Callable[..., Scripted]


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    hub = Hub()
    yield hub
    hub.stop()


@pytest.fixture
def play(hub: Hub, tmp_path: Path) -> Iterator[Play]:
    started: list[Scripted] = []

    def start(what: dict[str, Any], **options: Any) -> Scripted:
        started.append(Scripted(hub, tmp_path, what, **options))
        return started[-1]

    yield start
    for one in started:
        one.server.stop()
