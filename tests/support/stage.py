"""The sample repository on a forge, with a maintainer's `/agent fix this` in it, and the command line beside it."""

import json
import os
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from slash_forge import Forge
from slash_forge.bundled import BODY, MAINTAINER, TITLE, Sample, set_up
from tests.support import warm
from tests.support.model_script import Script, Step
from tests.support.model_server import ModelServer, Received
from tests.support.repositories import POLICY, UNCHECKED, git

MODEL = "anthropic/claude-sonnet-5-5"
BOT = "github-actions[bot]"
WORKFLOW = ".github/workflows/agent.yml"


@dataclass(frozen=True)
class CommandResult:
    """One finished `slash-agent`."""

    code: int
    out: str
    err: str
    requests: Sequence[Received] = ()
    """Those to the model."""

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def output(self) -> str:
        return self.out + self.err


Model = ModelServer | Script | Sequence[Step] | None


@contextmanager
def served(model: Model) -> Iterator[tuple[dict[str, str], Sequence[Received]]]:
    """The variables of a server and its requests: `model` itself, or one for this block with such a script."""
    if model is None:
        yield {}, ()
    elif isinstance(model, ModelServer):
        yield model.environment(), model.requests
    else:
        with ModelServer(model) as server:
            yield server.environment(), server.requests


def command(*args: object) -> list[str]:
    return [sys.executable, "-P", "-m", "bot", *map(str, args)]


