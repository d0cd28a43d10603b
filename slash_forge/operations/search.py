"""Search of issues and pull requests (the qualifiers that a bot uses), and users."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from slash_forge import errors
from slash_forge.access import rate_limits
from slash_forge.call import Call, Reply, Route
from slash_forge.operations.runs import in_range
from slash_forge.shapes import repositories, threads
from slash_forge.state import Issue, Repository, Role

_TERM = re.compile(r'(-?)(?:([a-z-]+):)?("[^"]*"|\S+)')
_MAX_RESULTS = 1000

Row = tuple[Repository, Issue]


def _login(user: object) -> str:
    return getattr(user, "login", "").casefold()


def _is(row: Row, word: str) -> bool:
    repo, issue = row
    pull = issue.pull
    tests: Mapping[str, Callable[[], bool]] = {
        "issue": lambda: pull is None,
        "pr": lambda: pull is not None,
        "pull-request": lambda: pull is not None,
        "open": lambda: issue.state == "open",
        "closed": lambda: issue.state == "closed",
        "merged": lambda: pull is not None and pull.merged_at is not None,
        "unmerged": lambda: pull is not None and pull.merged_at is None,
        "draft": lambda: pull is not None and pull.draft,
        "locked": lambda: issue.locked,
        "unlocked": lambda: not issue.locked,
        "public": lambda: not repo.private,
        "private": lambda: repo.private,
    }
    return word in tests and tests[word]()


_QUALIFIERS: Mapping[str, Callable[[Row, str], bool]] = {
    "repo": lambda row, value: row[0].full_name.casefold() == value,
    "user": lambda row, value: row[0].owner.login.casefold() == value,
    "org": lambda row, value: row[0].owner.login.casefold() == value,
    "is": _is,
    "type": _is,
    "state": _is,
    "author": lambda row, value: _login(row[1].author).removesuffix("[bot]") == value.removeprefix("app/"),
    "assignee": lambda row, value: any(_login(user) == value for user in row[1].assignees),
    "commenter": lambda row, value: any(_login(one.author) == value for one in row[1].comments),
    "label": lambda row, value: any(one.name.casefold() == value for one in row[1].labels),
    "head": lambda row, value: row[1].pull is not None and row[1].pull.head_ref.casefold() == value,
    "base": lambda row, value: row[1].pull is not None and row[1].pull.base_ref.casefold() == value,
    "created": lambda row, value: in_range(row[1].created_at, value.upper()),
    "updated": lambda row, value: in_range(row[1].updated_at, value.upper()),
    "closed": lambda row, value: in_range(row[1].closed_at or "", value.upper()),
    "no": lambda row, value: not (row[1].labels if value == "label" else row[1].assignees),
}


def search_issues(call: Call) -> Reply:
    qualifiers = [
        (sign == "-", name, value.strip('"').casefold()) for sign, name, value in _TERM.findall(_query(call))
    ]
    kinds = {value for _, name, value in qualifiers if name in ("is", "type")}
    if not kinds & {"issue", "pr", "pull-request"}:
        raise errors.custom("Search", "Query must include 'is:issue' or 'is:pull-request'")
    fields_in = {value for _, name, value in qualifiers if name == "in"}
    matches = [
        row
        for row in _visible(call)
        if all(
            _holds(row, name, value, fields_in) != negated
            for negated, name, value in qualifiers
            if name != "in"
        )
    ]
    by = "updated_at" if call.query.get("sort") == "updated" else "created_at"
    matches.sort(
        key=lambda row: (getattr(row[1], by), row[1].id), reverse=call.query.get("order", "desc") != "asc"
    )
    reply = call.page(matches[:_MAX_RESULTS], lambda row: _item(call, *row), key="items")
    return Reply(
        200,
        {**reply.body, "total_count": len(matches), "incomplete_results": False, "search_type": "lexical"},
        reply.headers,
    )


def _query(call: Call) -> str:
    query = call.query.get("q", "")
    if not query.strip() or len(query) > 4096:
        raise errors.invalid("Search", "q", "missing" if not query.strip() else "invalid")
    return query


def _visible(call: Call) -> list[Row]:
    return [
        (repo, issue)
        for repo in call.state.repositories.values()
        if call.caller.role(repo) > Role.NONE
        for issue in repo.threads.values()
        if call.caller.may(repo, "issues|pull_requests" if issue.pull else "issues", "read")
    ]


def _holds(row: Row, name: str, value: str, fields_in: set[str]) -> bool:
    if not name:
        texts = {"title": row[1].title, "body": row[1].body or ""}
        texts["comments"] = "\n".join(one.body for one in row[1].comments) if "comments" in fields_in else ""
        return any(
            value in text.casefold() for field, text in texts.items() if not fields_in or field in fields_in
        )
    test = _QUALIFIERS.get(name)
    if test is None:
        raise errors.custom("Search", f"The qualifier {name} is not one this forge knows")
    return test(row, value)


def _item(call: Call, repo: Repository, issue: Issue) -> object:
    return {**threads.issue(call.site, repo, issue), "score": 1.0}


def get_authenticated(call: Call) -> Reply:
    if call.caller.is_app:
        # An installation has no account.
        raise call.caller.refusal()
    user = call.user
    private = {
        "private_gists": 0,
        "total_private_repos": 0,
        "owned_private_repos": 0,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": True,
        "user_view_type": "private",
    }
    return Reply(200, {**repositories.full_user(call.site, user), **private})


def get_by_username(call: Call) -> Reply:
    user = call.state.user(call.params["username"])
    if user is None:
        raise errors.not_found()
    return Reply(200, repositories.full_user(call.site, user))


def rate_limit(call: Call) -> Reply:
    return Reply(200, rate_limits(call.caller, call.state.epoch()))


def meta(call: Call) -> Reply:
    return Reply(200, {"verifiable_password_authentication": False, "installed_version": "3.99.0"})


ROUTES: tuple[Route, ...] = (
    ("GET", "/search/issues", search_issues),
    ("GET", "/user", get_authenticated),
    ("GET", "/users/{username}", get_by_username),
    ("GET", "/rate_limit", rate_limit),
    ("GET", "/meta", meta),
)
