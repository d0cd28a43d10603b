"""The first screen: what was asked, what changed, for the reviewer, the change itself. And how large a page may be."""

import hashlib
import json
from pathlib import Path

import pytest

from bot.contracts.journal import FilesChanged, FileVersion, RequestSent, Response, Result, RunEnded
from bot.contracts.messages import ToolCall
from bot.report.page import LARGEST, render_page
from bot.report.text import markdown, markdown_line
from tests.report.test_page import read
from tests.support.report_runs import DESCRIPTION, PATCH, sample, write


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
