"""Where a run keeps what it has, and how it goes away."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from bot.run.folder import RunFolder, _make_writable


def test_what_goes_by_itself_while_all_is_removed_is_no_error(tmp_path: Path) -> None:
    """Breaks: bot/run/folder.py "contextlib.suppress(FileNotFoundError)"."""
    _make_writable(os.unlink, str(tmp_path / "gone"), None)


def test_two_that_remove_the_same_at_once_both_come_to_an_end(tmp_path: Path) -> None:
    for name in range(300):
        (tmp_path / "run" / "tree" / str(name)).mkdir(parents=True)
        (tmp_path / "run" / "tree" / str(name) / "a").touch()
    other = threading.Thread(target=shutil.rmtree, args=(tmp_path / "run" / "tree", True))
    other.start()
    RunFolder(tmp_path / "run").drop_trees()
    other.join()
    assert os.listdir(tmp_path / "run") == []
