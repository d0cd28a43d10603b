"""What a page is told of a run's files."""

from __future__ import annotations

from pathlib import Path

from bot.agent.journal import Journal, read_journal
from bot.contracts.journal import FilesChanged, FileVersion, Response, Result
from bot.contracts.messages import ToolCall
from bot.report.page import render_page
from bot.report.story import tell
from tests.support.sessions import header

CALLS = (ToolCall("c1", "patch", '{"patch": ""}'), ToolCall("c2", "bash", '{"command": "x"}'))
FILES = [
    {"path": "a.py", "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n-a\n+b\n+c\n", "additions": 2, "removals": 1,
     "before_hash": "1" * 64, "after_hash": "2" * 64},
    {"path": "b.py", "diff": "--- a/b.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n", "additions": 0, "removals": 1,
     "before_hash": "3" * 64, "after_hash": None},
]  # fmt: skip


def test_each_file_of_a_patch_is_listed_with_its_lines_and_its_versions(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, lambda text: text) as journal:
        journal.write(header())
        journal.write(Response(1, CALLS, "tool_use", ""))
        journal.write(Result(1, "c1", "patch", "Patched 2 files.", metadata={"files": FILES}))
        journal.write(Result(1, "c2", "bash", "ok"))
        journal.write(FilesChanged(1, (FileVersion("a.py", "2" * 64, "4" * 64),), "c2"))
    story = tell(read_journal(path))
    rows = [(row.path, row.tools, row.additions, row.removals) for row in story.files.values()]
    assert rows == [("a.py", ["patch", "bash"], 2, 1), ("b.py", ["patch"], 0, 1)]
    assert story.turns[0].calls[0].diff == "".join(str(file["diff"]) for file in FILES)
    told = [(one.number, one.by, one.what) for one in story.files["a.py"].versions]
    assert told == [(0, "base", "as it was"), (1, "patch", "+2 -1"), (2, "bash", "changed")]
    page = render_page(path)
    assert "0 base: as it was · 1 patch in turn 1: +2 -1 · 2 bash in turn 1: changed" in page
    assert "1 patch in turn 1: deleted" in page
