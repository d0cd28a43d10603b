"""How a checker that ran in several projects is reported to people."""

from __future__ import annotations

from dataclasses import replace

from bot.contracts.evidence import Answer, CheckerComparison, ToolRun
from bot.evidence.view import view_of
from bot.publish.evidence import remarks, table
from tests.support.outcomes import OUTCOME, problem

SEEN = CheckerComparison(
    "tsc", "Version 6.0.3", "tsc -p .  # in web, api",
    ToolRun(Answer.COMPLETE, 1, 2.0, "1 more project not looked at: x"), ToolRun(Answer.COMPLETE, 3, 2.0),
    (problem(1),), (problem(2),), 1, 1, 0, 0, ("web", "api"),
)  # fmt: skip
SILENT = replace(
    SEEN, before=ToolRun(Answer.UNAVAILABLE, note="tsc is not installed"), after=ToolRun(Answer.UNAVAILABLE),
    version="", projects=("old",),
)  # fmt: skip
TOLD = replace(OUTCOME, patch_sha256="0" * 64, checks=(), diagnostics=(SEEN, SILENT))


def test_the_table_has_a_row_a_tool_and_one_for_where_it_gave_no_answer() -> None:
    _, _, *rows = table(view_of(TOLD).rows)
    assert rows == [
        "| ⚠️ `tsc 6.0.3 in 2 projects` | **1 new**, 1 fixed | 1 problem, 2.0 s → 3 problems, 2.0 s |",
        "| ⚪ `tsc in old` | not compared | no result → not run |",
    ]
    assert remarks(view_of(TOLD))[-2:] == [
        "`tsc in 2 projects`: 1 more project not looked at: x",
        "`tsc in old`: tsc is not installed",
    ]
