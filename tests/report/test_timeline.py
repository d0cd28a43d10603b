"""What a page is told of a run's files."""

from pathlib import Path

from bot.agent.journal import Journal, read_journal
from bot.contracts.journal import (
    AgentStarted,
    CompactionRecord,
    FilesChanged,
    FileVersion,
    RequestSent,
    Response,
    Result,
    SessionEnded,
    UserText,
)
from bot.contracts.messages import Text, ToolCall, Usage
from bot.report.build_timeline import build_timeline
from bot.report.page import render_page
from bot.report.timeline import counts
from tests.support.report_runs import write
from tests.support.sessions import header

CALLS = (ToolCall("c1", "patch", '{"patch": ""}'), ToolCall("c2", "bash", '{"command": "x"}'))
FILES = [
    {"path": "a.py", "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n-a\n+b\n+c\n", "additions": 2, "removals": 1,
     "before_hash": "1" * 64, "after_hash": "2" * 64},
    {"path": "b.py", "diff": "--- a/b.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n", "additions": 0, "removals": 1,
     "before_hash": "3" * 64, "after_hash": None},
]  # fmt: skip


def test_each_file_of_a_patch_is_listed_with_its_lines_and_its_versions(tmp_path: Path):
    records = (
        Response(1, CALLS, "tool_use", ""),
        Result(1, "c1", "patch", "Patched 2 files.", metadata={"files": FILES}),
        Result(1, "c2", "bash", "ok"),
        FilesChanged(1, (FileVersion("a.py", "2" * 64, "4" * 64, content=b"x\n"),), "c2"),
    )
    path = write(tmp_path / "journal.jsonl", records)
    timeline = build_timeline(read_journal(path))
    rows = [(row.path, row.tools, row.additions, row.removals) for row in timeline.files.values()]
    assert rows == [("a.py", ["patch", "bash"], 2, 1), ("b.py", ["patch"], 0, 1)]
    shown = [(change.path, change.diff) for change in timeline.turns[0].calls[0].changes]
    assert shown == [(str(file["path"]), file["diff"]) for file in FILES]
    rows_of = [row.version for row in timeline.files["a.py"].versions]
    told = [(one.number, one.by, one.what) for one in rows_of]
    assert told == [(0, "base", "as it was"), (1, "patch", "+2 -1"), (2, "bash", "changed")]
    [base, edited, changed] = timeline.files["a.py"].versions
    assert (base.step, edited.step, changed.step) == ("", "turn-1-call-1", "turn-1-call-2")
    assert (edited.diff, changed.diff) == ("turn-1-call-1-diff-1", "")
    assert edited.restore == "slash-agent restore journal.jsonl --path a.py --version 1"
    page = render_page(path)
    for part in ("base: as it was", "patch: +2 -1", "bash: changed", "patch: deleted", f'id="{edited.diff}"'):
        assert part in page
    # What one version adds and the next takes away is counted twice: no figure of the patch.
    assert ("in all, by patch, bash<" in page, "in all, by patch<" in page) == (True, False)


def test_lines_that_begin_with_signs_are_counted():
    """A line `++ x` that was added is a row of three plus signs, as a file's name is."""
    assert counts("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n a\n--- gone\n+++ x\n+++ y\n") == (2, 1)


def test_what_a_subagent_did_stands_below_the_call_that_started_it(tmp_path: Path):
    records = (
        Response(1, (ToolCall("t1", "task", "{}"),), "tool_use", "", Usage(10, 0, 0, 1), 0.25),
        ("code-1", AgentStarted(1, "t1", "code-1", "system", "mend <b>it</b>")),
        ("code-1", UserText(0, "mend <b>it</b>", "task")),
        ("code-1", Response(1, CALLS[:1], "tool_use", "", Usage(20, 0, 0, 2), 0.5)),
        ("code-1", Result(1, "c1", "patch", "Patched 2 files.", metadata={"files": FILES})),
        ("code-1", SessionEnded("end_turn", "", 1)),
        Result(1, "t1", "task", "Mended."),
    )
    path = write(tmp_path / "journal.jsonl", records)
    timeline = build_timeline(read_journal(path))
    agent = timeline.turns[0].calls[0].agents[0]
    assert (agent.name, agent.timeline.turns[0].calls[0].name) == ("code-1", "patch")
    assert [(row.path, row.tools, row.additions, row.removals) for row in timeline.files.values()] == [
        ("a.py", ["patch"], 2, 1),
        ("b.py", ["patch"], 0, 1),
    ]
    assert (timeline.cost, timeline.usage.input, len(timeline.turns)) == (0.75, 30, 1)
    page = render_page(path)
    assert "<b>The subagent <code>code-1</code></b>: 1 turn, $0.50" in page
    assert 'id="code-1-turn-1"' in page
    assert page.index('id="turn-1"') < page.index('id="code-1-turn-1"')
    assert "mend &lt;b&gt;it" in page
    assert "<b>it" not in page


def test_a_conversation_that_was_made_shorter_is_shown(tmp_path: Path):
    shorter = CompactionRecord(1, "the summary", 2, 9000, 1000, Usage(5, 0, 0, 1), 0.125)
    records = (UserText(0, "go on", "task"), shorter, CompactionRecord(2, failure="It does not fit."))
    path = write(tmp_path / "journal.jsonl", records)
    page = render_page(path)
    assert "9,000 tokens became 1,000" in page
    assert "the summary" in page
    assert "The conversation could not be made shorter. It does not fit." in page
    assert build_timeline(read_journal(path)).cost == 0.125


def test_a_turn_takes_as_long_as_the_model_and_its_calls_whatever_is_found_later(tmp_path: Path):
    now = iter([0.0, 0.0, 1.0, 4.0, 4.5, 7.0, 9.0, 9.0])
    path = tmp_path / "journal.jsonl"
    with Journal(path, lambda text: text, clock=lambda: next(now)) as journal:
        journal.write(header())
        journal.write(RequestSent(1, 1))
        journal.write(Response(1, (Text("I look."), CALLS[1]), "tool_use", ""))
        journal.write(Result(1, "c2", "bash", "ok"))
        journal.write(FilesChanged(1, (FileVersion("a.py", None, "4" * 64),), "c2"))
        journal.write(SessionEnded("end_turn", "", 1))
    [turn] = build_timeline(read_journal(path)).turns
    assert (turn.at, turn.thinking_seconds, turn.working_seconds) == (1.0, 3.0, 0.5)
