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
from slash_forge.threads import record_event, set_assignees, set_labels

_LOCK_REASONS = ("off-topic", "too heated", "resolved", "spam")
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
    creator = call.query.get("creator", "").casefold()
    since = call.query.get("since", "")
    matches = [
        issue
        for issue in repo.threads.values()
        if state in ("all", issue.state)
        and all(any(one.name.casefold() == name for one in issue.labels) for name in requested)
        and (not creator or (issue.author is not None and issue.author.login.casefold() == creator))
        and issue.updated_at >= since
        and _assigned(issue, call.query.get("assignee", "*all"))
    ]
    ordered = in_order(call, matches, newest=lambda issue: issue.number)
    return call.page(ordered, lambda issue: threads.issue(call.site, repo, issue))


def _assigned(issue: Issue, requested: str) -> bool:
    if requested == "*all":
        return True
    if requested in ("*", "none"):
        return bool(issue.assignees) == (requested == "*")
    return any(user.login.casefold() == requested.casefold() for user in issue.assignees)


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
        set_labels(call.state, issue, labels.requested_labels(call, repo), author)
        set_assignees(call.state, issue, _assignees(call, repo), author)
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
        set_labels(call.state, issue, labels.requested_labels(call, repo), call.user)
    if "assignees" in call.fields():
        _require_triage(call, repo)
        set_assignees(call.state, issue, _assignees(call, repo), call.user)
    return _reply(call, repo, issue)


def edit(call: Call, repo: Repository, issue: Issue, resource: str) -> None:
    """Title, body and state: by the author, or with triage (state) or write (words)."""
    fields = call.fields()
    role, mine = call.caller.role(repo), call.user is issue.author
    words, state = fields.keys() & {"title", "body"}, "state" in fields
    if (words and not mine and role < Role.WRITE) or (state and not mine and role < Role.TRIAGE):
        raise errors.forbidden("Must have admin rights to Repository.")
    if fields.get("title") is not None:
        title = checked_title(call.required("title"), resource)
        if title != issue.title:
            record_event(call.state, issue, "renamed", call.user, details={"from": issue.title, "to": title})
        issue.title = title
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
        record_event(call.state, issue, "closed", call.user, details=_reason(issue))
    else:
        issue.state, issue.closed_at, issue.closed_by = "open", None, None
        issue.state_reason = None if issue.pull else "reopened"
        record_event(call.state, issue, "reopened", call.user, details=_reason(issue))


def _reason(issue: Issue) -> dict[str, str]:
    return {"reason": issue.state_reason} if issue.state_reason else {}


def _require_triage(call: Call, repo: Repository) -> None:
    call.require(repo, Role.TRIAGE)


def lock(call: Call) -> Reply:
    repo, issue = call.thread("write")
    call.require(repo, Role.WRITE)
    reason = call.text("lock_reason")
    if reason is not None and reason not in _LOCK_REASONS:
        raise errors.invalid("Issue", "lock_reason")
    issue.locked, issue.lock_reason = True, reason
    record_event(call.state, issue, "locked", call.user, details={"reason": reason} if reason else {})
    return Reply(204)


def unlock(call: Call) -> Reply:
    repo, issue = call.thread("write")
    call.require(repo, Role.WRITE)
    issue.locked, issue.lock_reason = False, None
    record_event(call.state, issue, "unlocked", call.user)
    return Reply(204)


def add_assignees(call: Call) -> Reply:
    repo, issue = call.thread("write")
    _require_triage(call, repo)
    added = [user for user in _assignees(call, repo) if user not in issue.assignees]
    set_assignees(call.state, issue, [*issue.assignees, *added], call.user)
    return _reply(call, repo, issue, 201)


def remove_assignees(call: Call) -> Reply:
    repo, issue = call.thread("write")
    _require_triage(call, repo)
    removed = {login.casefold() for login in call.names("assignees")}
    remaining = [user for user in issue.assignees if user.login.casefold() not in removed]
    set_assignees(call.state, issue, remaining, call.user)
    return _reply(call, repo, issue)


_ISSUES = "/repos/{owner}/{repo}/issues"
_ISSUE = f"{_ISSUES}/{{issue_number}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _ISSUES, list_for_repo),
    ("POST", _ISSUES, create),
    ("GET", _ISSUE, get),
    ("PATCH", _ISSUE, update),
    ("PUT", f"{_ISSUE}/lock", lock),
    ("DELETE", f"{_ISSUE}/lock", unlock),
    ("POST", f"{_ISSUE}/assignees", add_assignees),
    ("DELETE", f"{_ISSUE}/assignees", remove_assignees),
)
