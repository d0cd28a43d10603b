"""The HTML page: what it shows of a journal, and that nothing in a journal can act in it."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bot.agent.journal import read_journal
from bot.contracts.journal import (
    BudgetChanged,
    CallStarted,
    CheckRecord,
    Evidence,
    FilesChanged,
    FileVersion,
    Note,
    PermissionDecision,
    ProviderRetry,
    Question,
    Record,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
    UserText,
)
from bot.contracts.messages import Text, Thinking, ToolCall, Usage
from bot.contracts.outcome import CheckRun, CheckState
from bot.report.build_timeline import build_timeline
from bot.report.page import render_page
from tests.support.report_runs import write

DIFF = """--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def mean(xs):
-    return sum(xs)
+    return sum(xs) / len(xs)
"""
EDIT = {
    "path": "calc.py", "diff": DIFF, "before_hash": "1" * 64, "after_hash": "2" * 64, "additions": 1, "removals": 1,
}  # fmt: skip
FAILED = CheckRun(CheckState.FAILED, 1, 0.4, "AssertionError: 6 != 2")
RUN: tuple[Record, ...] = (
    UserText(0, "Please fix the mean."),
    CheckRecord("tests", "python3 -m unittest", "before", FAILED),
    RequestSent(1, 1),
    ProviderRetry(1, 1, 2.5, "the server is overloaded (529)"),
    Response(
        1,
        (
            Thinking("Where is the division?", "sig"),
            Text("I will divide."),
            ToolCall("c1", "edit", '{"path": "calc.py", "new": "a\\nb"}'),
            ToolCall("c2", "bash", '{"command": "rm -rf ."}'),
            ToolCall("c3", "bash", '{"command": "touch made"}'),
        ),
        "tool_use",
        "tool_use",
        Usage(1200, 300, 40, 77),
        0.0123,
    ),
    BudgetChanged(1, Usage(1200, 300, 40, 77), 0.0123),
    CallStarted(1, "c1", "edit"),
    PermissionDecision("edit", True, "", "", "c1"),
    Question("edit", (("calc.py", "change"),), DIFF),
    PermissionDecision("edit", True, "write-code", "", "", "calc.py"),
    Result(1, "c1", "edit", "Edited calc.py.", metadata=EDIT, duration=0.01),
    CallStarted(1, "c2", "bash"),
    PermissionDecision("bash", False, "no-deleting", "use git instead", "c2"),
    Result(1, "c2", "bash", "Denied by rule no-deleting.", is_error=True, executed=False, denied=True),
    CallStarted(1, "c3", "bash"),
    Result(1, "c3", "bash", "", metadata={"exit_code": 0}, duration=1.5),
    FilesChanged(1, (FileVersion("made", None, "aa", content=b"new\n"),), "c3"),
    UserText(1, "The check still fails.", "host"),
    RequestSent(2, 4),
    Response(2, (Text("Done."),), "end_turn", "stop_sequence", Usage(100, 1500, 0, 5), 0.002),
    CheckRecord("tests", "python3 -m unittest", "after", CheckRun(CheckState.PASSED, 0, 0.3)),
    Note("History was not fetched."),
    SessionEnded("end_turn", "", 2, Usage(1300, 1800, 40, 82), 0.0143),
    RunEnded("changed", "end_turn", "", "ab" * 32),
)


def page_of(tmp_path: Path, *records: Record) -> str:
    return render_page(write(tmp_path / "journal.jsonl", records))


class _Reader(HTMLParser):
    """Tags with attributes, and the text a browser would show."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader


HALF = (Text("Half"), ToolCall("c1", "bash", '{"comm', complete=False))
FAILED_RESPONSE = ResponseFailed(1, "the stream ended early", None, False, HALF, Usage(5), 0.1)


