"""The client of GitHub's API, composed of one mixin class a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.github.checks import Checks
from bot.github.pulls import Pulls
from bot.github.repositories import GitData, Repositories, Settings
from bot.github.retry import Pace
from bot.github.reviews import ReviewThreads
from bot.github.runs import Runs
from bot.github.threads import Issues, Threads

if TYPE_CHECKING:
    import github

_TIMEOUT = 30
_API_VERSION = "2022-11-28"


class GitHub(Repositories, Threads, Issues, Pulls, ReviewThreads, Checks, Runs, Settings, GitData):
    """Created by `connect`. Methods raise `GitHubError`. Not thread-safe.

    `calls` lists every request that was sent to the API.
    """


def connect(token: str, api_url: str, *, pace: Pace | None = None) -> GitHub:
    """Return a client for the API at `api_url`. Sends no request; imports PyGithub (125 ms).

    Code that writes gets its client from `bot.gate.outbound`, which puts the gate at its writes.
    """
    from github import Auth

    return GitHub(hub_at(api_url, Auth.Token(token) if token else None), pace or Pace())


def hub_at(api_url: str, auth: github.Auth.Auth | None) -> github.Github:
    """Return PyGithub's client without its own pauses, retries and log messages."""
    import logging

    import github

    logging.getLogger(github.__name__).setLevel(logging.WARNING)
    return github.Github(
        auth=auth,
        base_url=api_url.rstrip("/"),
        timeout=_TIMEOUT,
        user_agent="slash-agent",
        lazy=True,
        retry=None,
        # By default it waits 0.25 s between any two requests and 1 s between writes.
        seconds_between_requests=0,
        seconds_between_writes=0,
        api_version=_API_VERSION,
    )
