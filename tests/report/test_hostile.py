"""Nothing in a journal can act in its page: not one field of one kind of line, no character, no size, no cut."""

import re
import sys
from pathlib import Path

import pytest

from bot.agent.journal import JournalFile, JournalLine
from bot.contracts.evidence import Answer, CheckerComparison, Problem, Severity, ToolRun
from bot.contracts.journal import (
    CallStarted,
    DiagnosticsRecord,
    Evidence,
    FilesChanged,
    FileVersion,
    Note,
    PermissionDecision,
    Record,
    RequestSent,
    Response,
    Result,
    RunEnded,
)
from bot.contracts.messages import Text, ToolCall, Usage
from bot.report.build_timeline import build_timeline
from bot.report.page import render_page
from tests.report.test_page import read
from tests.support.hostile_journal import hostile_journal
from tests.support.report_runs import HEADER, sample, write


def tags_of(page: str) -> set[tuple[str, str]]:
    return {(tag, name) for tag, attributes in read(page).tags for name in ("", *attributes)}


OLDER = (Evidence, RunEnded)


@pytest.mark.parametrize("less", [(), OLDER], ids=["whole", "older"])
def test_a_script_in_every_field_of_every_kind_of_line_adds_no_tag_and_no_attribute(
    tmp_path: Path, less: tuple[type, ...]
):
    hostile = render_page(hostile_journal(tmp_path / "hostile.jsonl", less=less))
    harmless = render_page(
        hostile_journal(tmp_path / "harmless.jsonl", lambda name: f"harmless {name}", less)
    )
    assert tags_of(hostile) == tags_of(harmless)
    assert hostile.count("<script>") == 1
    for tag, attributes in read(hostile).tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert str(attributes.get("href", "#")).startswith("#"), attributes
        assert "src" not in attributes or str(attributes["src"]).startswith("data:image/"), attributes


NOT_SHOWN = re.compile(
    r"Header\.(request|tools|info)|parts\.(Image|ToolResult)|\.extra\b|signature$|redacted$|digest$|sha$|images\.data$"
    r"|files\.(before|after|before_content|content)$|(PermissionDecision|Question)\.tool$|Result\.name$"
    r"|counts|reasons|^(call_)?id$|^agent$|metadata\.(key|value)$"
    # A check goes by its command; a note is for a run that did not pass.
    r"|(checks|CheckRecord)\.name$|checks\.(before|after)\.note$|run\.note$|tests\.(newly_flaky|source)$"
    r"|Evidence\.diagnostics\.\w+\.snippet$"
)


def test_what_a_journal_says_is_shown_with_few_exceptions(tmp_path: Path):
    """Also that the attack above reaches the page at all: a field that is left out proves nothing."""
    names: set[str] = set()

    def named(name: str) -> str:
        names.add(name.replace("_", " "))
        return f"<b>[{name}]"

    told = "".join(
        read(render_page(hostile_journal(tmp_path / f"{len(less)}.jsonl", named, less))).text
        for less in ((), OLDER)
    ).replace("_", " ")
    left_out = {name for name in names if f"<b>[{name}]" not in told}
    assert not [name for name in left_out if not NOT_SHOWN.search(name.replace(" ", "_"))]
    assert len(names) - len(left_out) > 100


def test_characters_that_hide_or_turn_text_around_are_made_visible(tmp_path: Path):
    said = "safe\u202eevil\u2066\u200b\x1b[31m\x00 ok ✓ é"
    path = write(tmp_path / "journal.jsonl", (Note(said), RequestSent(1, 1), Result(1, said, said, said)))
    page = render_page(path)
    assert page.count("safe\\u202eevil\\u2066\\u200b\\x1b[31m\\x00 ok ✓ é") >= 3
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x00\x1b]", page)


def test_half_a_surrogate_pair_is_shown_as_what_it_is(tmp_path: Path):
    path = write(tmp_path / "journal.jsonl", (Note("here"),))
    path.write_text(path.read_text().replace('"here"', '"a\\ud800b"'))
    page = render_page(path)
    assert "a\\ud800b" in page
    page.encode("utf-8")


def test_an_output_of_ten_megabytes_is_capped(tmp_path: Path):
    outputs = [Result(1, f"c{number}", "bash", "x" * 5_000_000) for number in range(2)]
    page = render_page(write(tmp_path / "journal.jsonl", (RequestSent(1, 1), *outputs)))
    assert len(page) < 200_000
    assert "4,976,000 characters are left out here" in page


