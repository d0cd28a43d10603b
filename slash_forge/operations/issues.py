"""Issues, and what pull requests share with them: state, lock, assignees."""

from __future__ import annotations

from collections.abc import Callable

from slash_forge import errors
from slash_forge.call import Call, Reply, Route
from slash_forge.operations import labels
from slash_forge.operations.repositories import may_be_assigned
from slash_forge.shapes import threads
from slash_forge.state import Issue, Repository, Role, User
from slash_forge.threads import create as create_thread

_CLOSE_REASONS = ("completed", "not_planned", "duplicate")


def _reply(call: Call, repo: Repository, issue: Issue, status: int = 200) -> Reply:
    shape = threads.issue(call.site, repo, issue)
    return Reply(status, shape, {"Location": shape["url"]} if status == 201 else {})


def get(call: Call) -> Reply:
    repo, issue = call.thread()
    return Reply(200, threads.issue(call.site, repo, issue))


def list_for_repo(call: Call) -> Reply:
    """Pull requests are in this list too, as on GitHub."""
    repo = call.repository("issues|pull_requests")
    state = call.query.get("state", "open")
    requested = [name.casefold() for name in call.query.get("labels", "").split(",") if name]
    since = call.query.get("since", "")
    matches = [
        issue
        for issue in repo.threads.values()
        if state in ("all", issue.state)
        and all(any(one.name.casefold() == name for one in issue.labels) for name in requested)
        and issue.updated_at >= since
    ]
    ordered = in_order(call, matches, newest=lambda issue: issue.number)
    return call.page(ordered, lambda issue: threads.issue(call.site, repo, issue))


def in_order(call: Call, matches: list[Issue], newest: Callable[[Issue], int]) -> list[Issue]:
    """Sorted by `sort` and `direction`, equal times by number."""
    keys: dict[str, Callable[[Issue], tuple[str | int, int]]] = {
        "created": lambda issue: (issue.created_at, newest(issue)),
        "updated": lambda issue: (issue.updated_at, newest(issue)),
        "comments": lambda issue: (len(issue.comments), newest(issue)),
    }
    key = keys.get(call.query.get("sort", "created"), keys["created"])
    return sorted(matches, key=key, reverse=call.query.get("direction", "desc") != "asc")


def create(call: Call) -> Reply:
    repo = call.repository("issues", "write")
    author = call.user
    title = _title(call)
    body = checked_body(call, "Issue")
    may_triage = call.caller.role(repo) >= Role.TRIAGE
    issue = create_thread(call.state, repo, author, title=title, body=body)
    if may_triage:
        # GitHub ignores labels and assignees that the author may not set.
        issue.labels, issue.assignees = labels.requested_labels(call, repo), _assignees(call, repo)
    return _reply(call, repo, issue, 201)


def checked_body(call: Call, resource: str) -> str | None:
    body = call.text("body")
    if body is not None and len(body) > errors.BODY_LIMIT:
        raise errors.too_long(resource)
    return body


def checked_title(title: str, resource: str) -> str:
    if not title.strip():
        raise errors.invalid(resource, "title", "missing_field")
    if len(title) > 256:
        raise errors.too_long(resource, "title", 256)
    return title


def _title(call: Call) -> str:
    title = call.fields().get("title")
    # GitHub takes a number for a title.
    return checked_title(str(title) if isinstance(title, int) else call.required("title"), "Issue")


def _assignees(call: Call, repo: Repository) -> list[User]:
    """Accounts that cannot be assigned are ignored, as on GitHub."""
    users = (call.state.user(login) for login in dict.fromkeys(call.names("assignees")))
    return [user for user in users if user and may_be_assigned(repo, user)]


def update(call: Call) -> Reply:
    repo, issue = call.thread("write")
    edit(call, repo, issue, "Issue")
    if "labels" in call.fields():
        _require_triage(call, repo)
        issue.labels = labels.requested_labels(call, repo)
    if "assignees" in call.fields():
        _require_triage(call, repo)
        issue.assignees = _assignees(call, repo)
    return _reply(call, repo, issue)


def edit(call: Call, repo: Repository, issue: Issue, resource: str) -> None:
    """Title, body and state: by the author, or with triage (state) or write (words)."""
    fields = call.fields()
    role, mine = call.caller.role(repo), call.user is issue.author
    words, state = fields.keys() & {"title", "body"}, "state" in fields
    if (words and not mine and role < Role.WRITE) or (state and not mine and role < Role.TRIAGE):
        raise errors.forbidden("Must have admin rights to Repository.")
    if fields.get("title") is not None:
        issue.title = checked_title(call.required("title"), resource)
    if "body" in fields:
        issue.body = checked_body(call, resource)
    if state:
        _set_state(call, issue, resource)
    issue.updated_at = call.state.now()


def _set_state(call: Call, issue: Issue, resource: str) -> None:
    state = call.text("state")
    if state not in ("open", "closed"):
        raise errors.invalid(resource, "state")
    if issue.pull and issue.pull.merged_at and state == "open":
        raise errors.invalid(resource, "state")
    if state == issue.state:
        return
    if state == "closed":
        reason = call.text("state_reason") or "completed"
        issue.state, issue.closed_at, issue.closed_by = "closed", call.state.now(), call.user
        issue.state_reason = None if issue.pull else reason if reason in _CLOSE_REASONS else "completed"
    else:
        issue.state, issue.closed_at, issue.closed_by = "open", None, None
        issue.state_reason = None if issue.pull else "reopened"


def _require_triage(call: Call, repo: Repository) -> None:
    call.require(repo, Role.TRIAGE)


_ISSUES = "/repos/{owner}/{repo}/issues"
_ISSUE = f"{_ISSUES}/{{issue_number}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _ISSUES, list_for_repo),
    ("POST", _ISSUES, create),
    ("GET", _ISSUE, get),
    ("PATCH", _ISSUE, update),
)
