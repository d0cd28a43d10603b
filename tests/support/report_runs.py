"""Journals for the page of a run: one that has everything a page shows, and ones of any length."""

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.agent.journal import Journal
from bot.contracts import journal as lines
from bot.contracts.evidence import (
    Answer,
    CheckerComparison,
    Problem,
    ServerUse,
    Severity,
    TestChanges,
    TestCounts,
    ToolRun,
)
from bot.contracts.journal import Record
from bot.contracts.messages import Image, Text, Thinking, ToolCall, Usage
from bot.contracts.model import ModelInfo
from bot.contracts.outcome import CheckResult, CheckRun, CheckState
from bot.contracts.request import Actor, Request, RunLimits, Thread, Tier
from bot.contracts.tools import ToolSpec
from tests.attachments.pictures import plain

INFO = ModelInfo("claude-sonnet-5-5", 200_000, 8_000, 3.0, 15.0, 0.3, 3.75)
REQUEST = Request(
    "fix", "this issue", Actor("mira-okafor", 7, Tier.MAINTAINER), "octo/tidytime", "main",
    "https://github.com/octo/tidytime.git",
    Thread(12, "59.7 seconds are shown as 60s, not as 1m", "They should carry.", "theo-lindqvist",
           "https://github.com/octo/tidytime/issues/12"),
)  # fmt: skip
HEADER = lines.Header(
    lines.SCHEMA_VERSION, "0.1.0", "2026-11-21T12:00:00Z", "anthropic/claude-sonnet-5-5", INFO,
    "4f2a91c07be35d18a6e20c94f7d3b15e8a602c9d",
    REQUEST, "You are Slash Agent. You mend what was asked for, in the smallest change that does it.",
    (ToolSpec("edit", "Replace a text in a file that was shown.", {"type": "object"}, True),
     ToolSpec("bash", "Run a command in the sandbox.", {"type": "object"})),
    RunLimits(turns=80, cost_usd=5.0, minutes=30), "bubblewrap 0.8.0",
)  # fmt: skip

OLD = '''"""Durations in words."""

from tidytime.units import UNITS


def format_duration(seconds: float, parts: int = 2) -> str:
    """`1m 30s` for 90."""
    remaining = abs(seconds)
    words = []
    for unit in UNITS:
        if unit.seconds == 1:
            count = round(remaining)
        else:
            count, remaining = divmod(remaining, unit.seconds)
        if count:
            words.append(f"{int(count)}{unit.letter}")
    return " ".join(words[:parts]) or "0s"
'''
MIDDLE = OLD.replace("remaining = abs(seconds)", "remaining = rounded(abs(seconds))")
NEW = MIDDLE.replace("rounded(", "round(").replace(
    """        if unit.seconds == 1:
            count = round(remaining)
        else:
            count, remaining = divmod(remaining, unit.seconds)
""",
    "        count, remaining = divmod(remaining, unit.seconds)\n",
)
OLD_TESTS = "class Carries(TestCase):\n    pass\n"
NEW_TESTS = """import math


class Carries(TestCase):
    def test_one_part(self):
        self.assertEqual(format_duration(3599.6, parts=1), "1h")
"""
PATH = "tidytime/format.py"
TESTS = "tests/test_format.py"
UNDEFINED = Problem(
    "ty", PATH, 8, 17, Severity.ERROR, "unresolved-reference", "Name `rounded` used when not defined",
    snippet="    remaining = rounded(abs(seconds))",
)  # fmt: skip
TASK = "Who else rounds durations?"
UNUSED = Problem(
    "ruff", TESTS, 3, 8, Severity.WARNING, "F401", "`math` imported but unused", snippet="import math"
)


DESCRIPTION = {
    "title": "Round durations before splitting them into units",
    "summary": "`format_duration` rounded only the seconds, after hours and minutes had been split off, so 59.7 became "
    "`60s` and could not carry into the next unit.\n\nThe whole duration is now rounded first; `12.6` still gives "
    "`13s`, as the issue asks. A test for `parts=1` is added.",
    "notes": "Rounding stays half-to-even, as before: 0.5 seconds are `0s`.",
}


def _section(path: str, old: str, new: str) -> str:
    rows = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\nindex 0000000..1111111 100644\n{''.join(rows)}"


PATCH = (_section(PATH, OLD, NEW) + _section(TESTS, OLD_TESTS, NEW_TESTS)).encode()


def write(
    path: Path,
    records: Iterable[Record | tuple[str, Record]],
    header: lines.Header = HEADER,
    pause: float = 0.5,
) -> Path:
    """A journal of these records, `pause` seconds apart. What comes as a pair is a subagent's line."""
    now = iter(range(1_000_000))
    with Journal(path, str, clock=lambda: next(now) * pause) as journal:
        journal.write(header)
        for record in records:
            agent, one = record if type(record) is tuple else ("", record)
            journal.write(one, agent)  # type: ignore[arg-type]
    return path