@pytest.mark.slow
def test_many_outputs_are_each_shown_shorter(tmp_path: Path):
    outputs = [Result(1, f"c{number}", "bash", "x" * 12_000) for number in range(1_300)]
    page = render_page(write(tmp_path / "journal.jsonl", (RequestSent(1, 1), *outputs)))
    assert page.count("6,000 characters are left out here") == 1_300


def test_of_ten_thousand_problems_the_worst_are_shown_and_all_are_counted(tmp_path: Path):
    errors = {9_999: Severity.ERROR}
    many = tuple(
        Problem("ruff", f"f{number}.py", 1, 1, errors.get(number, Severity.WARNING), "F401", "unused")
        for number in range(10_000)
    )
    run = ToolRun(Answer.COMPLETE, 10_000, 0.1)
    told = Evidence(diagnostics=(CheckerComparison("ruff", "1", "ruff check", run, run, many, (), 10_000),))
    while_editing = DiagnosticsRecord(1, "c1", (("ruff", "complete"),), many, 10_000)
    page = render_page(write(tmp_path / "journal.jsonl", (CallStarted(1, "c1", "edit"), while_editing, told)))
    assert len(page) < 400_000
    assert "10,000 new problems" in page
    assert "and 9,800 more" in page
    assert "9,950 more" in page
    assert page.index("f9999.py") < page.index("f10.py", page.index('id="evidence"'))


def test_numbers_that_nobody_can_have_counted_do_no_harm(tmp_path: Path):
    path = write(
        tmp_path / "journal.jsonl",
        (RequestSent(1, 1), Response(1, (Text("x"),), "end_turn", "", Usage(7_777), 8.8)),
    )
    text = path.read_text()
    for number in ("1e999", "NaN", "-Infinity", "9" * 400, "-5"):
        for known in ('"input":7777', '"cost":8.8', '"at":0.5'):
            path.write_text(text.replace(known, f"{known.partition(':')[0]}:{number}"))
            assert number in path.read_text()
            page = render_page(path)
            assert "Turn 1" in page
            assert not re.search(r"\b(inf|nan)\b", page.partition("<script>")[0])


def test_a_journal_may_be_cut_anywhere(tmp_path: Path):
    whole = sample(tmp_path / "whole.jsonl").read_bytes()
    head = whole.index(b"\n") + 1
    path = tmp_path / "cut.jsonl"
    for end in range(head, len(whole), (len(whole) - head) // 8):
        path.write_bytes(whole[:end])
        page = render_page(path)
        is_between_lines = b"\n" in whole[end - 1 : end + 1]
        assert ("could not be read" in page) is not is_between_lines
    path.write_bytes(whole[: head + 300] + b"\n" + whole[head + 2_000 :])
    assert "could not be read" in render_page(path)


def test_a_journal_without_evidence_shows_its_checks(tmp_path: Path):
    path = sample(tmp_path / "journal.jsonl")
    older = [line for line in path.read_text().splitlines() if '"type":"evidence"' not in line]
    path.write_text("\n".join(older) + "\n")
    text = " ".join(read(render_page(path)).text.split())
    assert "failed, exit 1, 1.4 s" in text
    assert "passed, exit 0, 1.2 s" in text


def busy(turns: int) -> JournalFile:
    """So many turns with a permitted call each, and as many files changed by the last."""
    records: list[Record] = []
    for turn in range(1, turns + 1):
        name = f"c{turn}"
        call = ToolCall(name, "bash", "{}")
        records += [RequestSent(turn, 1), Response(turn, (call,), "tool_use", "")]
        records.append(CallStarted(turn, name, "bash"))
        records += [PermissionDecision("bash", True, "", "", name), Result(turn, name, "bash", "x")]
    files = tuple(FileVersion(f"f{file}", None, "a" * 64, content=b"x\n") for file in range(turns))
    records.append(FilesChanged(turns, files, f"c{turns}"))
    lines = tuple(JournalLine(0.0, record) for record in records)
    return JournalFile(HEADER, lines, lines)


def test_ten_times_the_turns_take_no_hundred_times_the_work():
    """Counted, not timed: how many lines of Python are run, each round of a loop being one."""

    def work(turns: int) -> int:
        journal = busy(turns)
        count = 0

        def traced(frame: object, event: str, argument: object) -> object:
            nonlocal count
            count += 1
            return traced

        before = sys.gettrace()
        sys.settrace(traced)  # type: ignore[arg-type]
        try:
            build_timeline(journal)
        finally:
            sys.settrace(before)
        return count

    assert work(300) < 13 * work(30)
