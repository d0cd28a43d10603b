"""The environment of Actions: the server, its API, the page of the run, the token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot.contracts.errors import UsageError
from bot.events.event_request import NO_INPUTS, WorkflowInputs
from bot.gate.secrets import known_secrets
from bot.github.tokens import INSTALLATION, Access, TokenKind, api_url_of, token_kind
from bot.policy.load import policy_file

_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}")
WORKFLOW_TOKEN = "SLASH_AGENT_WORKFLOW_TOKEN"  # noqa: S105
"""GITHUB_TOKEN of the job, also if it acts with another one."""
_TOKEN_VARIABLES = ("SLASH_AGENT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")


@dataclass(frozen=True)
class GitHubEnvironment:
    """`run_url` is empty outside Actions, and `run` 0. `workflow` is the path of the file that the run is of,
    empty where nobody says. `token` is never shown, nor is `app_key`, the private key of the app `app_id`.

    `report_url` is the address of the run's report among its artifacts, empty if there is none.

    `repository` is the one that the run is in. `target` is the one that an entry of a maintenance plan names, which
    may be another; empty in every other job. `policy_file` is where the policy is in a repository. `replies`: the
    workflow lets comments without a command in, or there is no workflow. `secrets` are those of the environment, which
    no text may have.
    """

    server_url: str
    api_url: str
    run_url: str
    repository: str
    token: str = field(repr=False)
    run: int
    workflow: str
    app_id: str
    app_key: str = field(repr=False)
    target: str
    report_url: str
    policy_file: str
    replies: bool
    secrets: Mapping[str, str] = field(repr=False)
    minted: bool = False

    @property
    def acts_for(self) -> str:
        """The repository that this job works on."""
        return self.target or self.repository

    @property
    def minted_secrets(self) -> dict[str, str]:
        """The token that was minted for this run, by the name it is masked as."""
        return {"GITHUB_APP_TOKEN": self.token} if self.minted else {}

    def renamed(self, old: str, new: str) -> GitHubEnvironment:
        """The environment after GitHub renamed the repository to `new`."""

        def name(one: str) -> str:
            return new if one.lower() == old.lower() else one

        return replace(self, repository=name(self.repository), target=name(self.target))

    def inputs(self, instruction: str, task: str, now: str = NO_INPUTS.now) -> WorkflowInputs:
        """What the job adds to an event's payload. `now` is RFC 3339."""
        return WorkflowInputs(self.acts_for, instruction, task, now, self.run_url, self.replies)

    def git_url(self, repository: str) -> str:
        """The address for fetch and push: on this server, never from the payload."""
        return f"{self.server_url}/{repository}.git"


def read_github_environment(environment: Mapping[str, str]) -> GitHubEnvironment:
    """GitHub.com outside Actions; a server of one's own by GITHUB_SERVER_URL and GITHUB_API_URL."""
    server = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    repository = environment.get("GITHUB_REPOSITORY", "")
    run_id = environment.get("GITHUB_RUN_ID", "")
    run_url = f"{server}/{repository}/actions/runs/{run_id}" if repository and run_id else ""
    own, path = f"{repository}/", environment.get("GITHUB_WORKFLOW_REF", "").partition("@")[0]
    target = environment.get("SLASH_AGENT_REPOSITORY", "").strip()
    report = environment.get("SLASH_AGENT_REPORT_URL", "")
    of_this_run = re.escape(run_url) + r"(?:/artifacts/[0-9]+(?:#download)?|#artifacts)"
    if target and not _REPOSITORY.fullmatch(target):
        raise UsageError(f"{target[:100]!r} is not a repository as in owner/name.")
    return GitHubEnvironment(
        server_url=server,
        api_url=environment.get("GITHUB_API_URL", api_url_of(server)).rstrip("/"),
        run_url=run_url,
        repository=repository,
        token=next((environment[name] for name in _TOKEN_VARIABLES if environment.get(name)), ""),
        run=int(run_id) if run_id.isdecimal() else 0,
        # `octo/hello/.github/workflows/agent.yml@refs/heads/main` without the parts around the path.
        workflow=path.removeprefix(own) if repository and path.startswith(own) else "",
        app_id=environment.get("SLASH_AGENT_APP_ID", "").strip(),
        app_key=environment.get("SLASH_AGENT_APP_PRIVATE_KEY", ""),
        target=target,
        # Only an artifact of this run: a job that runs the agent can claim anything.
        report_url=report if run_url and re.fullmatch(of_this_run, report) else "",
        policy_file=policy_file(environment.get("SLASH_AGENT_POLICY", "")),
        replies=environment.get("SLASH_AGENT_REPLIES", "true") == "true",
        secrets=known_secrets(environment),
    )


def signed_in(where: GitHubEnvironment, repository: str, access: Access) -> GitHubEnvironment:
    """`where` with the token for `repository`: one of the app for that repository and `access` only (two requests), if
    an app is given, else the job's. Raises `UsageError` naming what to set."""
    if where.app_id or where.app_key:
        from bot.github.app import App

        token = App(where.app_id, where.app_key, repository, where.api_url).token(access)
        return replace(where, token=token, minted=True)
    if not where.token:
        raise UsageError("There is no GitHub token: set GITHUB_TOKEN (in Actions, the input github-token).")
    if not where.token.isprintable():
        raise UsageError(
            "The GitHub token holds a line break, or another character that no token has: set it again."
        )
    if where.repository and repository.lower() != where.repository.lower() and _is_actions_own(where):
        raise UsageError(
            f"{repository} is out of reach: {TokenKind.ACTIONS} is for {where.repository} alone. "
            "Give app-id and app-private-key of a GitHub App that is installed there."
        )
    return where


def _is_actions_own(where: GitHubEnvironment) -> bool:
    if not where.token.startswith(INSTALLATION):
        return False
    from bot.github.client import connect

    me = connect(where.token, where.api_url, where.repository).me
    return token_kind(where.token, me.login if me else "") is TokenKind.ACTIONS
