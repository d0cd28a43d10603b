"""Which files of the tree commands open."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from bot.toolhost.open_watch import OpenWatch


def opened(tree: Path, command: str, *paths: str) -> list[str]:
    watch = OpenWatch(tree, paths)
    subprocess.run(["sh", "-ec", command], cwd=tree, check=True, capture_output=True)
    return watch.end()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt", "run.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("b.txt")
    return tmp_path


def test_reading_and_executing_count_and_once_is_enough(tree: Path):
    assert opened(tree, "cat a.txt a.txt; ./run.sh", "a.txt", "b.txt", "run.sh") == ["a.txt", "run.sh"]


@pytest.mark.parametrize("command", ["ls -l; test -s a.txt", "rm a.txt", "mv a.txt c.txt", "chmod +x a.txt"])
def test_what_opens_no_file_does_not_nor_a_link_to_one(tree: Path, command: str):
    assert opened(tree, command, "a.txt") == []
    assert opened(tree, "cat link", "link", "gone/x", "b.txt") == ["b.txt"]


def test_a_kernel_that_grants_no_watch_is_an_error(tree: Path):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            OpenWatch(tree, ["a.txt"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
