"""GitHub's API as the questions and deeds that the bot knows, one module a subject, put together here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.github.accounts import Accounts
from bot.github.as_shown import AsShown
from bot.github.checks import Checks
from bot.github.git_data import GitData
from bot.github.issues import Issues
from bot.github.pulls import Pulls
from bot.github.repositories import Repositories
from bot.github.retry import Pace
from bot.github.review_threads import ReviewThreads
from bot.github.runs import Runs
from bot.github.settings import Settings
from bot.github.threads import Threads

if TYPE_CHECKING:
    import github

_TIMEOUT = 30
_API_VERSION = "2022-11-28"


class GitHub(
    Accounts, Repositories, Threads, Issues, Pulls, ReviewThreads, Checks, Runs, Settings, GitData, AsShown
):
    """Made by `connect`. Methods raise `GitHubError`. Not for two threads at once: each has its own.

    `calls` lists every request that was sent to the API.
    """


def connect(token: str, api_url: str, *, pace: Pace | None = None) -> GitHub:
    """A client for the API at `api_url`. Asks nothing yet; PyGithub is imported here (125 ms).

    What writes gets its client from `bot.gate.github`, which puts the gate at its writes.
    """
    from github import Auth

    return GitHub(hub_at(api_url, Auth.Token(token) if token else None), pace or Pace())


def hub_at(api_url: str, auth: github.Auth.Auth | None) -> github.Github:
    """PyGithub, which signs and sends, without the pauses and repeats of its own."""
    import github

    return github.Github(
        auth=auth,
        base_url=api_url.rstrip("/"),
        timeout=_TIMEOUT,
        user_agent="slash-agent",
        lazy=True,
        retry=None,
        # It waits 0.25 s between any two requests and 1 s between writes unless it is told not to.
        seconds_between_requests=0,
        seconds_between_writes=0,
        api_version=_API_VERSION,
    )