def sample(path: Path) -> Path:
    """A run with everything: edits, a denied call, an error, a subagent, a picture, a summary, evidence. Its patch lies
    beside it."""
    path.with_name("changes.patch").write_bytes(PATCH)
    return write(path, _sample(), pause=0.7)


def _sample() -> Iterator[Record | tuple[str, Record]]:
    yield lines.UserText(
        0, "Fix issue 12: 59.7 seconds are shown as 60s, not as 1m.\nThe picture shows it.",
        images=(Image("image/png", plain(320, 90), "screenshot.png"),),
    )  # fmt: skip
    yield lines.CheckRecord(
        "tests", "python3 -m unittest", "before", CheckRun(CheckState.FAILED, 1, 1.4, "FAILED (failures=1)")
    )
    yield from _turn(
        1, "I'll reproduce the problem first and read the code it comes from.",
        ToolCall("c1", "bash", json.dumps({"command": "python3 -m unittest 2>&1 | tail -n 5"})),
        ToolCall("c2", "view", json.dumps({"path": PATH})),
        thinking="The seconds are rounded after the larger units were split off, perhaps.",
    )  # fmt: skip
    yield from call_records(
        1,
        "c1",
        "bash",
        "FAIL: test_carries\nAssertionError: '60s' != '1m'\n\nFAILED (failures=1)",
        exit_code=1,
        duration=1.31,
    )
    yield from call_records(
        1,
        "c2",
        "view",
        "\n".join(f"{n:5} {row}" for n, row in enumerate(OLD.splitlines(), 1)),
        path=PATH,
        total=17,
    )
    yield from _turn(
        2, "Only the seconds are rounded. Rounding the whole number first mends that and keeps 12.6 at `13s`.",
        ToolCall("c3", "edit", json.dumps({"path": PATH, "old": "abs(seconds)", "new": "rounded(abs(seconds))"})),
        ToolCall("c4", "bash", json.dumps({"command": "git push origin main"})),
    )  # fmt: skip
    yield from call_records(
        2,
        "c3",
        "edit",
        f"Edited {PATH}.\n\nNew problem: line 8: Name `rounded` used when not defined",
        rule="source-files",
        **edit_metadata(PATH, OLD, MIDDLE),
    )
    yield lines.DiagnosticsRecord(2, "c3", (("ty", "complete"), ("ruff", "complete")), (UNDEFINED,), 1)
    yield lines.CallStarted(2, "c4", "bash")
    yield lines.PermissionDecision(
        "bash", False, "no-pushing", "what leaves goes through the gate; end the run instead", "c4"
    )
    yield lines.Result(
        2,
        "c4",
        "bash",
        "Denied by rule no-pushing: what leaves goes through the gate; end the run instead.",
        True,
        False,
        True,
    )
    yield lines.ProviderRetry(3, 1, 2.0, "the server is overloaded (529)")
    yield from _turn(
        3, "`round` is what I meant.",
        ToolCall("c5", "edit", json.dumps({"path": PATH, "old": "rounded(", "new": "round("})),
        ToolCall("c6", "task", json.dumps({"description": "Look for other callers", "prompt": TASK})),
        ToolCall("c7", "edit", json.dumps({"path": "docs/format.md", "old": "60s", "new": "1m"})),
    )  # fmt: skip
    yield from call_records(
        3, "c5", "edit", f"Edited {PATH}.", rule="source-files", **edit_metadata(PATH, MIDDLE, NEW)
    )
    yield lines.DiagnosticsRecord(3, "c5", (("ty", "complete"), ("ruff", "timed_out")))
    yield lines.CallStarted(3, "c6", "task")
    yield from (("explore-1", one) for one in _agent())
    yield lines.Result(
        3,
        "c6",
        "task",
        "Nobody else does: only format.py rounds.\n\n(2 turns)",
        duration=4.1,
        metadata={"agent": "explore-1"},
    )
    yield lines.CallStarted(3, "c7", "edit")
    yield lines.PermissionDecision("edit", True, "", "", "c7")
    yield lines.Result(
        3, "c7", "edit", "docs/format.md was not changed: there is no such text in it.", True, duration=0.01
    )
    yield lines.CompactionRecord(
        4,
        "The rounding in format.py is mended; a test for `parts=1` is still to be written.",
        2,
        61_400,
        9_800,
        Usage(400, 60_000, 0, 700),
        0.031,
        "transcript-1.md",
    )
    yield lines.UserText(4, "The check `tests` still fails: see its output.", "host")
    yield from _turn(
        4, "The issue also names `parts=1`, which no test covers yet.",
        ToolCall("c8", "write", json.dumps({"path": TESTS, "content": NEW_TESTS})),
        ToolCall("c9", "bash", json.dumps({"command": "python3 -m unittest 2>&1 | tail -n 4\ngit diff --stat"})),
    )  # fmt: skip
    yield from call_records(
        4, "c8", "write", f"Wrote {TESTS}.", rule="source-files", **edit_metadata(TESTS, OLD_TESTS, NEW_TESTS)
    )
    yield lines.DiagnosticsRecord(4, "c8", (("ty", "complete"), ("ruff", "complete")), (UNUSED,), 1)
    yield from call_records(
        4, "c9", "bash", "OK\n tidytime/format.py | 7 ++-----\n", exit_code=0, duration=1.22
    )
    text = b"rounded: 59.7 -> 1m\n"
    yield lines.FilesChanged(
        4, (lines.FileVersion("notes.txt", None, hashlib.sha256(text).hexdigest(), content=text),), "c9"
    )
    yield from _turn(
        5, "Durations are rounded before they are split into units; all tests pass.",
        ToolCall("c10", "describe_change", json.dumps(DESCRIPTION)),
    )  # fmt: skip
    yield from call_records(5, "c10", "describe_change", "Noted.", title=DESCRIPTION["title"])
    yield lines.CheckRecord(
        "tests", "python3 -m unittest", "after", CheckRun(CheckState.PASSED, 0, 1.2, "OK")
    )
    yield lines.Note("The history of the repository was not fetched.")
    yield lines.SessionEnded("end_turn", "", 5)
    yield evidence()
    yield lines.RunEnded(
        "changed",
        "end_turn",
        "Durations are rounded before they are split into units.",
        hashlib.sha256(PATCH).hexdigest(),
    )


