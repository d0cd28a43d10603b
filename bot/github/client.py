"""The client of GitHub's API, composed of one mixin class a subject.

Importing it imports PyGithub (125 ms): code that only names the type imports it for type checking alone.
"""

from github.Auth import Token

from bot.github.checks import Checks
from bot.github.pull_status import PullStatuses
from bot.github.pulls import Pulls
from bot.github.repositories import Repositories
from bot.github.retry import Pace
from bot.github.reviews import Reviews
from bot.github.runs import Runs
from bot.github.threads import Threads
from bot.github.transport import ApiRequester, WriteFilter


class GitHub(Repositories, Threads, Pulls, PullStatuses, Reviews, Checks, Runs):
    """Created by `connect`. Methods raise `GitHubError`. Not thread-safe."""


def connect(
    token: str,
    api_url: str,
    repository: str,
    *,
    pace: Pace | None = None,
    write_filter: WriteFilter | None = None,
) -> GitHub:
    """Return a client for a repository. Code that writes gets its client from `bot.gate.outbound`, with a gate."""
    requester = ApiRequester(api_url, Token(token) if token else None, pace or Pace())
    requester.write_filter = write_filter
    return GitHub(requester, repository)
