"""A tree and unconfined workspaces on it: what tools do is the same behind the wall, which has its own tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.workspace.client import Workspace
from tests.support.workspaces import Bench, make_tree


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\n", "src/b.py": "print(1)\n"}))
    yield made
    made.close()


@pytest.fixture
def workspace(bench: Bench) -> Workspace:
    return bench.start()