@dataclass
class Stage:
    """`folder` contains event files, the bundle and the files of runs. `inside` is a prefix of every command.

    The program is forked from a loaded process (`tests.support.warm`). With `cold` it is started, which tests need
    that read its environment or command line from /proc.
    """

    forge: Forge
    sample: Sample
    folder: Path
    inside: list[str] = field(default_factory=list)
    cold: bool = False

    @property
    def repo(self) -> str:
        return self.sample.repository

    @property
    def api(self) -> str:
        """The path of the repository's API."""
        return f"/api/v3/repos/{self.repo}"

    @property
    def bundle(self) -> Path:
        return self.folder / "bundle"

    @property
    def temp(self) -> Path:
        """The value of `RUNNER_TEMP`."""
        return self.folder / "temp"

    # -- running

    def add_run(self, conclusion: str | None = None, login: str = MAINTAINER, **more: Any) -> int:
        """Add a run of the agent's workflow, active without a `conclusion`."""
        run = {
            "workflow": WORKFLOW,
            "event": "issue_comment",
            "actor": login,
            "conclusion": conclusion,
            **more,
        }
        return self.forge.add_run(self.repo, name="agent", **run)

    def job(self, run: int = 0) -> dict[str, str]:
        """The variables of a job in this run of the agent's workflow, or in a new one."""
        ref = f"{self.repo}/{WORKFLOW}@refs/heads/main"
        return {"GITHUB_RUN_ID": str(run or self.add_run()), "GITHUB_WORKFLOW_REF": ref}

    def bot_token(self, **more: Any) -> str:
        """A token of the job that runs the agent."""
        permissions = {"contents": "read", "issues": "write", "actions": "read", **more}
        return self.forge.token(BOT, permissions, repo=self.repo)

    def environment(self, token: str = "", **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_SERVER_URL": self.forge.url,
            "GITHUB_API_URL": self.forge.api_url,
            "GITHUB_REPOSITORY": self.repo,
            **({"GITHUB_TOKEN": token} if token else {}),
            **more,
        }

    def act_as_app(self) -> str:
        """Let the bot act as an app: its plans can be approved. CI starts by its token. Returns the job's token."""
        login = "our-app[bot]"
        self.forge.add_user(login, kind="Bot")
        self.forge.commit(self.repo, {".github/agent.yml": "pull_request: {ci: start}\n"})
        reads: dict[str, Any] = {
            "contents": "read",
            "issues": "write",
            "pull_requests": "write",
            "actions": "read",
        }
        run_token = self.forge.token(login, reads, repo=self.repo)
        publish_token = self.forge.token(
            login, {**reads, "contents": "write", "checks": "write"}, repo=self.repo
        )
        self.sample = replace(self.sample, run_token=run_token, publish_token=publish_token)
        return run_token

    def event_file(self, payload: Any, name: str = "event.json") -> Path:
        file = self.folder / name
        file.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        return file

    def ask(self, body: str, login: str = MAINTAINER, number: int = 0) -> Any:
        """Comment on the sample's issue. Returns the event that GitHub would deliver."""
        return self.forge.comment(self.repo, number or self.sample.issue, login, body)[1]

    def new_issue(self, title: str = TITLE, body: str = BODY) -> int:
        return self.forge.create_issue(self.repo, MAINTAINER, title, body)

    def run_command(self, *args: object, event: Any = None, name: str = "issue_comment") -> list[str]:
        file = self.event_file(self.sample.event if event is None else event)
        return command("run", "--event-name", name, "--event", file, "--out", self.bundle, *args)

    def run(
        self,
        *args: object,
        model: Model = None,
        event: Any = None,
        name: str = "issue_comment",
        token: str | None = None,
        **environment: str,
    ) -> CommandResult:
        """`slash-agent run` with the run job's token. `model` is a server, or the script of one for this run."""
        token = self.sample.run_token if token is None else token
        with served(model) as (variables, requests):
            if variables:
                variables["SLASH_AGENT_MODEL"] = MODEL
            argv = self.run_command(*args, event=event, name=name)
            done = self.call(argv, self.environment(token, **{**variables, **environment}))
        return replace(done, requests=requests)

    def publish(self, *args: object, token: str | None = None, **environment: str) -> CommandResult:
        """`slash-agent publish` with the publish job's token."""
        token = self.sample.publish_token if token is None else token
        return self.call(
            command("publish", "--bundle", self.bundle, *args), self.environment(token, **environment)
        )

    def publish_event(
        self, event: Any, name: str = "issue_comment", token: str | None = None, **environment: str
    ) -> CommandResult:
        """`slash-agent publish` in the job of an event. It must succeed."""
        where = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(self.event_file(event))}
        done = self.publish(token=token, **where, **environment)
        assert done.code == 0, done.output
        return done

    @property
    def schedule(self) -> dict[str, Any]:
        """The event of the maintenance workflow's schedule."""
        workflow = ".github/workflows/maintenance.yml"
        repository = self.sample.event["repository"]
        return {"schedule": "0 3 * * *", "repository": repository, "workflow": workflow}

    def run_task(self, task: str, model: Model, **environment: str) -> CommandResult:
        """`slash-agent run` for a maintenance task, by the schedule."""
        return self.run(
            model=model, event=self.schedule, name="schedule", SLASH_AGENT_TASK=task, **environment
        )

    def publish_task(self, task: str) -> CommandResult:
        """`slash-agent publish` for a maintenance task. It must succeed."""
        return self.publish_event(self.schedule, "schedule", SLASH_AGENT_TASK=task)

    def add_task_run(self, task: str) -> int:
        """Add what a workflow run of a maintenance task leaves on GitHub: its job and the bundle. The run's number."""
        number = self.forge.add_run(self.repo, workflow=self.schedule["workflow"], name="m", event="schedule")
        self.forge.add_job(self.repo, number, f"maintain / Run {self.repo}: {task}")
        bundle = {file.name: file.read_bytes() for file in self.bundle.iterdir()}
        name = f"slash-agent-bundle-{self.repo.replace('/', '.')}.{task}"
        self.forge.add_artifact(self.repo, number, name, bundle)
        return number

    def clone(self, folder: Path) -> Path:
        """A clone by the maintainer, whose token is not in it."""
        source = self.forge.clone_url(self.repo)
        signed_in = source.replace("://", f"://x:{self.sample.maintainer_token}@")
        git(folder.parent, "clone", "-q", signed_in, str(folder))
        git(folder, "remote", "set-url", "origin", source)
        return folder

    def cli(self, *args: object, **environment: str) -> CommandResult:
        return self.call(command(*args), self.environment(**environment))

    def call(self, argv: list[str], environment: Mapping[str, str]) -> CommandResult:
        completed = (warm.run_cold if self.cold else warm.run)(
            [*self.inside, *argv], environment, self.folder
        )
        return CommandResult(completed.returncode, completed.stdout, completed.stderr)

    # -- results

    def get(self, path: str, repository: str = "") -> Any:
        """The API's response for `path` to a maintainer of the repository, or to the owner of another `repository`."""
        if repository:
            return self._ask("GET", f"{repository}/{path}", self.forge.token(repository.partition("/")[0]))
        return self._ask("GET", f"{self.repo}/{path}", self.sample.maintainer_token)

    def edit(self, path: str, **fields: str) -> None:
        """A maintainer's PATCH of `path` of the repository."""
        self._ask("PATCH", f"{self.repo}/{path}", self.sample.maintainer_token, fields)

    def _ask(self, method: str, path: str, token: str, fields: Mapping[str, str] | None = None) -> Any:
        data = json.dumps(fields).encode() if fields else None
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{self.forge.api_url}/repos/{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)

    def bot_comments(self, number: int = 0) -> list[str]:
        """The bot's comments in a thread, oldest first."""
        matches = self.get(f"issues/{number or self.sample.issue}/comments?per_page=100")
        return [comment["body"] for comment in matches if comment["user"]["type"] == "Bot"]

    def pulls(self) -> list[Any]:
        return list(self.get("pulls?state=all"))

    def branches(self) -> dict[str, str]:
        """Branch name to tip."""
        return {branch["name"]: branch["commit"]["sha"] for branch in self.get("branches?per_page=100")}

    def bot_requests(self) -> list[str]:
        """Every request with a bot's token, as `METHOD path`."""
        return [f"{e.method} {e.path}" for e in self.forge.requests if e.login.endswith("[bot]")]

    def writes(self) -> list[str]:
        """Those of them that write. A POST of `git fetch` or GraphQL only reads."""
        reads = ("/git-upload-pack", "/graphql")
        return [
            line for line in self.bot_requests() if not line.startswith("GET ") and not line.endswith(reads)
        ]

    def outcome(self) -> Any:
        return json.loads((self.bundle / "outcome.json").read_text())

    def remaining_processes(self) -> list[str]:
        """Command lines of other processes that name this stage's folder."""
        return processes_naming(str(self.folder))


def open_stage(forge: Forge, folder: Path, *, checks: bool = True) -> Stage:
    """Without `checks` the sample's policy has no checks, which halves the time of a run."""
    for name in ("home", "temp"):
        (folder / name).mkdir(parents=True)
    sample = set_up(forge)
    if not checks:
        forge.commit(sample.repository, {POLICY: UNCHECKED})
    return Stage(forge, sample, folder)


def processes_naming(text: str) -> list[str]:
    """Command lines of other processes that contain `text`."""
    matches = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if text.encode() in line:
                matches.append(line.decode(errors="replace"))
    return matches
