"""The HTML page: what it shows of a journal, and that nothing in a journal can act in it."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bot.contracts.journal import (
    Evidence,
    Record,
    RequestSent,
    Response,
    ResponseFailed,
    RunEnded,
    SessionEnded,
)
from bot.contracts.messages import Text, ToolCall, Usage
from bot.report.page import render_page
from tests.support.report_runs import sample, write


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
