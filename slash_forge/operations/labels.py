"""Labels of a repository and of a thread, and the timeline of a thread."""

from __future__ import annotations

import re

from slash_forge import errors
from slash_forge.call import Call, Reply, Route
from slash_forge.reviews import Review
from slash_forge.shapes import pulls as shapes
from slash_forge.shapes import threads
from slash_forge.state import Comment, Issue, Label, Repository, Role, State
from slash_forge.threads import TimelineEvent, set_labels

_COLOR = re.compile(r"[0-9a-fA-F]{6}")
_GREY = "ededed"


def ensure_label(state: State, repo: Repository, name: str) -> Label:
    """The repository's label of that name, created if missing."""
    label = repo.labels.get(name.casefold())
    if label is None:
        label = Label(state.next_id(), name, _GREY, None)
        repo.labels[name.casefold()] = label
    return label


def _known(call: Call, repo: Repository) -> Label:
    label = repo.labels.get(call.params["name"].casefold())
    if label is None:
        raise errors.not_found()
    return label


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    matches = sorted(repo.labels.values(), key=lambda label: label.name.casefold())
    return call.page(matches, lambda label: threads.label(call.site, repo, label))


def get(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    return Reply(200, threads.label(call.site, repo, _known(call, repo)))


def create(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests", "write")
    call.require(repo, Role.WRITE)
    name = call.required("name")
    color = call.text("color") or _GREY
    if not _COLOR.fullmatch(color):
        raise errors.invalid("Label", "color")
    if name.casefold() in repo.labels:
        raise errors.invalid("Label", "name", "already_exists")
    label = ensure_label(call.state, repo, name)
    label.color, label.description = color, call.text("description")
    shape = threads.label(call.site, repo, label)
    return Reply(201, shape, {"Location": shape["url"]})


def update(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests", "write")
    call.require(repo, Role.WRITE)
    label = _known(call, repo)
    name, color = call.text("new_name") or label.name, call.text("color") or label.color
    if not _COLOR.fullmatch(color):
        raise errors.invalid("Label", "color")
    if name.casefold() != label.name.casefold() and name.casefold() in repo.labels:
        raise errors.invalid("Label", "name", "already_exists")
    del repo.labels[label.name.casefold()]
    label.name, label.color = name, color
    if "description" in call.fields():
        label.description = call.text("description")
    repo.labels[name.casefold()] = label
    return Reply(200, threads.label(call.site, repo, label))


def delete(call: Call) -> Reply:
    """Delete a label, also from all threads."""
    repo = call.repository("issues|pull_requests", "write")
    call.require(repo, Role.WRITE)
    label = _known(call, repo)
    del repo.labels[label.name.casefold()]
    for issue in repo.threads.values():
        issue.labels = [one for one in issue.labels if one is not label]
    return Reply(204)


def _reply(call: Call, repo: Repository, issue: Issue) -> Reply:
    return Reply(200, [threads.label(call.site, repo, label) for label in issue.labels])


def _writable(call: Call) -> tuple[Repository, Issue]:
    repo, issue = call.thread("write")
    call.require(repo, Role.TRIAGE)
    return repo, issue


def list_on_issue(call: Call) -> Reply:
    repo, issue = call.thread()
    return call.page(issue.labels, lambda label: threads.label(call.site, repo, label))


def requested_labels(call: Call, repo: Repository) -> list[Label]:
    """`{"labels": [...]}` or a bare list, of names or of objects with a name.

    Missing labels are created, as on GitHub.
    """
    named = call.body if isinstance(call.body, list) else call.fields().get("labels") or []
    names = []
    for item in named:
        name = item.get("name") if isinstance(item, dict) else item
        if not isinstance(name, str) or not name:
            raise errors.invalid("Label", "name")
        names.append(name)
    return [ensure_label(call.state, repo, name) for name in dict.fromkeys(names)]


def add(call: Call) -> Reply:
    repo, issue = _writable(call)
    added = [label for label in requested_labels(call, repo) if label not in issue.labels]
    set_labels(call.state, issue, [*issue.labels, *added], call.user)
    return _reply(call, repo, issue)


def replace(call: Call) -> Reply:
    repo, issue = _writable(call)
    set_labels(call.state, issue, requested_labels(call, repo), call.user)
    return _reply(call, repo, issue)


def remove(call: Call) -> Reply:
    repo, issue = _writable(call)
    label = repo.labels.get(call.params["name"].casefold())
    if label is None or label not in issue.labels:
        raise errors.ApiError(404, "Label does not exist")
    set_labels(call.state, issue, [one for one in issue.labels if one is not label], call.user)
    return _reply(call, repo, issue)


def clear(call: Call) -> Reply:
    _, issue = _writable(call)
    set_labels(call.state, issue, [], call.user)
    return Reply(204)


_REPO = "/repos/{owner}/{repo}"
_ON_ISSUE = f"{_REPO}/issues/{{issue_number}}/labels"


DEFAULT_LABELS = (
    ("bug", "d73a4a", "Something isn't working"),
    ("documentation", "0075ca", "Improvements or additions to documentation"),
    ("duplicate", "cfd3d7", "This issue or pull request already exists"),
    ("enhancement", "a2eeef", "New feature or request"),
    ("good first issue", "7057ff", "Good for newcomers"),
    ("help wanted", "008672", "Extra attention is needed"),
    ("invalid", "e4e669", "This doesn't seem right"),
    ("question", "d876e3", "Further information is requested"),
    ("wontfix", "ffffff", "This will not be worked on"),
)


def list_for_issue(call: Call) -> Reply:
    repo, issue = call.thread()
    return call.page(issue.timeline, lambda one: shapes.event(call.site, repo, one))


def list_events_for_repo(call: Call) -> Reply:
    """Newest first."""
    repo = call.repository("issues|pull_requests")
    rows = [(issue, one) for issue in repo.threads.values() for one in issue.timeline]
    rows.sort(key=lambda row: row[1].id, reverse=True)
    return call.page(rows, lambda row: shapes.event_with_issue(call.site, repo, *row))


def get_timeline(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    requested = call.number("event_id")
    for issue in repo.threads.values():
        for one in issue.timeline:
            if one.id == requested:
                return Reply(200, shapes.event_with_issue(call.site, repo, issue, one))
    raise errors.not_found()


def timeline(call: Call) -> Reply:
    repo, issue = call.thread()
    reviews = [one for one in issue.pull.reviews if one.submitted_at] if issue.pull else []
    rows: list[TimelineEvent | Comment | Review] = [*issue.timeline, *issue.comments, *reviews]
    rows.sort(key=_when)
    return call.page(rows, lambda one: shapes.entry(call.site, repo, issue, one))


def _when(one: TimelineEvent | Comment | Review) -> tuple[str, int]:
    if isinstance(one, TimelineEvent):
        return one.at, one.id
    return (one.created_at if isinstance(one, Comment) else one.submitted_at or ""), one.id


_ISSUES = "/repos/{owner}/{repo}/issues"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_REPO}/labels", list_for_repo),
    ("POST", f"{_REPO}/labels", create),
    ("GET", f"{_REPO}/labels/{{name}}", get),
    ("PATCH", f"{_REPO}/labels/{{name}}", update),
    ("DELETE", f"{_REPO}/labels/{{name}}", delete),
    ("GET", _ON_ISSUE, list_on_issue),
    ("POST", _ON_ISSUE, add),
    ("PUT", _ON_ISSUE, replace),
    ("DELETE", _ON_ISSUE, clear),
    ("DELETE", f"{_ON_ISSUE}/{{name}}", remove),
    ("GET", f"{_ISSUES}/events", list_events_for_repo),
    ("GET", f"{_ISSUES}/events/{{event_id}}", get_timeline),
    ("GET", f"{_ISSUES}/{{issue_number}}/events", list_for_issue),
    ("GET", f"{_ISSUES}/{{issue_number}}/timeline", timeline),
)
