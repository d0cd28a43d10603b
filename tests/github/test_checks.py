"""What failed on a commit, and check runs of our own."""

import itertools
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import responses

from bot.contracts.pulls import Annotation
from bot.github.checks import DETAILED, LINE_LIMIT, LINES, MOST_STEPS, failed_steps, lines_of
from tests.support.tables import REPO, Client, next_page

SHA = "a" * 40
CHECKS = f"{REPO}/commits/{SHA}/check-runs"
Web = responses.RequestsMock


def check(number: int, conclusion: str | None = "failure", **fields: Any) -> dict[str, Any]:
    return {
        "id": number, "name": f"check {number}", "status": "completed", "conclusion": conclusion,
        "html_url": f"https://x/{number}", "details_url": f"https://x/octo/hello/actions/runs/1/job/{number}",
        "app": {"slug": "github-actions"}, "output": {"title": None, "summary": None, "annotations_count": 0},
        **fields,
    }  # fmt: skip


def runs(*found: dict[str, Any]) -> dict[str, Any]:
    return {"total_count": len(found), "check_runs": list(found)}


def test_a_failed_job_with_its_annotations_and_the_log_of_its_failed_step(web: Web, client: Client):
    output = {"title": "Tests", "summary": "1 failed", "annotations_count": 2}
    web.get(CHECKS, json=runs(check(1, "success"), check(2, output=output), check(3, None)))
    rows = [
        {"path": "a.py", "start_line": 3, "annotation_level": "failure", "message": "boom", "title": "T"},
        {"path": ".github", "start_line": 1, "annotation_level": "warning", "message": "old", "title": None},
    ]
    web.get(f"{REPO}/check-runs/2/annotations", json=rows)
    web.get(f"{REPO}/actions/jobs/2/logs", body=LOG)
    (found,) = client.github.failed_checks(SHA)
    assert (found.name, found.conclusion) == ("check 2", "failure")
    assert (found.url, found.summary) == ("https://x/2", "Tests\n\n1 failed")
    boom, old = Annotation("a.py", 3, "failure", "T: boom"), Annotation(".github", 1, "warning", "old")
    assert found.annotations == (boom, old)
    assert [step.name for step in found.steps] == ["make test", "./report.sh"]
    assert found.steps[0].log.endswith("Error: Process completed with exit code 2.")
    assert len(web.calls) == 3


@pytest.mark.parametrize("conclusion", ["success", "neutral", "skipped", "cancelled", "stale"])
def test_what_did_not_fail_is_no_failure(web: Web, client: Client, conclusion: str):
    web.get(CHECKS, json=runs(check(1, conclusion)))
    assert client.github.failed_checks(SHA) == []


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "startup_failure", "action_required"])
def test_a_check_of_another_app_has_no_log(web: Web, client: Client, conclusion: str):
    web.get(CHECKS, json=runs(check(1, conclusion, app={"slug": "other-ci"})))
    (found,) = client.github.failed_checks(SHA)
    assert (found.conclusion, found.steps) == (conclusion, ())
    assert len(web.calls) == 1


@pytest.mark.parametrize(("status", "said"), [(410, "it no longer exists"), (403, "does not allow")])
def test_a_log_that_cannot_be_read_says_why(web: Web, client: Client, status: int, said: str):
    web.get(CHECKS, json=runs(check(1)))
    web.get(f"{REPO}/actions/jobs/1/logs", status=status, json={"message": "no"})
    (found,) = client.github.failed_checks(SHA)
    assert said in found.steps[0].log


def test_many_failures_are_named_and_a_few_are_read(web: Web, client: Client):
    web.get(CHECKS, json=runs(*map(check, range(1, 101))), headers=next_page(CHECKS, 2))
    web.get(CHECKS, json=runs(*map(check, range(101, 131))))
    for number in range(1, DETAILED + 1):
        web.get(f"{REPO}/actions/jobs/{number}/logs", body=LOG)
    found = client.github.failed_checks(SHA)
    assert len(found) == 130
    assert [bool(one.steps) for one in found] == [True] * DETAILED + [False] * (130 - DETAILED)
    assert len(web.calls) == 2 + DETAILED


