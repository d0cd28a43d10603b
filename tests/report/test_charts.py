"""The charts of the job's summary: Mermaid's own parser takes them, whatever a journal says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from bot.agent.journal_file import JournalFile, JournalLine
from bot.contracts import journal as lines
from bot.contracts.messages import Usage
from bot.contracts.outcome import CheckRun, CheckState
from bot.contracts.request import RunLimits
from bot.github.actions import SUMMARY_LIMIT
from bot.report.summary import charts, charts_of, run_summary
from tests.support.npm import package_file
from tests.support.outcomes import EVIDENCE, REQUEST
from tests.support.record_demo import INFO, RECORDING

HOSTILE = [
    "bash",
    "```\n# Done",
    "x :done, crit, 0, 1\n    click a call alert()",
    "section title ; %% comment",
    "<img src=x onerror=alert(1)> #quot; \"' {} \\",
    ":::",
    "é\u202e\x1b[2J",
    "%%{init: {}}%%",
]


def journal(turns: int, names: list[str], *, step: float = 1.0) -> JournalFile:
    """Turns of `step` seconds for the model and as many for each call."""
    header = lines.Header(
        1, "0.1.0", "2026-01-02T03:04:05Z", "m", INFO, "0" * 40, REQUEST, "", (), RunLimits()
    )
    found: list[JournalLine] = []
    at = 0.0

    def put(record: lines.Record, wait: float = 0.0) -> None:
        nonlocal at
        at += wait
        found.append(JournalLine(len(found) + 2, at, False, record))

    put(lines.CheckRecord(names[0], "x", "before", CheckRun(CheckState.PASSED, 0, step)), step)
    for turn in range(1, turns + 1):
        put(lines.RequestSent(turn, 1))
        usage = Usage(input=400, cache_read=1_000 * turn, output=100)
        put(lines.Response(turn, (), "tool_use", "", usage, first_token=turn / 2), step)
        for number, name in enumerate(names):
            put(lines.CallStarted(turn, f"{turn}-{number}", name))
            put(lines.Result(turn, f"{turn}-{number}", name, ""), step)
    return JournalFile(header, tuple(found), everything=tuple(found))


def blocks(markdown: str) -> list[str]:
    return re.findall(r"^```mermaid\n(.*?)\n```$", markdown, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def said() -> dict[str, list[str]]:
    """What Mermaid's parser says of each journal's charts, and of a chart that is none; one process for all."""
    source = package_file(
        "mermaid",
        "11.12.0",
        "dist/mermaid.min.js",
        "07e37dfa97b337ccc85365d57eddf99b9706f09db3b59b260d0333b23b343c4b",
    )
    given = {
        "two turns": blocks(charts(journal(2, ["bash", "view"]))),
        "hostile": blocks(charts(journal(3, HOSTILE))),
        "two thousand turns": blocks(charts(journal(2_000, ["bash"]))),
        "no time at all": blocks(charts(journal(2, ["bash"], step=0.0))),
        "beyond a day": blocks(charts(journal(2, ["bash"], step=1e300))),
        "none": ["gantt\n  nonsense"],
    }
    script = Path(__file__).parents[1] / "support" / "mermaid.mjs"
    done = subprocess.run(
        ["node", str(script), str(source)],
        input=json.dumps([chart for one in given.values() for chart in one]),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answers = iter(json.loads(done.stdout))
    return {name: [next(answers) for _ in one] for name, one in given.items()}


@pytest.mark.node
def test_mermaid_takes_every_chart(said: dict[str, list[str]]) -> None:
    assert said.pop("none")[0].startswith("error: ")
    assert said.pop("no time at all") == ["xychart"]
    assert said.pop("beyond a day") == ["xychart", "gantt"]
    assert len(said) == 3
    assert {tuple(kinds) for kinds in said.values()} == {("xychart", "gantt")}


@pytest.mark.parametrize("name", HOSTILE[1:])
def test_a_hostile_name_stays_a_label_of_letters(name: str) -> None:
    plain, hostile = charts(journal(2, ["bash"])), charts(journal(2, [name]))
    assert len(hostile.splitlines()) == len(plain.splitlines())
    for line in blocks(hostile)[1].splitlines()[3:]:
        assert re.fullmatch(r"    (section \w+|(turn \d+|before)[A-Za-z0-9_. -]* :\d+, \d+)", line)


def test_a_chart_is_small_however_long_the_run_was_and_says_that_it_shows_a_part() -> None:
    text = charts(journal(2_000, ["bash"]))
    assert len(text) < 4_000
    assert "the longest 21 of 4001" in text
    assert "bar [34400, " in text


def test_a_run_of_one_turn_has_no_curve() -> None:
    assert "xychart" not in charts(journal(1, ["bash"]))


def test_a_journal_that_is_none_leaves_the_summary_without_charts(tmp_path: Path) -> None:
    assert charts_of(tmp_path / "none.jsonl") == ""
    (tmp_path / "bad.jsonl").write_text("{\n")
    assert charts_of(tmp_path / "bad.jsonl") == ""
    assert "xychart-beta" in run_summary(EVIDENCE, charts=charts_of(RECORDING))


@pytest.mark.slow
def test_the_whole_is_far_below_the_limit() -> None:
    from tests.publish.test_body import everything_at_its_longest

    text = run_summary(everything_at_its_longest(), charts=charts(journal(2_000, HOSTILE)))
    assert len(text.encode()) < SUMMARY_LIMIT / 2


def test_the_time_to_the_first_token_is_told() -> None:
    assert "Time to the first token: median 1.0 s, at most 1.5 s." in charts(journal(3, ["bash"]))
    assert "first token" not in charts(journal(1, ["bash"])._replace(lines=journal(1, ["bash"]).lines[:1]))
