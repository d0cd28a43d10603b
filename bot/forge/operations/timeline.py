"""Events of issues and pull requests, and their timelines."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.reviews import Review
from bot.forge.router import Route
from bot.forge.shapes import timeline as shapes
from bot.forge.state import Comment
from bot.forge.timeline import Happening


def list_for_issue(call: Call) -> Reply:
    repo, issue = call.thread()
    return call.page(issue.happenings, lambda one: shapes.event(call.site, repo, one))


def list_for_repo(call: Call) -> Reply:
    """Newest first."""
    repo = call.repository("issues|pull_requests")
    rows = [(issue, one) for issue in repo.threads.values() for one in issue.happenings]
    rows.sort(key=lambda row: row[1].id, reverse=True)
    return call.page(rows, lambda row: shapes.event_with_issue(call.site, repo, *row))


def get(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    wanted = call.number("event_id")
    for issue in repo.threads.values():
        for one in issue.happenings:
            if one.id == wanted:
                return Reply(200, shapes.event_with_issue(call.site, repo, issue, one))
    raise errors.not_found()


def timeline(call: Call) -> Reply:
    repo, issue = call.thread()
    reviews = [one for one in issue.pull.reviews if one.submitted_at] if issue.pull else []
    rows: list[Happening | Comment | Review] = [*issue.happenings, *issue.comments, *reviews]
    rows.sort(key=_when)
    return call.page(rows, lambda one: shapes.entry(call.site, repo, issue, one))


def _when(one: Happening | Comment | Review) -> tuple[str, int]:
    if isinstance(one, Happening):
        return one.at, one.id
    return (one.created_at if isinstance(one, Comment) else one.submitted_at or ""), one.id


_ISSUES = "/repos/{owner}/{repo}/issues"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_ISSUES}/events", list_for_repo),
    ("GET", f"{_ISSUES}/events/{{event_id}}", get),
    ("GET", f"{_ISSUES}/{{issue_number}}/events", list_for_issue),
    ("GET", f"{_ISSUES}/{{issue_number}}/timeline", timeline),
)