# Their logs


LOG = """\
\ufeff2026-01-02T03:04:05.1000000Z ##[group]Run actions/checkout@v4
2026-01-02T03:04:05.2000000Z with:
2026-01-02T03:04:05.3000000Z ##[endgroup]
2026-01-02T03:04:06.0000000Z checked out
2026-01-02T03:04:06.1000000Z ##[group]Run make test
2026-01-02T03:04:06.2000000Z \x1b[36;1mmake test\x1b[0m
2026-01-02T03:04:06.3000000Z ##[endgroup]
2026-01-02T03:04:06.5000000Z ##[error]a.py: unused import
2026-01-02T03:04:07.0000000Z test_total ... \x1b[31mFAIL\x1b[0m
2026-01-02T03:04:07.1000000Z  50%\r100% done
a line that a tool wrote without a time
2026-01-02T03:04:08.0000000Z ##[warning]slow
2026-01-02T03:04:08.1000000Z ##[error]Process completed with exit code 2.
2026-01-02T03:04:08.1500000Z what the runner does after it
2026-01-02T03:04:08.2000000Z ##[group]Run ./report.sh
2026-01-02T03:04:08.3000000Z reported
2026-01-02T03:04:09.0000000Z ##[error]The report is gone
2026-01-02T03:04:09.1000000Z Post job cleanup.
"""


def log_of(text: str | bytes) -> str:
    (found,) = failed_steps([text.encode() if isinstance(text, str) else text])
    return found.log


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_step_is_what_stands_between_its_run_and_its_last_error(piece: int):
    raw = LOG.encode()
    test, report = failed_steps(raw[i : i + piece] for i in range(0, len(raw), piece))
    assert (test.name, report.name) == ("make test", "./report.sh")
    assert test.log.split("\n") == [
        "Run make test", "make test", "Error: a.py: unused import", "test_total ... FAIL", "100% done",
        "a line that a tool wrote without a time", "Warning: slow",
        "Error: Process completed with exit code 2.",
    ]  # fmt: skip
    assert report.log.split("\n") == ["Run ./report.sh", "reported", "Error: The report is gone"]


def test_of_many_steps_the_last_ones_are_kept():
    text = "".join(f"##[group]Run {n}\n##[error]bad\n" for n in range(9))
    assert [step.name for step in failed_steps([text.encode()])] == [str(n) for n in range(9)][-MOST_STEPS:]


def test_the_last_lines_are_kept_without_an_error_too():
    lines = [f"2026-01-02T03:04:07.0Z line {n}" for n in range(1000)]
    assert log_of("\n".join(lines)).split("\n") == [f"line {n}" for n in range(1000 - LINES, 1000)]
    assert failed_steps([]) == ()


def test_long_lines_are_cut_and_bytes_that_are_no_text_are_shown_as_such():
    assert len(log_of("2026-01-02T03:04:07.0Z " + "x" * 10_000_000)) <= LINE_LIMIT + 2
    assert log_of(b"2026-01-02T03:04:07.0Z \xff\x00\xc3\xa4") == "\ufffdä"


def test_a_log_ends_with_or_without_a_line_end():
    assert list(lines_of([b"a\nb"])) == list(lines_of([b"a\n", b"b\n"])) == ["a", "b"]


@pytest.mark.parametrize("piece", [b"2026-01-02T03:04:07.0Z one line\n" * 2000, b"no line end at all" * 4000])
def test_a_huge_log_is_not_held_in_memory(piece: bytes):
    def pieces() -> Iterator[bytes]:
        yield from itertools.repeat(piece, 20)

    tracemalloc.start()
    try:
        failed_steps(pieces())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < 20 * len(piece)
