"""A pull request of the bot's own on the forge, and the events about it."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.request import POLICY_FILE
from bot.publish.thread.markers import PULL_REQUEST, mark, marked
from slash_forge import Forge, pulls
from tests.support.model_script import Call, Say
from tests.support.stage import BOT, MAINTAINER, CommandResult, Model, Stage, open_stage

BRANCH = "agent/issue-1-round-durations"
PERMISSIONS = {
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "actions": "write",
    "checks": "read",
}
FIX = [
    Call("write", {"path": "more.txt", "content": "fixed\n"}),
    Call("describe_change", {"title": "Fix the failing test", "summary": "It was wrong."}),
    Say("Done."),
]
FEATURE = "feature"
UPDATE, UPDATER = "dependabot/x", "dependabot[bot]"


def by_command(command: str) -> list[Call | Say]:
    """Turns that change files by a command."""
    return [
        Call("bash", {"command": command}),
        Call("describe_change", {"title": "Change it", "summary": "As asked."}), Say("Done."),
    ]  # fmt: skip


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

    @property
    def parents(self) -> list[str]:
        """The parents of the head."""
        return [one["sha"] for one in self.stage.get(f"commits/{self.head}")["parents"]]

    @property
    def merge_base(self) -> str:
        sha: str = self.stage.get(f"compare/main...{BRANCH}")["merge_base_commit"]["sha"]
        return sha

    @property
    def mark(self) -> dict[str, str]:
        return mark_fields(self.comment)

    def policy(self, text: str = "{}") -> None:
        self.forge.commit(
            self.repo,
            {POLICY_FILE: f"version: 1\nchecks: []\ndiagnostics: {{checkers: []}}\nfollow_up: {text}\n"},
        )

    def run_of_ci(self, conclusion: str | None = "failure", **more: str) -> int:
        """A run of CI on the head without a job. Returns its id."""
        more = {"event": "pull_request", **more}
        return self.forge.add_run(self.repo, pull=self.number, conclusion=conclusion, **more)

    def ci(
        self, conclusion: str | None = "failure", name: str = "test", log: str = "FAILED test_a::test_b"
    ) -> int:
        """A run of CI on the head with one job. Returns its id."""
        from slash_forge.runs import Step

        run = self.run_of_ci(conclusion)
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

    def no_round(self, run: Any) -> str:
        """Wake up; nothing is asked of a model and nothing is pushed. What was printed."""
        before, done = self.head, self.wake(run, [Say("unused")])
        assert done.requests in ((), []), done.output
        assert self.head == before
        return done.output

    def begin(self, run: int, model: Model = FIX) -> tuple[dict[str, str], dict[str, str]]:
        """A round whose bundle waits to be published: the job, and the variables of its event."""
        event, job = self.forge.workflow_run_event(self.repo, run), self.stage.job()
        ran = self.stage.run(model=model, event=event, name="workflow_run", token=self.token, **job)
        assert ran.code == 0, ran.output
        file = str(self.stage.event_file(event))
        return job, {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_EVENT_PATH": file}

    def publish(self, job: dict[str, str], where: dict[str, str]) -> CommandResult:
        return self.stage.publish(token=self.token, **where, **job)

    def command(
        self, words: str = "/agent follow", login: str = MAINTAINER, number: int = 0
    ) -> CommandResult:
        """Somebody's command that needs no model."""
        event = self.stage.ask(words, login, number=number or self.number)
        return self.stage.run(event=event, token=self.token, **self.stage.job())

    def feature(self, push_to_head: bool = True) -> tuple[int, str]:
        """A person's pull request with a commit to `a.txt`, and its head. Its base has gone on."""
        head = self.forge.commit(self.repo, {"a.txt": "mine\n"}, branch=FEATURE, author=MAINTAINER)
        number = self.forge.open_pull(self.repo, MAINTAINER, FEATURE)
        policy = f"version: 1\nchecks: []\npush_to_head: {str(push_to_head).lower()}\n"
        self.forge.commit(self.repo, {".github/agent.yml": policy})
        return number, head

    def worked_on(
        self, words: str, number: int, model: Model, code: int = 0
    ) -> tuple[CommandResult, CommandResult]:
        """A command on a pull request, run and published, which ends with this code."""
        event, job = self.stage.ask(words, number=number), self.stage.job()
        ran = self.stage.run(model=model, event=event, token=self.token, **job)
        assert ran.code == 0, ran.output
        where = {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(self.stage.event_file(event))}
        done = self.publish(job, where)
        assert done.code == code, done.output
        return ran, done

    @property
    def feature_parents(self) -> list[str]:
        return [one["sha"] for one in self.stage.get(f"commits/{FEATURE}")["parents"]]

    def amend(self, branch: str, email: str = "") -> None:
        """A person amends the last commit of the branch; with `email` the committer has that address."""
        state = self.forge._state
        with state.lock:
            repo = state.repositories[self.repo]
            last = repo.git.commit(repo.git.branch(branch) or "")
            person = state.signature(state.users[MAINTAINER])
            who = replace(person, email=email or person.email)
            sha = repo.git.write_commit(last.tree, last.parents, last.message, last.author, who)
            repo.git.set_ref(f"refs/heads/{branch}", sha)
            pulls.after_push(state, repo)

    def put(self, branch: str, files: Mapping[str, tuple[str, str]]) -> None:
        """A commit of ours to the branch with files of these modes and contents, or ids for a submodule."""
        index = {**os.environ, "GIT_INDEX_FILE": str(self.stage.folder / "index")}

        def git(*command: str, text: str = "") -> str:
            run = ("git", "-C", self.forge.git_folder(self.repo), *command)
            return subprocess.run(
                run, env=index, check=True, capture_output=True, text=True, input=text
            ).stdout.strip()

        git("read-tree", f"refs/heads/{branch}")
        for path, (mode, content) in files.items():
            sha = content if mode == "160000" else git("hash-object", "-w", "--stdin", text=content)
            git("update-index", "--add", "--cacheinfo", f"{mode},{sha},{path}")
        state = self.forge._state
        with state.lock:
            repo = state.repositories[self.repo]
            parent = repo.git.branch(branch) or ""
            author = state.signature(state.users[BOT])
            repo.git.set_ref(
                f"refs/heads/{branch}",
                repo.git.write_commit(git("write-tree"), [parent], "Put files\n", author),
            )
            pulls.after_push(state, repo)

    def dependency_update(self, body: str = "") -> int:
        """From here on it is about an update by a bot, whose id is returned."""
        bot = self.forge.add_user(UPDATER, kind="Bot")
        self.forge.commit(self.repo, {"requirements.txt": "x==2\n"}, branch=UPDATE, author=UPDATER)
        self.number = self.forge.open_pull(self.repo, UPDATER, UPDATE, title="Bump x", body=body)
        return bot

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
