"""One thread for all servers of the tests; each test starts servers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.toolhost.lsp.server_loop import ServerLoop
from tests.support.language_servers import Scripted

Play = Callable[..., Scripted]


@pytest.fixture(scope="module")
def loop() -> Iterator[ServerLoop]:
    loop = ServerLoop()
    yield loop
    loop.stop()


@pytest.fixture
def play(loop: ServerLoop, tmp_path: Path) -> Iterator[Play]:
    started: list[Scripted] = []

    def start(what: dict[str, Any], **options: Any) -> Scripted:
        started.append(Scripted(loop, tmp_path, what, **options))
        return started[-1]

    yield start
    for one in started:
        one.server.stop()
