"""What failed on a commit, and check runs of our own."""

from typing import Any

import pytest
import responses

from bot.contracts.pulls import Annotation
from bot.github.checks import DETAILED
from tests.github.test_check_logs import LOG
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
