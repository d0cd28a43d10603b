"""Pull requests: open, edit, files and commits, requested reviewers."""

from __future__ import annotations

from slash_forge import errors, pulls
from slash_forge.call import Call, Reply, Route
from slash_forge.operations.issues import checked_body, checked_title, edit, in_order
from slash_forge.shapes import commits
from slash_forge.shapes import pulls as shapes
from slash_forge.state import Issue, Pull, Repository, Role, User

ACTIONS_REFUSED = "GitHub Actions is not permitted to create or approve pull requests."


def find_pull(call: Call, *, write: bool = False) -> tuple[Repository, Issue, Pull]:
    repo = call.repository("pull_requests", "write" if write else "read")
    issue = repo.threads.get(call.number("pull_number"))
    if issue is None or issue.pull is None:
        raise errors.not_found()
    return repo, issue, issue.pull


def _full(call: Call, repo: Repository, issue: Issue, pull: Pull, status: int = 200) -> Reply:
    if issue.state == "open":
        pulls.attempt(call.state, repo, issue, pull)
    shape = shapes.full_pull(call.site, repo, issue, pull, pulls.measure(repo, pull))
    return Reply(status, shape, {"Location": shape["url"]} if status == 201 else {})


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("pull_requests")
    state, base = call.query.get("state", "open"), call.query.get("base")
    # GitHub ignores a `head` without an owner.
    owner, colon, branch = call.query.get("head", "").partition(":")
    matches = [
        issue
        for issue, pull in repo.pulls()
        if state in ("all", issue.state)
        and base in (None, "", pull.base_ref)
        and (not colon or (pull.head_owner.login.casefold(), pull.head_ref) == (owner.casefold(), branch))
    ]
    ordered = in_order(call, matches, newest=lambda issue: issue.number)
    return call.page(
        [(issue, issue.pull) for issue in ordered if issue.pull], lambda row: _simple(call, repo, *row)
    )


def _simple(call: Call, repo: Repository, issue: Issue, pull: Pull) -> object:
    return shapes.simple_pull(call.site, repo, issue, pull)


def get(call: Call) -> Reply:
    repo, issue, pull = find_pull(call)
    return _full(call, repo, issue, pull)


# -- opening


def create(call: Call) -> Reply:
    repo = call.repository("pull_requests", "write")
    author = call.user
    if call.caller.is_app and not repo.actions_may_open_pull_requests:
        raise errors.forbidden(ACTIONS_REFUSED)
    title = checked_title(call.required("title"), "PullRequest")
    head_name, base_ref = call.required("head"), call.required("base")
    body = checked_body(call, "PullRequest")
    source, head_ref = pulls.find_head(call.state, repo, head_name)
    if source is None:
        raise errors.invalid("PullRequest", "head")
    if call.caller.role(source) < Role.WRITE:
        raise errors.not_found()
    base_sha, head_sha = repo.git.branch(base_ref), source.git.branch(head_ref)
    if base_sha is None:
        raise errors.invalid("PullRequest", "base")
    if head_sha is None:
        raise errors.invalid("PullRequest", "head")
    _check_new(repo, source, head_ref, base_ref)
    if source is not repo:
        repo.git.fetch(source.git.path, head_sha)
    if repo.git.is_ancestor(head_sha, base_sha):
        label = f"{source.owner.login}:{head_ref}" if source is not repo else head_ref
        raise errors.custom("PullRequest", f"No commits between {base_ref} and {label}")
    if repo.git.merge_base(base_sha, head_sha) is None:
        message = f"The {head_ref} branch has no history in common with {base_ref}"
        raise errors.custom("PullRequest", message)
    issue = pulls.open_pull(
        call.state,
        repo,
        source,
        head_ref,
        base_ref,
        author=author,
        title=title,
        body=body,
        draft=call.flag("draft", default=False),
        maintainer_can_modify=call.flag("maintainer_can_modify", default=True),
    )
    assert issue.pull is not None
    return _full(call, repo, issue, issue.pull, 201)


def _check_new(repo: Repository, source: Repository, head_ref: str, base_ref: str) -> None:
    for issue, pull in repo.pulls():
        same = (pull.head_repository, pull.head_ref, pull.base_ref) == (source, head_ref, base_ref)
        if same and issue.state == "open":
            label = f"{source.owner.login}:{head_ref}"
            raise errors.custom("PullRequest", f"A pull request already exists for {label}.")


# -- changing


def update(call: Call) -> Reply:
    repo, issue, pull = find_pull(call, write=True)
    edit(call, repo, issue, "PullRequest")
    base = call.text("base")
    if base is not None and base != pull.base_ref:
        sha = repo.git.branch(base)
        if sha is None:
            raise errors.invalid("PullRequest", "base")
        pull.base_ref, pull.base_sha = base, sha
    pull.maintainer_can_modify = call.flag("maintainer_can_modify", pull.maintainer_can_modify)
    return _full(call, repo, issue, pull)


# -- reading


def list_files(call: Call) -> Reply:
    repo, _, pull = find_pull(call)
    match = pulls.files(repo, pull)
    return call.page(match[:3000], lambda file: commits.changed_file(call.site, repo, pull.head_sha, file))


def list_commits(call: Call) -> Reply:
    repo, _, pull = find_pull(call)
    match = pulls.commits(repo, pull)
    return call.page(match, lambda item: commits.commit(call.state, call.site, repo, item))


# -- reviewers


def request_reviewers(call: Call) -> Reply:
    repo, issue, pull = find_pull(call, write=True)
    call.require(repo, Role.WRITE)
    for login in call.names("reviewers"):
        user = call.state.user(login)
        if user is None or not _may_review(repo, user):
            raise errors.ApiError(
                422,
                "Reviews may only be requested from collaborators. One or more of the users or teams you "
                f"specified is not a collaborator of the {repo.full_name} repository.",
            )
        if user is issue.author:
            raise errors.ApiError(422, "Review cannot be requested from pull request author.")
        if user not in pull.reviewers:
            pull.reviewers.append(user)
    return Reply(201, shapes.simple_pull(call.site, repo, issue, pull))


def _may_review(repo: Repository, user: User) -> bool:
    return user is repo.owner or user.id in repo.roles


_PULLS = "/repos/{owner}/{repo}/pulls"
_PULL = f"{_PULLS}/{{pull_number}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _PULLS, list_for_repo),
    ("POST", _PULLS, create),
    ("GET", _PULL, get),
    ("PATCH", _PULL, update),
    ("GET", f"{_PULL}/files", list_files),
    ("GET", f"{_PULL}/commits", list_commits),
    ("POST", f"{_PULL}/requested_reviewers", request_reviewers),
)
