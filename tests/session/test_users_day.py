"""A user's day on one repository, told once from beginning to end: each step by the command line, each state looked at
on GitHub."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import pytest

from slash_forge.bundled import MAINTAINER
from tests.support.fix_script import VIEW, fix_steps
from tests.support.model_script import Call, Say, Step
from tests.support.model_server import ModelServer
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

BOT = "our-app[bot]"
SECOND = "ines-varga"
SOURCE = "tidytime/format.py"
TASK = """---
schedule: weekly
paths: ["*.md"]
---
Say in the README that halves are rounded up.
"""
PLAN = Call(
    "submit_plan",
    {"title": "Round before splitting", "steps": [{"text": "Round first, split then.", "paths": [SOURCE]}]},
)


class Day:
    """The workflows of the repository, run by hand: what an event sets off, in its two jobs."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        stage.forge.add_user(SECOND, name="Ines Varga")
        stage.forge.grant(stage.repo, SECOND, "write")
        stage.act_as_app()

    def happens(self, name: str, event: Any, steps: Sequence[Step], **environment: str) -> None:
        with ModelServer(steps) as server:
            ran = self.stage.run(model=server, event=event, name=name, **environment)
        assert ran.code == 0, ran.output
        file = str(self.stage.event_file(event))
        done = self.stage.publish(GITHUB_EVENT_NAME=name, GITHUB_EVENT_PATH=file, **environment)
        assert done.code == 0, done.output

    def comments(self, number: int, body: str, steps: Sequence[Step], login: str = MAINTAINER) -> None:
        self.happens("issue_comment", self.stage.ask(body, login, number), steps)

    def bot_said(self, number: int, words: str) -> str:
        [said] = [body for body in self.stage.bot_comments(number) if words in body]
        return said


def test_from_a_comment_to_a_merge_and_the_task_of_the_night(stage: Stage) -> None:
    day, issue = Day(stage), stage.sample.issue

    # In the morning somebody asks for a plan. One progress comment, one plan, no branch.
    day.comments(issue, "/agent plan how to mend this", [VIEW, PLAN, Say("Planned.")])
    assert len([body for body in stage.bot_comments() if "slash-agent progress" in body]) == 1
    approve = re.search(r"`(/agent approve [0-9a-f]{12})`", day.bot_said(issue, "**Plan:"))
    assert approve
    assert set(stage.branches()) == {"main"}

    # They approve it. A draft pull request that names plan and approver, and no other branch moved.
    main = stage.branches()["main"]
    day.comments(issue, approve[1], fix_steps())
    [pull] = stage.pulls()
    number = pull["number"]
    assert (pull["draft"], pull["base"]["ref"], pull["user"]["login"]) == (True, "main", BOT)
    assert approve[1].rpartition(" ")[2] in pull["body"]
    assert set(stage.branches()) == {"main", pull["head"]["ref"]}
    assert stage.branches()["main"] == main

    # A second person wants a change, on a line of the diff. The bot's own pull request gets a second commit, and the
    # answer stands in that conversation.
    [file] = stage.get(f"pulls/{number}/files")
    line = line_of(file["patch"], "round(abs(seconds))")
    asked = stage.forge.review_comment(
        stage.repo, number, SECOND, SOURCE, line, body="/agent fix say why it is rounded here"
    )
    why = Call(
        "edit",
        {
            "path": SOURCE,
            "old": "    remaining = round(abs(seconds))\n",
            "new": "    # Rounded before it is split, so that 60 seconds carry.\n    remaining = round(abs(seconds))\n",
        },
    )
    words = Call("describe_change", {"title": "Say why durations are rounded first", "summary": "A comment."})
    event = stage.forge.review_comment_event(stage.repo, asked)
    day.happens("pull_request_review_comment", event, [VIEW, why, words, Say("Done.")])
    assert len(stage.pulls()) == 1
    commits = stage.get(f"pulls/{number}/commits")
    assert len(commits) == 2
    replies = [one for one in stage.get(f"pulls/{number}/comments") if one.get("in_reply_to_id") == asked]
    assert {reply["user"]["login"] for reply in replies} == {BOT}

    # They ask what it does now. The answer is in the pull request's conversation; nothing is pushed.
    head = stage.pulls()[0]["head"]["sha"]
    day.comments(
        number, "/agent explain what changes for half seconds", [VIEW, Say("Halves go to even.")], SECOND
    )
    assert day.bot_said(number, "Halves go to even.")
    assert stage.pulls()[0]["head"]["sha"] == head

    # It is merged.
    stage.forge.set_pull(stage.repo, number, draft=False)
    stage.forge.merge(stage.repo, number, MAINTAINER)
    assert "so that 60 seconds carry" in content(stage, SOURCE)

    # At night a task runs. Its pull request is another one, and touches only what the task may.
    stage.forge.commit(stage.repo, {".github/agent/rounding-docs.md": TASK})
    due = stage.cli("maintain", "--plan", "--task", "rounding-docs", GITHUB_TOKEN=stage.sample.run_token)
    assert [job["task"] for job in due.json["matrix"]["include"]] == ["rounding-docs"]
    steps = [
        Call("bash", {"command": "echo 'Halves are rounded up.' >> README.md"}),
        Call("describe_change", {"title": "Say how halves are rounded", "summary": "One line."}),
        Say("Done."),
    ]
    day.happens("schedule", stage.forge.schedule_event(stage.repo), steps, SLASH_AGENT_TASK="rounding-docs")
    [nightly] = [one for one in stage.pulls() if one["state"] == "open"]
    assert nightly["head"]["ref"] == "agent/task-rounding-docs"
    assert [one["filename"] for one in stage.get(f"pulls/{nightly['number']}/files")] == ["README.md"]


def line_of(patch: str, text: str) -> int:
    """The number, on the new side, of the first added line that holds `text`."""
    number = 0
    for line in patch.splitlines():
        if found := re.match(r"@@ -\S+ \+(\d+)", line):
            number = int(found[1])
        elif not line.startswith("-"):
            if line.startswith("+") and text in line:
                return number
            number += 1
    raise AssertionError(f"no line with {text}")


def content(stage: Stage, path: str) -> str:
    return base64.b64decode(stage.get(f"contents/{path}")["content"]).decode()
