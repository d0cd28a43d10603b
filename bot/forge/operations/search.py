"""Searching issues and pull requests: the qualifiers that a bot uses, and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.operations.runs import within
from bot.forge.router import Route
from bot.forge.shapes import threads
from bot.forge.state import Issue, Repository, Role

_TERM = re.compile(r'(-?)(?:([a-z-]+):)?("[^"]*"|\S+)')
_MOST = 1000

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
    "created": lambda row, value: within(row[1].created_at, value.upper()),
    "updated": lambda row, value: within(row[1].updated_at, value.upper()),
    "closed": lambda row, value: within(row[1].closed_at or "", value.upper()),
    "no": lambda row, value: not (row[1].labels if value == "label" else row[1].assignees),
}


def search_issues(call: Call) -> Reply:
    terms = [
        (sign == "-", name, value.strip('"').casefold()) for sign, name, value in _TERM.findall(_query(call))
    ]
    kinds = {value for _, name, value in terms if name in ("is", "type")}
    if not kinds & {"issue", "pr", "pull-request"}:
        raise errors.custom("Search", "Query must include 'is:issue' or 'is:pull-request'")
    places = {value for _, name, value in terms if name == "in"}
    found = [
        row
        for row in _visible(call)
        if all(_holds(row, name, value, places) != negated for negated, name, value in terms if name != "in")
    ]
    by = "updated_at" if call.query.get("sort") == "updated" else "created_at"
    found.sort(
        key=lambda row: (getattr(row[1], by), row[1].id), reverse=call.query.get("order", "desc") != "asc"
    )
    reply = call.page(found[:_MOST], lambda row: _item(call, *row), within="items")
    return Reply(
        200,
        {**reply.body, "total_count": len(found), "incomplete_results": False, "search_type": "lexical"},
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


def _holds(row: Row, name: str, value: str, places: set[str]) -> bool:
    if not name:
        texts = {"title": row[1].title, "body": row[1].body or ""}
        texts["comments"] = "\n".join(one.body for one in row[1].comments) if "comments" in places else ""
        return any(value in text.casefold() for place, text in texts.items() if not places or place in places)
    test = _QUALIFIERS.get(name)
    if test is None:
        raise errors.custom("Search", f"The qualifier {name} is not one this forge knows")
    return test(row, value)


def _item(call: Call, repo: Repository, issue: Issue) -> object:
    return {**threads.issue(call.site, repo, issue), "score": 1.0}


ROUTES: tuple[Route, ...] = (("GET", "/search/issues", search_issues),)
