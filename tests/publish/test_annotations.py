"""New problems on the lines of a pull request: a neutral check run on a forge, made once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from github.CheckRun import CheckRun

from bot.contracts.evidence import Answer, CheckerComparison, Problem, Severity, ToolRun
from bot.contracts.pulls import Annotation
from bot.contracts.threads import Account
from bot.publish.check_run import MOST, NAME, CheckReport, is_by_us, on_lines, post_check_run
from bot.review.diff import parse_diff
from tests.publish.conftest import REPO, World
from tests.support.outcomes import problem

EVIL = "x | y\n\n@octo/team ![a](https://evil.test/a) <!-- slash-agent --> Closes #1 \x1b[2J"


def checkers(*new: Problem, number: int = 0) -> tuple[CheckerComparison, ...]:
    run = ToolRun(Answer.COMPLETE, 9, 0.1)
    return (CheckerComparison("ruff", "1", "ruff", run, run, new=new, new_count=number or len(new)),)


def check_token(world: World, **more: str) -> str:
    permissions: dict[str, Any] = {"contents": "write", "issues": "write", "pull_requests": "write", **more}
    return world.forge.token(permissions=permissions, repo=REPO)


def runs(world: World, sha: str) -> list[dict[str, Any]]:
    token = check_token(world, checks="write")
    requester = world.github(token).requester
    _, data = requester.requestJsonAndCheck("GET", f"/repos/{REPO}/commits/{sha}/check-runs")
    for run in data["check_runs"]:
        path = f"/repos/{REPO}/check-runs/{run['id']}/annotations?per_page=100"
        _, run["remarks"] = requester.requestJsonAndCheck("GET", path)
    return list(data["check_runs"])


@pytest.mark.slow
def test_a_new_problem_is_an_annotation_on_its_line_once_however_often_it_is_published(world: World) -> None:
    new = (
        problem(2, severity=Severity.ERROR, message=EVIL, code=EVIL),
        problem(99, message="far away"),
        problem(1, path="README.md", message="of a file that did not change"),
    )
    bundle = world.bundle(diagnostics=checkers(*new))
    token = check_token(world, checks="write")
    published = world.publish(bundle, token=token)
    again = world.publish(bundle, token=token)
    assert published.notes == again.notes == ()
    (run,) = runs(world, published.commit)
    assert (run["name"], run["conclusion"]) == (NAME, "neutral")
    assert run["output"]["title"] == "3 new problems, 1 on lines of the diff"
    (remark,) = run["remarks"]
    assert (remark["path"], remark["start_line"], remark["annotation_level"]) == ("invoice.py", 2, "failure")
    for text in (remark["message"], remark["title"], run["output"]["summary"]):
        assert "\x1b" not in text
        assert "@octo" not in text
        assert "<!--" not in text.replace("\\<!--", "")
        assert "Closes #1" not in text
    assert "\n" not in remark["title"]
    assert "far away" in run["output"]["summary"]


@pytest.mark.slow
def test_a_token_that_may_not_annotate_leaves_a_note_and_the_pull_request(world: World) -> None:
    published = world.publish(world.bundle(diagnostics=checkers(problem(2))))
    assert published.pr_number
    (note,) = published.notes
    assert "`checks: write`" in note
    assert "`invoice.py:2` ruff F401" in world.pulls()[0]["body"]


def test_a_check_run_that_another_app_made_beforehand_is_not_taken_for_ours(world: World) -> None:
    remarks = [Annotation("invoice.py", 1, "warning", "remark")]
    one = CheckReport(NAME, world.base_sha, "1 new problem", "s", remarks, "key")
    world.forge.add_user("some-ci[bot]", kind="Bot")
    granted: dict[str, Any] = {"checks": "write", "contents": "read"}
    other = world.github(world.forge.token("some-ci[bot]", granted, repo=REPO))
    assert post_check_run(other, REPO, one) == ()
    host = world.github(check_token(world, checks="write"))
    assert post_check_run(host, REPO, one) == post_check_run(host, REPO, one) == ()
    assert [run["app"]["slug"] for run in runs(world, world.base_sha)] == ["github-actions", "some-ci"]


@pytest.mark.parametrize(
    ("app", "me", "ours"),
    [
        ("slash-agent", Account("slash-agent[bot]", 7, "Bot"), True),
        ("github-actions", Account("slash-agent[bot]", 7, "Bot"), False),
        ("slash-agent", None, False),
        ("", Account("[bot]", 7, "Bot"), False),
        ("github-actions", Account("ann", 8, "User"), True),
        ("ann", Account("ann", 8, "User"), False),
    ],
)
def test_whose_a_check_run_is(app: str, me: Account | None, ours: bool) -> None:
    run = SimpleNamespace(app=SimpleNamespace(slug=app) if app else None)
    assert is_by_us(cast(CheckRun, run), me) is ours


DIFF = b"""\
diff --git a/a.py b/a.py
index 1111111..2222222 100644
--- a/a.py
+++ b/a.py
@@ -10,3 +10,4 @@
 one
+two
 three
 four
diff --git a/old.py b/old.py
deleted file mode 100644
index 1111111..0000000
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


def test_only_lines_that_the_diff_shows_are_annotated() -> None:
    found = [problem(line, path="a.py") for line in (0, 9, 10, 11, 13, 14)]
    found += [problem(1, path="old.py"), problem(1, path="../a.py"), problem(11, path="b.py")]
    assert [one.line for one in on_lines(found, parse_diff(DIFF))] == [10, 11, 13]
    assert MOST <= 200


def test_a_dry_run_says_what_it_would_annotate(world: World) -> None:
    world.publish(world.bundle(diagnostics=checkers(problem(2))), dry_run=True)
    assert any(f"report the check '{NAME}'" in line and "invoice.py:2" in line for line in world.said)
    assert not [line for line in world.writes() if "check-runs" in line]
