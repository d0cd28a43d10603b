"""The HTML page: what it shows of a journal, and that nothing in a journal can act in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bot.agent.journal import Journal, read_journal
from bot.contracts.journal import (
    AgentStarted,
    CompactionRecord,
    Evidence,
    FilesChanged,
    FileVersion,
    Record,
    RequestSent,
    Response,
    ResponseFailed,
    Result,
    RunEnded,
    SessionEnded,
    UserText,
)
from bot.contracts.messages import Text, ToolCall, Usage
from bot.report.build_timeline import build_timeline
from bot.report.page import LARGEST, render_page
from bot.report.text import markdown, markdown_line
from bot.report.timeline import counts
from tests.support.report_runs import DESCRIPTION, PATCH, sample, write
from tests.support.sessions import header


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


SAMPLE = [
    # Who asked for what, and how it ended.
    "59.7 seconds are shown as 60s",
    "this issue",
    "mira-okafor (maintainer)",
    "#12",
    "octo/tidytime at 4f2a",
    "changed (end turn)",
    "anthropic/claude-sonnet-5-5",
    "bubblewrap 0.8.0",
    "The history of the repository was not fetched.",
    # Every turn with its calls and results.
    "The seconds are rounded after the larger units were split off, perhaps.",
    "I'll reproduce the problem first",
    "path: tidytime/format.py",
    "tail -n 4 git diff --stat",
    "Edited tidytime/format.py.",
    "Sent again after 2.0 s: the server is overloaded (529)",
    # What was decided of each call, by which rule.
    "allowed by rule source-files for tidytime/format.py",
    "denied by rule no-pushing – what leaves goes through the gate",
    "allowed no rule forbids it",
    # Checks, usage and cost.
    "✓ python3 -m unittest 1 flaky, 1 fixed, 2 appeared failed (1 of 23), exit 1, 1.4 s passed (24, 1 skipped)",
    "Output of python3 -m unittest before the change FAILED (failures=1)",
    "10,140 tokens, 86 % of the input from cache, $0.0126",
    # The files of edits and of commands.
    "tidytime/format.py +2 −5 by edit",
    "notes.txt by bash",
]
ENDED = (
    Response(1, (Text("Done."),), "end_turn", "stop_sequence", Usage(1300, 1800, 40, 82), 0.0143),
    SessionEnded("end_turn", "", 1, Usage(1300, 1800, 40, 82), 0.0143),
)
SPENT = [
    "end_turn (stop_sequence)",
    "$0.0143, 1 turn",
    "1,300 tokens read, 1,800 from cache, 40 into cache, 82 written",
]


@pytest.fixture
def sample_page(tmp_path: Path) -> str:
    return render_page(sample(tmp_path / "journal.jsonl"))


def shown_by(page: str) -> str:
    return " ".join(read(page).text.split())


def test_the_page_shows_who_asked_what_was_done_and_decided_and_what_it_came_to(sample_page: str):
    text = shown_by(sample_page)
    assert [part for part in SAMPLE if part not in text] == []


@pytest.mark.parametrize(
    ("records", "shown"),
    [
        (ENDED, SPENT),
        # Runs that were killed, and answers that failed or were cut.
        ((RequestSent(1, 1),), ["The run did not end", "no answer: the run ended here"]),
        ((RequestSent(1, 1), FAILED_RESPONSE), ["Failed: the stream ended early", "Half"]),
        ((FAILED_RESPONSE,), ['{"comm', "The call was cut off and not run."]),
    ],
)
def test_the_page_shows(tmp_path: Path, records: tuple[Record, ...], shown: list[str]):
    text = shown_by(page_of(tmp_path, *records))
    assert [part for part in shown if part not in text] == []


def test_the_page_shows_turns_in_order_and_each_decision_once(sample_page: str):
    text = read(sample_page).text
    assert text.count("Decision") == 11
    text = text[text.rindex("What happened") :]
    assert text.index("Turn 3") < text.index("The check tests still fails") < text.index("Turn 4")


@pytest.mark.parametrize(("stop", "colour"), [("end_turn", "good"), ("checks_failing", "bad")])
def test_a_change_with_a_failing_check_does_not_look_good(tmp_path: Path, stop: str, colour: str):
    page = page_of(tmp_path, RunEnded("changed", stop, "", "ab" * 32))
    assert f'<b class="{colour}">Changed</b>' in page


def test_the_page_lets_in_only_its_own_style_and_script(tmp_path: Path):
    page = page_of(tmp_path, *ENDED)
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


def test_a_thread_links_to_github(sample_page: str):
    links = [attributes for tag, attributes in read(sample_page).tags if tag == "a"]
    outside = [link["href"] for link in links if not str(link["href"]).startswith("#")]
    assert outside == ["https://github.com/octo/tidytime/issues/12"]


def test_what_to_look_at_first_is_on_the_first_screen(tmp_path: Path):
    page = page_of(tmp_path, Evidence(look_first=("`a\\_b.py`: can change <b> what tests report",)))
    first = page[page.index('id="summary"') : page.index("</section>")]
    assert "<h2>Look at first</h2>" in first
    assert "can change &lt;b&gt; what tests report" in first


# Files, subagents and turns


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


# The first screen, and how large a page may be


def spoken(page: str) -> str:
    return " ".join(read(page).text.split())


def test_title_summary_notes_and_net_counts_come_before_any_step(tmp_path: Path):
    text = spoken(render_page(sample(tmp_path / "journal.jsonl")))
    first = text[text.index("fix issue #12") : text.index("What happened", text.index("EvidenceChange"))]
    for part in (
        DESCRIPTION["title"],
        "59.7 seconds are shown as 60s, not as 1m",
        "Changed: 2 files, +7 −6",
        "24 of 24 tests pass",
        "format_duration rounded only the seconds",
        "For the reviewer",
        "half-to-even",
        "tidytime/format.py +2 −5",
    ):
        assert part in first, part
    assert "`60s`" not in first
    # Also in the list of files: the edits of one add up to more than what is published of it.
    assert first.count("tidytime/format.py +2 −5") == 2
    assert (
        first.index("For the reviewer") < first.index("tidytime/format.py +2") < first.index("EvidenceChange")
    )


def test_a_change_that_nothing_verifies_is_called_so_beside_its_status(tmp_path: Path):
    changed = FilesChanged(1, (FileVersion("a.py", None, "bb", content=b"x\n"),), "c1")
    ended = RunEnded("changed", "end_turn", "The model ended its turn.", "")
    text = spoken(render_page(write(tmp_path / "journal.jsonl", (RequestSent(1, 1), changed, ended))))
    assert "Changed, not verified" in text
    assert "No test was run" in text


def test_a_patch_that_the_journal_does_not_name_is_not_shown(tmp_path: Path):
    journal = sample(tmp_path / "journal.jsonl")
    journal.with_name("changes.patch").write_bytes(PATCH + b"\n")
    assert "The change" not in spoken(render_page(journal))


def test_a_finding_shows_its_code_and_what_it_should_become(tmp_path: Path):
    told = {
        "path": "stats.py", "line": 2, "severity": "major", "kind": "crash", "title": "Fails on `[]`",
        "body": "No values, no **mean**.",
        "suggestion": "    return sum(values) / max(len(values), 1)\n",
    }  # fmt: skip
    code = "    return sum(values) / len(values)\n"
    noted = {"path": "stats.py", "line": 2, "severity": "major", "title": "Fails on `[]`", "code": code}
    page = render_page(
        write(
            tmp_path / "journal.jsonl",
            (
                RequestSent(1, 1),
                Response(1, (ToolCall("c1", "report_finding", json.dumps(told)),), "tool_use", ""),
                Result(1, "c1", "report_finding", "Noted.", metadata=noted),
            ),
        )
    )
    findings = page[page.index('id="findings"') : page.index('id="evidence"')]
    assert '<div class="row del" data-old="2"><code>-    ' in findings
    assert '<div class="row add" data-new="2"><code>+    ' in findings
    assert "Fails on <code>[]</code>" in findings
    assert "no <strong>mean</strong>" in findings
    assert "How grave" not in page


def test_bytecode_is_no_file_of_the_run(tmp_path: Path):
    version = FileVersion("__pycache__/a.cpython-312.pyc", None, "aa", content=b"x")
    changed = FilesChanged(1, (version, FileVersion("a.py", None, "bb", content=b"x\n")), "c1")
    page = render_page(write(tmp_path / "journal.jsonl", (RequestSent(1, 1), changed)))
    assert "a.py" in page
    assert "__pycache__" not in page


@pytest.mark.parametrize("long_names", [False, True])
@pytest.mark.slow
def test_a_page_has_at_most_ten_megabytes_and_counts_the_rest(tmp_path: Path, long_names: bool):
    name = "d/" + "n" * 200 if long_names else "n"
    text = b"x = 1\n" * 160
    turns = range(1, 101 if not long_names else 2)
    records: list[RequestSent | FilesChanged] = []
    for turn in turns:
        many = 5_000 if long_names else 12
        files = tuple(FileVersion(f"{name}-{turn}-{i}", None, "aa", content=text) for i in range(many))
        records += [RequestSent(turn, 1), FilesChanged(turn, files, "")]
    page = render_page(write(tmp_path / "journal.jsonl", tuple(records)))
    assert len(page.encode()) <= LARGEST
    assert "left out to keep this page small" in page


def test_a_name_in_a_patch_that_is_markup_is_text(tmp_path: Path):
    patch = b"diff --git a/<b>.py b/<b>.py\n--- a/<b>.py\n+++ b/<b>.py\n@@ -1 +1 @@\n-a\n+<script>\n"
    ended = RunEnded("changed", "end_turn", "", hashlib.sha256(patch).hexdigest())
    page = render_page(write(tmp_path / "journal.jsonl", (RequestSent(1, 1), ended)), patch)
    assert "&lt;b&gt;.py" in page
    assert "<b>.py" not in page
    assert page.count("<script>") == 1


def test_markdown_is_code_bold_items_and_paragraphs_and_nothing_else():
    text = "Use `a`.\n\n# Why\n- **one**\n- two\n\n```py\nx = `1` < 2\n```\n"
    text += "[x](javascript:y) <i> &lt; ![x](http://a) \u202e"
    assert markdown(text) == (
        "<p>Use <code>a</code>.</p>\n<p><b>Why</b></p>\n<ul>\n<li><strong>one</strong></li>\n<li>two</li>\n</ul>\n"
        '<pre class="code" tabindex="0">x = `1` &lt; 2\n</pre>\n'
        "<p>[x](javascript:y) &lt;i&gt; &amp;lt; ![x](http://a) \\u202e</p>\n"
    )
    assert markdown_line("# `a` <b>\n- *x*") == "# <code>a</code> &lt;b&gt;<br>\n- <em>x</em>"
