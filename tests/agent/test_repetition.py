"""A long result that stands in the conversation already is not put there again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bot.agent.compaction import SummaryCompaction
from bot.contracts.journal import CompactionRecord
from bot.contracts.model import Complete
from bot.contracts.tools import ToolOutcome
from tests.agent.test_compaction import Narrow
from tests.support.scripted import INFO, call, says
from tests.support.sessions import Bench

LONG, OTHER = "a" * 3_000, "b" * 3_000


def echo(text: str, number: int) -> Complete:
    return says(call("echo", f'{{"text": "{text}"}}', f"c{number}"))


def said(folder: Path, script: Sequence[Complete], writing: Sequence[str] = ()) -> list[str]:
    bench = Bench([*script, says("Done.")], folder, writing=writing)
    bench.run()
    return [result.content for result in bench.results()]


def test_the_same_call_with_the_same_long_answer_points_at_the_first(tmp_path: Path) -> None:
    contents = said(tmp_path, [echo(LONG, 1), echo(OTHER, 2), echo(LONG, 3)])
    assert contents[:2] == [LONG, OTHER]
    assert contents[2] == "(Unchanged: the same as this call's result in turn 1, which stands above.)"


def test_a_short_answer_is_said_again(tmp_path: Path) -> None:
    assert said(tmp_path, [echo("short", 1), echo(OTHER, 2), echo("short", 3)])[2] == "short"


def test_what_writes_or_runs_is_said_again(tmp_path: Path) -> None:
    assert said(tmp_path, [echo(LONG, 1), echo(OTHER, 2), echo(LONG, 3)], writing=["echo"])[2] == LONG


def test_a_file_that_changed_in_between_is_shown_and_so_is_one_that_changed_back(tmp_path: Path) -> None:
    answers = iter([LONG, OTHER, LONG, LONG])
    turns = [says(call("view", "{}", f"c{number}")) for number in range(4)]
    bench = Bench(
        [*turns, says("Done.")], tmp_path, {"view": lambda arguments, cancel: ToolOutcome(next(answers))}
    )
    bench.run()
    contents = [result.content for result in bench.results()]
    assert contents[:3] == [LONG, OTHER, LONG]
    assert "turn 3" in contents[3]


def test_after_a_compaction_it_is_said_again(tmp_path: Path) -> None:
    """What stood above is gone then: a note that points there would lose the text."""
    small = replace(INFO, context_window=20_000, max_output=2_000)
    others = [echo(f"{number}{OTHER}", number) for number in range(1, 20)]
    bench = Bench(
        [echo(LONG, 0), *others, echo(LONG, 20), says("Done.")],
        tmp_path,
        model=lambda turns: Narrow(turns, small),
        compaction=lambda model: SummaryCompaction(model),
    )
    bench.run()
    assert next(bench.journal().records(CompactionRecord), None) is not None
    assert bench.results()[-1].content == LONG
