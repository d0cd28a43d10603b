"""A tree and unconfined workshops on it: what tools do is the same behind the wall, which has its own tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.workshop.client.workshop import Workshop
from tests.support.workshops import Bench, make_tree


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\n", "src/b.py": "print(1)\n"}))
    yield made
    made.close()


@pytest.fixture
def workshop(bench: Bench) -> Workshop:
    return bench.start()
