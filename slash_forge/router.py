"""The routes of all operations, matching a request to one, and redirects for renamed repositories."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from slash_forge import errors
from slash_forge.call import Operation, Reply, Route
from slash_forge.operations import (
    accounts,
    apps,
    checks,
    comments,
    git_data,
    graphql,
    issues,
    labels,
    pull_status,
    pulls,
    repositories,
    review_comments,
    reviews,
    runs,
    workflows,
)
from slash_forge.shapes.site import Site
from slash_forge.state import State

# Events and comments first: `issues/comments/...` must not match as an issue's number, nor `pulls/comments`.
# Checks and statuses before commits: a ref may hold slashes.
ROUTES: tuple[Route, ...] = (
    *graphql.ROUTES,
    *accounts.ROUTES,
    *apps.ROUTES,
    *labels.ROUTES,
    *comments.ROUTES,
    *issues.ROUTES,
    *review_comments.ROUTES,
    *pull_status.ROUTES,
    *pulls.ROUTES,
    *reviews.ROUTES,
    *checks.ROUTES,
    *runs.ROUTES,
    *workflows.ROUTES,
    *git_data.ROUTES,
    *repositories.ROUTES,
)

_PARAMETER = re.compile(r"\{(\w+)(\+?)\}")


@dataclass(frozen=True, slots=True)
class RouteMatch:
    operation: Operation
    params: Mapping[str, str]


class Router:
    """Routes are tried in order. `{name}` matches one segment, `{name+}` several."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(method, _pattern(template), operation) for method, template, operation in routes]

    def find(self, method: str, path: str) -> RouteMatch:
        """Raises a 404 for an unknown path and, as GitHub does, for a wrong method."""
        for requested, pattern, operation in self._routes:
            if requested != method:
                continue
            match = pattern.fullmatch(path)
            if match:
                return RouteMatch(
                    operation, {name: unquote(value) for name, value in match.groupdict().items()}
                )
        raise errors.not_found()


@functools.cache  # a test starts many forges
def _pattern(template: str) -> re.Pattern[str]:
    parts = []
    end = 0
    for match in _PARAMETER.finditer(template):
        parts.append(re.escape(template[end : match.start()]))
        name, many = match.groups()
        parts.append(f"(?P<{name}>{'.+' if many else '[^/]+'})")
        end = match.end()
    parts.append(re.escape(template[end:]))
    return re.compile("".join(parts))


_BY_NAME = re.compile(r"/repos/(?P<name>[^/]+/[^/]+)(?P<rest>/.*)?")
_BY_ID = re.compile(r"/repositories/(?P<id>\d+)(?P<rest>/.*)?")


def redirect(state: State, site: Site, method: str, path: str, query: str) -> Reply | None:
    """The redirect for an API request that uses a repository's former name: 301, or 307 for a write."""
    match = _BY_NAME.fullmatch(path)
    repository = state.moved(unquote(match["name"])) if match else None
    if match is None or repository is None:
        return None
    url = f"{site.api}/repositories/{repository.id}{match['rest'] or ''}{'?' if query else ''}{query}"
    body = {"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest"}
    return Reply(301 if method in ("GET", "HEAD") else 307, body, {"Location": url})


def by_name(state: State, path: str) -> str:
    """`path` with a repository's name in place of its number."""
    match = _BY_ID.fullmatch(path)
    for repository in state.repositories.values():
        if match and repository.id == int(match["id"]):
            return f"/repos/{repository.full_name}{match['rest'] or ''}"
    return path


def redirect_git(state: State, site: Site, full_name: str, rest: str, query: str) -> Reply | None:
    """The redirect for git's first request that uses a repository's former name."""
    repository = state.moved(full_name)
    if repository is None:
        return None
    url = f"{site.html}/{repository.full_name}.git/{rest}{'?' if query else ''}{query}"
    return Reply(301, b"", {"Location": url}, "text/plain; charset=utf-8")
