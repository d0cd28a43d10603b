"""A pull request of the bot's own on the forge, and the events about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.request import POLICY_FILE
from bot.publish.thread.markers import PULL_REQUEST, mark, marked
from slash_forge import Forge
from tests.support.stage import BOT, CommandResult, Model, Stage, open_stage

BRANCH = "agent/issue-1-round-durations"
PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "actions": "write",
    "checks": "read",
}


@dataclass
class Followed:
    """The pull request `number` of the bot's own. One token does everything, as in a workflow of one job."""

    stage: Stage
    number: int
    token: str

    @property
    def forge(self) -> Forge:
        return self.stage.forge

    @property
    def repo(self) -> str:
        return self.stage.repo

    @property
    def head(self) -> str:
        sha = self.forge.branch_sha(self.repo, BRANCH)
        assert sha
        return sha

    def policy(self, text: str = "{}") -> None:
        self.forge.commit(
            self.repo,
            {POLICY_FILE: f"version: 1\nchecks: []\ndiagnostics: {{checkers: []}}\nfollow_up: {text}\n"},
        )

    def ci(
        self, conclusion: str | None = "failure", name: str = "test", log: str = "FAILED test_a::test_b"
    ) -> int:
        """A run of CI on the head with one job. Returns its id."""
        from slash_forge.runs import Step

        run = self.forge.add_run(self.repo, event="pull_request", pull=self.number, conclusion=conclusion)
        self.forge.add_job(
            self.repo, run, name, conclusion=conclusion, steps=[Step("make test", conclusion or "", log)]
        )
        return run

    def wake(self, run: Any, model: Model = None, **environment: str) -> CommandResult:
        """Run and publish for the end of a run, or for such an event."""
        event = self.forge.workflow_run_event(self.repo, run) if isinstance(run, int) else run
        job = self.stage.job()
        ran = self.stage.run(
            model=model, event=event, name="workflow_run", token=self.token, **job, **environment
        )
        if model is not None and ran.code == 0:
            where = {
                "GITHUB_EVENT_NAME": "workflow_run",
                "GITHUB_EVENT_PATH": str(self.stage.event_file(event)),
            }
            done = self.stage.publish(token=self.token, **where, **job)
            return CommandResult(done.code, ran.out + done.out, ran.err + done.err, ran.requests)
        return ran

    def sweep(self, model: Model = None) -> CommandResult:
        event = self.stage.schedule
        return self.stage.run(
            model=model, event=event, name="schedule", token=self.token, SLASH_AGENT_INSTRUCTION="follow",
            **self.stage.job(),
        )  # fmt: skip

    def known(self, headline: str = "**Following this pull request.**", **fields: object) -> int:
        """Our comment from earlier, with this mark. Returns its id."""
        written = mark("followed", **{"state": "on", **{name: str(value) for name, value in fields.items()}})
        return self.forge.comment(self.repo, self.number, BOT, marked(headline, written))[0]

    def review(self, login: str, state: str = "COMMENTED", *, body: str = "", remarks: int = 1) -> list[int]:
        """Somebody's review with remarks on the first line of a file. Returns their ids."""
        comments = [{"path": "notes.txt", "line": 1, "body": f"remark {one}"} for one in range(remarks)]
        self.forge.review(self.repo, self.number, login, state=state, body=body, comments=comments)
        return [one["id"] for one in self.stage.get(f"pulls/{self.number}/comments")[-remarks:]]

    @property
    def calls(self) -> list[str]:
        """The bot's requests to the API until now."""
        return [line for line in self.stage.bot_requests() if " /api/" in line]

    @property
    def comment(self) -> str:
        """The one comment that is edited; empty before it exists."""
        comments = self.stage.get(f"issues/{self.number}/comments?per_page=100")
        own = [one["body"] for one in comments if one["user"]["login"] == BOT]
        found = [body for body in own if "slash-agent followed" in body]
        assert len(found) < 2, found
        return found[0] if found else ""

    @property
    def pull(self) -> Any:
        return self.stage.get(f"pulls/{self.number}")


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    with Forge() as forge:
        stage = open_stage(forge, tmp_path / "stage", checks=False)
        repo = stage.repo
        head = forge.commit(
            repo, {"notes.txt": "one\n"}, branch=BRANCH, message="Round durations", author=BOT
        )
        written = mark(PULL_REQUEST, issue="1", base=forge.branch_sha(repo) or "", head=head)
        number = forge.open_pull(
            repo, BOT, BRANCH, title="Round durations", body=marked("Fixes #1", written), draft=True
        )
        one = Followed(stage, number, forge.token(BOT, PERMISSIONS, repo=repo))
        one.policy()
        yield one


def mark_fields(comment: str) -> dict[str, str]:
    """The fields of the mark in our comment."""
    last = comment.rstrip().splitlines()[-1]
    return dict(field.split("=", 1) for field in last.split() if "=" in field)
