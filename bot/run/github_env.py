"""What Actions' environment says about where this run is: the server, its API, the run's own page, the token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.contracts.errors import UsageError

_TOKEN_VARIABLES = ("SLASH_AGENT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")


@dataclass(frozen=True, slots=True)
class GitHubEnvironment:
    """`run_url` is empty outside Actions, and `run` 0. `workflow` is the path of the file that the run is of,
    empty where nobody says. `token` is never shown, nor is `app_key`, the private key of the app `app_id`."""

    server_url: str
    api_url: str
    run_url: str
    repository: str
    token: str = field(repr=False)
    run: int = 0
    workflow: str = ""
    app_id: str = ""
    app_key: str = field(default="", repr=False)

    def git_url(self, repository: str) -> str:
        """The address git fetches from and pushes to: of this server, whatever an event's payload says."""
        return f"{self.server_url}/{repository}.git"


def read_github_environment(environment: Mapping[str, str]) -> GitHubEnvironment:
    """GitHub.com outside Actions; a server of one's own by GITHUB_SERVER_URL and GITHUB_API_URL."""
    server = environment.get("GITHUB_SERVER_URL", "https://github.com").rstrip("/")
    default_api = "https://api.github.com" if server == "https://github.com" else f"{server}/api/v3"
    repository = environment.get("GITHUB_REPOSITORY", "")
    run_id = environment.get("GITHUB_RUN_ID", "")
    return GitHubEnvironment(
        server_url=server,
        api_url=environment.get("GITHUB_API_URL", default_api).rstrip("/"),
        run_url=f"{server}/{repository}/actions/runs/{run_id}" if repository and run_id else "",
        repository=repository,
        token=next((environment[name] for name in _TOKEN_VARIABLES if environment.get(name)), ""),
        run=int(run_id) if run_id.isdecimal() else 0,
        workflow=_workflow(environment.get("GITHUB_WORKFLOW_REF", ""), repository),
        app_id=environment.get("SLASH_AGENT_APP_ID", "").strip(),
        app_key=environment.get("SLASH_AGENT_APP_PRIVATE_KEY", ""),
    )


def require_token(where: GitHubEnvironment, repository: str = "", *, may_push: bool = False) -> str:
    """The app's for `repository` (this run's own without one), where an app is given: two requests; else the token.

    An app's token cannot change code unless it `may_push`. Raises `UsageError` naming what to set.
    """
    if where.app_id or where.app_key:
        from bot.github.app import installation_token

        return installation_token(
            where.app_id, where.app_key, repository or where.repository, where.api_url, may_push=may_push
        ).token
    if not where.token:
        raise UsageError("There is no GitHub token: set GITHUB_TOKEN (in Actions, the input github-token).")
    return where.token


def _workflow(ref: str, repository: str) -> str:
    """`octo/hello/.github/workflows/agent.yml@refs/heads/main` without the parts around the path."""
    path = ref.partition("@")[0]
    return path.removeprefix(f"{repository}/") if repository and path.startswith(f"{repository}/") else ""
