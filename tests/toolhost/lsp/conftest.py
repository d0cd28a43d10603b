"""Scripted servers that end with their test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.language_servers import Scripted

Play = Callable[[dict[str, Any]], Scripted]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    started: list[Scripted] = []

    def start(what: dict[str, Any]) -> Scripted:
        started.append(Scripted(tmp_path, what))
        return started[-1]

    yield start
    for one in started:
        one.server.end()