def evidence() -> lines.Evidence:
    tests = TestChanges(
        TestCounts(22, 1, 0), TestCounts(24, 0, 1), (), ("tests.test_format.Carries.test_carries",),
        ("tests.test_format.Carries.test_one_part", "tests.test_format.Carries.test_hours"), (),
        ("tests.test_clock.Ticks.test_now",), (("mended", 1), ("appeared", 2), ("flaky", 1)), "JUnit XML",
    )  # fmt: skip
    failed = CheckRun(CheckState.FAILED, 1, 1.4, "FAILED (failures=1)")
    passed = CheckRun(CheckState.PASSED, 0, 1.2, "OK")
    missing = CheckRun(CheckState.NOT_RUNNABLE, note="npm is not here.")
    stopped = ToolRun(Answer.TIMED_OUT, 0, 30.0, "It was stopped after 30 s.")
    before, after = ToolRun(Answer.COMPLETE, 3, 0.05), ToolRun(Answer.COMPLETE, 4, 0.05)
    return lines.Evidence(
        (
            CheckResult("tests", "python3 -m unittest", failed, passed, flaky=True, tests=tests),
            CheckResult("lint", "npm run lint", missing, missing, detected=True),
        ),
        (
            CheckerComparison("ruff", "0.17.2", "ruff check", before, after, (UNUSED,), (), 1, 0, 3),
            CheckerComparison("ty", "0.0.105", "ty check", ToolRun(Answer.COMPLETE, 2, 0.6), stopped),
        ),
        (ServerUse("ty", "0.0.105"), ServerUse("typescript", "", note="No TypeScript in the project.")),
    )


def _agent() -> Iterator[Record]:
    yield lines.AgentStarted(3, "c6", "explore-1", "You look and do not touch.", TASK)
    yield lines.UserText(0, TASK, "task")
    yield from _turn(1, "I'll look for it.", ToolCall("s1", "grep", json.dumps({"pattern": r"round\("})))
    yield from call_records(1, "s1", "grep", "tidytime/format.py:11: count = round(remaining)", matches=1)
    yield from _turn(2, "Nobody else does: only format.py rounds.")
    yield lines.SessionEnded("end_turn", "", 2)


def _turn(number: int, text: str, *calls: ToolCall, thinking: str = "") -> Iterator[Record]:
    yield lines.RequestSent(number, number * 2)
    parts: list[Text | Thinking | ToolCall] = [Thinking(thinking)] if thinking else []
    context_tokens = (4_100, 9_800, 24_500, 11_200, 14_900)[(number - 1) % 5]
    cached = 0 if number == 1 else round(context_tokens * 0.86)
    usage = Usage(
        round((context_tokens - cached) * 0.2),
        cached,
        round((context_tokens - cached) * 0.8),
        220 + 60 * number,
    )
    yield lines.Response(
        number, (*parts, Text(text), *calls), "tool_use" if calls else "end_turn", "", usage, INFO.cost(usage)
    )


def call_records(
    turn: int,
    call_id: str,
    name: str,
    content: str,
    *,
    rule: str = "",
    duration: float = 0.02,
    **metadata: Any,
) -> Iterator[Record]:
    yield lines.CallStarted(turn, call_id, name)
    yield lines.PermissionDecision(
        name, True, rule, "", call_id, str(metadata.get("path", "")) if rule else ""
    )
    yield lines.Result(turn, call_id, name, content, duration=duration, metadata=metadata)


def edit_metadata(path: str, old: str, new: str) -> Mapping[str, Any]:
    rows = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    )
    return {
        "path": path, "diff": "\n".join(rows) + "\n",
        "additions": sum(row[0] == "+" for row in rows[2:]), "removals": sum(row[0] == "-" for row in rows[2:]),
        "before_hash": hashlib.sha256(old.encode()).hexdigest(), "after_hash": hashlib.sha256(new.encode()).hexdigest(),
    }  # fmt: skip
