"""Whole runs of a verb on a forge, without an event: a request, a scripted model and the bundle."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.checkout.clone import Source
from bot.checkout.pull import PullHead
from bot.contracts.outcome import Outcome
from bot.contracts.request import Actor, Request, Thread, Tier, Trigger
from bot.github.client import GitHub, connect
from bot.github.retry import Pace
from bot.publish.bundle import Bundle, read_bundle
from bot.run.run import run
from bot.session.context.run import RunResult, RunSpec
from bot.session.run_folder import RunFolder
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.model_script import Script, ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.programs import run_program
from tests.support.stage import MODEL, Stage


@dataclass(frozen=True)
class VerbRun:
    """One finished run. `model_requests` are the bodies of the requests to the model."""

    result: RunResult
    bundle: Bundle
    model_requests: tuple[Any, ...]
    folder: RunFolder

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome

    @property
    def first(self) -> str:
        """The first user message."""
        return _text(self.model_requests[0]["messages"][0])

    @property
    def tools(self) -> set[str]:
        return {tool["name"] for tool in self.model_requests[0]["tools"]}

    @property
    def results(self) -> list[str]:
        """Every tool result in the last request, in order."""
        return ScriptRequest(0, "", self.model_requests[-1]).results


def _text(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def github(stage: Stage, token: str = "") -> GitHub:
    pace = Pace(between_writes=0, sleep=lambda seconds: None)
    return connect(token or stage.sample.publish_token, stage.forge.api_url, stage.repo, pace=pace)


def request_in(stage: Stage, verb: str, instruction: str = "this issue", **fields: Any) -> Request:
    """A maintainer's request in the sample's issue, with its comment."""
    comment, _ = stage.forge.comment(
        stage.repo, stage.sample.issue, MAINTAINER, f"/agent {verb} {instruction}"
    )
    url = f"{stage.forge.url}/{stage.repo}/issues/{stage.sample.issue}"
    request = Request(
        verb=verb,
        instruction=instruction,
        actor=Actor(MAINTAINER, github(stage).permission(MAINTAINER).user_id, Tier.MAINTAINER),
        repository=stage.repo,
        base_ref="main",
        clone_url=stage.forge.clone_url(stage.repo),
        thread=Thread(stage.sample.issue, "60 seconds", "It shows 60 seconds.", REPORTER, url),
        trigger=Trigger("issue_comment", comment, f"{url}#issuecomment-{comment}", "2026-01-02T03:04:05Z"),
    )
    return request._replace(**fields)


def request_on(
    stage: Stage, number: int, verb: str, instruction: str = "this pull request", **fields: Any
) -> Request:
    """The same in a pull request."""
    pull = github(stage).pull(number)
    url = f"{stage.forge.url}/{stage.repo}/pull/{number}"
    model_requests = request_in(stage, verb, instruction)
    comment, _ = stage.forge.comment(stage.repo, number, MAINTAINER, f"/agent {verb} {instruction}")
    return model_requests._replace(
        base_ref=pull.base_ref,
        pull=pull,
        thread=Thread(number, "A change", "", REPORTER, url, is_pull_request=True),
        trigger=Trigger("issue_comment", comment, f"{url}#issuecomment-{comment}", "2026-01-02T03:04:05Z"),
        **fields,
    )


def fork_pull(stage: Stage, files: dict[str, str], login: str = "mallory") -> int:
    """A pull request from a fork."""
    fork = stage.forge.fork(stage.repo, login)
    stage.forge.commit(fork, files, branch="topic", author=login)
    stage.forge.age_pushes(fork)
    return stage.forge.open_pull(stage.repo, login, f"{login}:topic")


def pull_head(stage: Stage, request: Request) -> PullHead | None:
    if request.pull is None:
        return None
    git = stage.forge.git_folder(stage.repo)
    found = run_program(["git", "-C", git, "merge-base", request.base_ref, request.pull.head_sha])
    return PullHead(request.pull.number, request.pull.head_sha, found.stdout.strip())


def run_verb(
    stage: Stage, request: Request, steps: Sequence[Step] | Script, *, resume: Path | None = None,
    more: Mapping[str, str] = MappingProxyType({}), **job: Any,
) -> VerbRun:  # fmt: skip
    """Run `request`, with `more` in its environment, `{model}` in it the model's address; the bundle is where the
    stage's `publish` looks for it."""
    folder = RunFolder(Path(tempfile.mkdtemp(prefix="run-", dir=stage.folder)))
    head = pull_head(stage, request)
    with ModelServer(steps) as server:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(stage.folder / "home"),
            **server.environment(),
            **{name: value.replace("{model}", server.url) for name, value in more.items()},
        }
        result = run(
            RunSpec(
                request=request,
                source=Source(
                    stage.forge.clone_url(stage.repo),
                    f"refs/heads/{request.base_ref}",
                    stage.sample.run_token,
                    head,
                ),
                folder=folder,
                model=MODEL,
                environment=environment,
                resume=resume,
                out=stage.bundle,
                **job,
            )
        )
        model_requests = tuple(one.json for one in server.requests)
    return VerbRun(result, read_bundle(stage.bundle), model_requests, folder)