OF_RUN = [
    # Who asked for what, and how it ended.
    "59.7 seconds are shown as 60s",
    "this issue",
    "mira-okafor (maintainer)",
    "#12",
    "octo/tidytime at 4f2a",
    "changed (end turn)",
    "anthropic/claude-sonnet-5-5",
    "bubblewrap 0.8.0",
    "History was not fetched.",
    # Every turn with its calls and results.
    "Where is the division?",
    "I will divide.",
    "path: calc.py",
    "newa b",
    "Edited calc.py.",
    "Sent again after 2.5 s: the server is overloaded (529)",
    "end_turn (stop_sequence)",
    # What was decided of each call, by which rule.
    "allowed by rule write-code for calc.py",
    "denied by rule no-deleting – use git instead",
    "allowed no rule forbids it",
    # Checks, usage and cost.
    "✓ python3 -m unittest fixed failed, exit 1, 0.4 s passed, exit 0, 0.3 s",
    "Output of python3 -m unittest before the change AssertionError: 6 != 2",
    "1,617 tokens, 19 % of the input from cache, $0.0123",
    "1,605 tokens, 93 % of the input from cache",
    "$0.0143, 2 turns",
    "1,300 tokens read, 1,800 from cache, 40 into cache, 82 written",
]


@pytest.mark.parametrize(
    ("records", "shown"),
    [
        (RUN, OF_RUN),
        # Runs that were killed, and answers that failed or were cut.
        ((RequestSent(1, 1),), ["The run did not end", "no answer: the run ended here"]),
        ((RequestSent(1, 1), FAILED_RESPONSE), ["Failed: the stream ended early", "Half"]),
        ((FAILED_RESPONSE,), ['{"comm', "The call was cut off and not run."]),
    ],
)
def test_the_page_shows(tmp_path: Path, records: tuple[Record, ...], shown: list[str]):
    text = " ".join(read(page_of(tmp_path, *records)).text.split())
    assert [part for part in shown if part not in text] == []


def test_the_page_shows_turns_in_order_and_each_decision_once(tmp_path: Path):
    text = read(page_of(tmp_path, *RUN)).text
    assert text.count("Decision") == 3
    text = text[text.rindex("What happened") :]
    assert text.index("Turn 1") < text.index("The check still fails.") < text.index("Turn 2")


@pytest.mark.parametrize(("stop", "colour"), [("end_turn", "good"), ("checks_failing", "bad")])
def test_a_change_with_a_failing_check_does_not_look_good(tmp_path: Path, stop: str, colour: str):
    page = page_of(tmp_path, RunEnded("changed", stop, "", "ab" * 32))
    assert f'<b class="{colour}">Changed</b>' in page


def test_files_of_edits_and_of_commands_are_listed_with_their_lines(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    page_of(tmp_path, *RUN)
    files = build_timeline(read_journal(path)).files
    shown = {name: (row.additions, row.removals, row.tools) for name, row in files.items()}
    assert shown == {"calc.py": (1, 1, ["edit"]), "made": (0, 0, ["bash"])}


def test_the_page_lets_in_only_its_own_style_and_script(tmp_path: Path):
    page = page_of(tmp_path, *RUN)
    reader = read(page)
    policy = next(attributes["content"] for tag, attributes in reader.tags if attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [content] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not [attributes for _, attributes in reader.tags if "src" in attributes or "style" in attributes]
    assert "@import" not in page
    assert "url(" not in page


def test_a_thread_links_to_github(tmp_path: Path):
    links = [attributes for tag, attributes in read(page_of(tmp_path, *RUN)).tags if tag == "a"]
    outside = [link["href"] for link in links if not str(link["href"]).startswith("#")]
    assert outside == ["https://github.com/octo/tidytime/issues/12"]


def test_what_to_look_at_first_is_on_the_first_screen(tmp_path: Path):
    page = page_of(tmp_path, Evidence(look_first=("`a\\_b.py`: can change <b> what tests report",)))
    first = page[page.index('id="summary"') : page.index("</section>")]
    assert "<h2>Look at first</h2>" in first
    assert "can change &lt;b&gt; what tests report" in first
