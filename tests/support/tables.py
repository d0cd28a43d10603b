"""A client that speaks to answers out of a table (`responses`), with sleeps that are recorded instead of slept."""

import re
from typing import Any

from bot.github.client import GitHub, connect
from bot.github.retry import Pace

API = "https://api.github.test:443"  # PyGithub writes the port out
REPO = f"{API}/repos/octo/hello"
NAME = "octo/hello"
TIME = "2026-01-02T03:04:05Z"
ANN = {"login": "ann", "id": 5, "type": "User"}


class Client:
    """`sleep` moves the clock, which starts at 1,000,000."""

    def __init__(self, token: str = "secret-token-value", between_writes: float = 0.0) -> None:
        self.slept: list[float] = []
        self.clock = 1_000_000.0
        pace = Pace(between_writes=between_writes, sleep=self.sleep, now=lambda: self.clock)
        self.github: GitHub = connect(token, API, "octo/hello", pace=pace)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock += seconds


def next_page(path: str, page: int) -> dict[str, str]:
    """The Link header as GitHub writes it: without the port, and other pages beside it."""
    base = f"{path.replace(':443', '')}?per_page=100&page="
    return {"Link": f'<{base}1>; rel="prev", <{base}{page}>; rel="next", <{base}9>; rel="last"'}


def comment(number: int, **fields: Any) -> dict[str, Any]:
    times = {"created_at": TIME, "updated_at": TIME}
    return {"id": number, "body": f"text {number}", "user": ANN, **times, **fields}


def repository(private: bool = False) -> dict[str, Any]:
    return {
        "full_name": NAME,
        "default_branch": "main",
        "private": private,
        "clone_url": "https://github.test/octo/hello.git",
    }


def writers() -> set[str]:
    """The methods of the client that write, by their names."""
    verbs = re.compile("(add|cancel|close|create|delete|dismiss|dispatch|edit|open|remove|reply|request)_")
    return {name for name in dir(GitHub) if verbs.match(name)}
