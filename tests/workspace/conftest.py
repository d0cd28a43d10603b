"""A tree and unconfined workspaces on it: what tools do is the same behind the wall, which has its own tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.workspace.client import Workspace
from bot.workspace.sandbox.backends import bubblewrap
from tests.support.repositories import make_repository
from tests.support.workspaces import Bench, SharedHost

FILES = {"a.txt": "one\n", "src/b.py": "print(1)\n"}


@pytest.fixture(scope="session")
def committed_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied: that takes a third of what git takes to make it."""
    return make_repository(tmp_path_factory.mktemp("committed") / "tree", FILES)


@pytest.fixture
def bench(tmp_path: Path, committed_tree: Path) -> Iterator[Bench]:
    """For tests that start tool hosts of their own."""
    made = Bench(tmp_path, shutil.copytree(committed_tree, tmp_path / "tree", symlinks=True))
    yield made
    made.close()


@pytest.fixture(scope="session")
def shared_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedHost]:
    host = SharedHost(tmp_path_factory.mktemp("shared"), FILES)
    yield host
    host.close()


@pytest.fixture
def workspace(shared_host: SharedHost) -> Workspace:
    """One for all tests: see `SharedHost` for what is as at the start."""
    return shared_host.workspace()


@pytest.fixture
def tree(shared_host: SharedHost) -> Path:
    """That of `workspace`."""
    return shared_host.tree


@pytest.fixture(scope="session")
def confined_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedHost]:
    host = SharedHost(tmp_path_factory.mktemp("confined"), FILES, bubblewrap)
    yield host
    host.close()


@pytest.fixture
def confined(confined_host: SharedHost) -> Workspace:
    """The same behind bubblewrap."""
    return confined_host.workspace()
