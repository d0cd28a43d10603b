"""Makes the pictures of what is read on GitHub, as the forge shows it: the demo's pull request, and of a small
repository a plan, a review, an answer and a progress comment.

python -m tests.support.demo_image
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

from bot.contracts.outcome import Status
from bot.contracts.plan import Plan, PlanStep
from bot.contracts.review import Finding, Severity
from bot.maintenance.dashboard import Broken, LastResult, RepositoryPlan
from bot.maintenance.due_tasks import Caps, EndedPull, OpenPull, decide_all, group_by_task
from bot.maintenance.task import Task, TaskWrites, ThreadFilter
from bot.policy.values import MaintenancePolicy
from bot.publish.thread.markers import thread_ref_of
from bot.publish.thread.progress_writer import ProgressState, ProgressWriter
from bot.session.event.maintain import put_dashboard
from tests.publish.conftest import REPO, World, open_world
from tests.publish.reviewed import Reviewed
from tests.support.browser import chromium
from tests.support.report_images import FOLDER, smaller

_WIDTH = 1100
# Fonts without emoji show boxes in their place.
_PLAIN = {"✅": "☑", "❌": "☒", "⚪": "○"}


def main() -> None:
    command = [sys.executable, "-m", "bot", "demo", "--keep"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            pull = _pull(demo)
            with chromium() as browser:
                page = browser.new_page(viewport={"width": _WIDTH, "height": 800}, color_scheme="light")
                _goto(page, pull)
                thread = page.locator(".thread").bounding_box()
                assert thread is not None
                page.set_viewport_size({"width": _WIDTH, "height": int(thread["y"] + thread["height"])})
                (FOLDER / "pull-request.png").write_bytes(smaller(page.screenshot()))
        finally:
            demo.send_signal(signal.SIGINT)
    with chromium() as browser, tempfile.TemporaryDirectory() as folder, open_world(Path(folder)) as world:
        page = browser.new_page(viewport={"width": _WIDTH, "height": 800}, color_scheme="light")
        _progress(world)
        _last(page, world, world.issue, "progress")
        _publish(world, status=Status.PLANNED, plan=PLAN)
        _last(page, world, world.issue, "plan")
        _publish(world, status=Status.ANSWERED, answer=ANSWER)
        _last(page, world, world.issue, "answer")
        reviewed = Reviewed.begin(world)
        reviewed.publish(reviewed.bundle(FINDING))
        _goto(page, f"{world.forge.url}/{REPO}/pull/{reviewed.number}")
        _shoot(page, page.locator(".thread > *").last, "review")
        show_dashboard(page, world)


def show_dashboard(page: Page, world: World) -> None:
    results = {(REPO, task): result for task, result in RESULTS.items()}
    github = world.github()
    put_dashboard(dashboard_plan(), github, results)
    [issue] = github.issues(REPO, labels=["maintenance"])
    _goto(page, f"{world.forge.url}/{REPO}/issues/{issue.number}")
    _shoot(page, page.locator(".thread > *").first, "dashboard")


def dashboard_plan() -> RepositoryPlan:
    """A repository in which each thing happened that a dashboard tells of."""
    now = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    tasks = [
        Task("changelog", "x", "weekly"),
        Task("dead-links", "x", "daily"),
        Task("docs-drift", "x", "monthly"),
        Task("stale-issues", "x", "30 4 * * 1-5", threads=ThreadFilter(), writes=TaskWrites()),
        Task("update-dependencies", "x"),
    ]
    state = group_by_task(
        [("changelog", OpenPull(41, "", touched=False)), ("docs-drift", OpenPull(38, "", touched=True))],
        [("dead-links", EndedPull(40, now - timedelta(days=1), merged=False))],
    )
    caps, policy = Caps(MaintenancePolicy(), 20), MaintenancePolicy()
    decisions = decide_all(tasks, state, caps, repository=REPO, since=lambda task: now, now=now)
    broken = Broken(
        ".github/agent/flaky-tests.md",
        ".github/agent/flaky-tests.md:2:1: unknown key `shedule`; did you mean `schedule`?",
    )
    return RepositoryPlan(REPO, tuple(decisions), state, 30, (broken,), policy)


RESULTS = {
    "changelog": LastResult("changed", "2026-11-18", 0.31, 771),
    "dead-links": LastResult("changed", "2026-11-20", 0.12, 772),
    "docs-drift": LastResult("changed", "2026-11-05", 0.84, 760, held=2),
    "stale-issues": LastResult("answered", "2026-11-20", 0.06, 773),
    "update-dependencies": LastResult("failed", "2026-11-21", 0.02, 774),
}
PLAN = Plan(
    "Sum totals exactly",
    (
        PlanStep("Sum the lines in `total` first and round the sum once.", ("invoice.py",)),
        PlanStep("Add a test with three lines of 0.5.", ("tests/test_invoice.py",)),
        PlanStep("Say in the README that totals are rounded at the end.", ("README.md",)),
    ),
    risks="Callers that rely on the old rounding will see other totals.",
    estimate_turns=12,
)
ANSWER = (
    "The total is a cent off because each line is rounded by itself, in `total` of `invoice.py:2`. Three lines of 0.5 "
    "become 0 + 0 + 0, and the sum 1.5 would become 2.\n\n```python\nreturn sum(round(line) for line in lines)\n```"
)
FINDING = Finding(
    "a.txt", 10, Severity.MAJOR, "The tenth line is counted in words", "Every other line has a figure: `line 10`.",
    text="ten", suggestion="line 10",
)  # fmt: skip


def _publish(world: World, *, plan: Plan | None = None, **fields: Any) -> None:
    """What a new command comes to."""
    number, _ = world.forge.comment(
        REPO, world.issue, "ann", "/agent plan" if plan else "/agent explain this"
    )
    request = world.outcome().request
    assert request.trigger is not None
    verb = "plan" if plan else "explain"
    request = replace(request, verb=verb, trigger=replace(request.trigger, comment_id=number))
    bundle = world.bundle({}, patch=b"", request=request, files=(), **fields)
    world.publish(replace(bundle, plan=plan))


def _progress(world: World) -> None:
    thread = thread_ref_of(world.outcome().request)
    assert thread is not None
    lines = ("turn 4: edit", "12,034 tokens, $0.12 so far")
    url = f"{world.forge.url}/{REPO}/actions/runs/7"
    ProgressWriter(world.github, thread).close(ProgressState("Working on it", lines, url))


def _last(page: Page, world: World, number: int, name: str) -> None:
    _goto(page, f"{world.forge.url}/{REPO}/issues/{number}")
    _shoot(page, page.locator(".thread > *").last, name)


def _shoot(page: Page, what: Locator, name: str) -> None:
    (FOLDER / f"{name}.png").write_bytes(smaller(what.screenshot()))


def _goto(page: Page, url: str) -> None:
    page.goto(url)
    _without_emoji(page)


def _pull(demo: subprocess.Popen[str]) -> str:
    assert demo.stdout is not None
    pull = ""
    for line in demo.stdout:
        if match := re.match(r" *pull +(http\S+)", line):
            pull = match[1]
        if "Ctrl-C" in line and pull:
            return pull
    raise SystemExit("The demo came to no pull request.")


def _without_emoji(page: Page) -> None:
    page.evaluate(
        """plain => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
          while (walker.nextNode())
            for (const [one, other] of Object.entries(plain))
              walker.currentNode.data = walker.currentNode.data.replaceAll(one, other)
        }""",
        _PLAIN,
    )


if __name__ == "__main__":
    main()
