"""Labels of a thread."""

from __future__ import annotations

from slash_forge import errors
from slash_forge.call import Call, Reply, Route
from slash_forge.shapes import threads
from slash_forge.state import Issue, Label, Repository, Role, State

_GREY = "ededed"


def ensure_label(state: State, repo: Repository, name: str) -> Label:
    """The repository's label of that name, created if missing."""
    label = repo.labels.get(name.casefold())
    if label is None:
        label = Label(state.next_id(), name, _GREY, None)
        repo.labels[name.casefold()] = label
    return label


def _reply(call: Call, repo: Repository, issue: Issue) -> Reply:
    return Reply(200, [threads.label(call.site, repo, label) for label in issue.labels])


def _writable(call: Call) -> tuple[Repository, Issue]:
    repo, issue = call.thread("write")
    call.require(repo, Role.TRIAGE)
    return repo, issue


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
    issue.labels += added
    return _reply(call, repo, issue)


def remove(call: Call) -> Reply:
    repo, issue = _writable(call)
    label = repo.labels.get(call.params["name"].casefold())
    if label is None or label not in issue.labels:
        raise errors.ApiError(404, "Label does not exist")
    issue.labels.remove(label)
    return _reply(call, repo, issue)


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

_ON_ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}/labels"

ROUTES: tuple[Route, ...] = (("POST", _ON_ISSUE, add), ("DELETE", f"{_ON_ISSUE}/{{name}}", remove))
