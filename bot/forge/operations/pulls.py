"""Pull requests: opening, editing, reading what git says about them, asking for reviews."""

from __future__ import annotations

from bot.forge import diffs, errors, pulls
from bot.forge.call import Call, Reply
from bot.forge.operations.issues import checked_body, checked_title, edit, in_order, new_thread
from bot.forge.operations.repositories import diff_reply
from bot.forge.router import Route
from bot.forge.shapes import commits
from bot.forge.shapes import pulls as shapes
from bot.forge.shapes.people import simple_user
from bot.forge.state import Issue, Pull, Repository, Review, Role, User

_ACTIONS_REFUSED = "GitHub Actions is not permitted to create or approve pull requests."


def found_pull(call: Call, *, write: bool = False) -> tuple[Repository, Issue, Pull]:
    repo = call.repository("pull_requests", "write" if write else "read")
    issue = repo.threads.get(call.number("pull_number"))
    if issue is None or issue.pull is None:
        raise errors.not_found()
    return repo, issue, issue.pull


def _full(call: Call, repo: Repository, issue: Issue, pull: Pull, status: int = 200) -> Reply:
    shape = shapes.full_pull(call.site, repo, issue, pull, pulls.measure(repo, issue, pull))
    return Reply(status, shape, {"Location": shape["url"]} if status == 201 else {})


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("pull_requests")
    state, base = call.query.get("state", "open"), call.query.get("base")
    # GitHub ignores a `head` without an owner.
    owner, colon, branch = call.query.get("head", "").partition(":")
    found = [
        issue
        for issue, pull in repo.pulls()
        if state in ("all", issue.state)
        and base in (None, "", pull.base_ref)
        and (not colon or (pull.head_owner.login.casefold(), pull.head_ref) == (owner.casefold(), branch))
    ]
    ordered = in_order(call, found, newest=lambda issue: issue.number)
    return call.page(
        [(issue, issue.pull) for issue in ordered if issue.pull], lambda row: _simple(call, repo, *row)
    )


def _simple(call: Call, repo: Repository, issue: Issue, pull: Pull) -> object:
    return shapes.simple_pull(call.site, repo, issue, pull)


def get(call: Call) -> Reply:
    repo, issue, pull = found_pull(call)
    if call.wants("diff"):
        return diff_reply(diffs.unified(repo.git, pulls.merge_base(repo, pull), pull.head_sha), "diff")
    if call.wants("patch"):
        return diff_reply(diffs.mail_patches(repo.git, pulls.merge_base(repo, pull), pull.head_sha), "patch")
    return _full(call, repo, issue, pull)


# -- opening


def create(call: Call) -> Reply:
    repo = call.repository("pull_requests", "write")
    author = call.user
    if call.caller.is_app and not repo.actions_may_open_pull_requests:
        raise errors.forbidden(_ACTIONS_REFUSED)
    title = checked_title(call.required("title"), "PullRequest")
    head_name, base_ref = call.required("head"), call.required("base")
    body = checked_body(call, "PullRequest")
    source, head_ref = _head(call, repo, head_name)
    if call.caller.role(source) < Role.WRITE:
        raise errors.not_found()
    base_sha, head_sha = repo.git.branch(base_ref), source.git.branch(head_ref)
    if base_sha is None:
        raise errors.invalid("PullRequest", "base")
    if head_sha is None:
        raise errors.invalid("PullRequest", "head")
    _check_new(repo, source, head_ref, base_ref)
    if source is not repo:
        repo.git.take(source.git.path, head_sha)
    if repo.git.is_ancestor(head_sha, base_sha):
        label = f"{source.owner.login}:{head_ref}" if source is not repo else head_ref
        raise errors.custom("PullRequest", f"No commits between {base_ref} and {label}")
    if repo.git.merge_base(base_sha, head_sha) is None:
        message = f"The {head_ref} branch has no history in common with {base_ref}"
        raise errors.custom("PullRequest", message)
    issue = new_thread(call, repo, author, title, body)
    pull = Pull(
        id=call.state.next_id(),
        head_repository=source,
        head_owner=source.owner,
        head_ref=head_ref,
        head_sha=head_sha,
        base_ref=base_ref,
        base_sha=base_sha,
        draft=call.flag("draft", default=False),
        maintainer_can_modify=source is not repo and call.flag("maintainer_can_modify", default=True),
    )
    issue.pull = pull
    pulls.record_head(repo, issue, pull)
    return _full(call, repo, issue, pull, 201)


def _head(call: Call, repo: Repository, name: str) -> tuple[Repository, str]:
    """`branch` of this repository, or `owner:branch` of a fork."""
    owner, colon, branch = name.rpartition(":")
    if not colon or owner.casefold() == repo.owner.login.casefold():
        return repo, branch
    for candidate in call.state.repositories.values():
        if candidate.parent is repo and candidate.owner.login.casefold() == owner.casefold():
            return candidate, branch
    raise errors.invalid("PullRequest", "head")


def _check_new(repo: Repository, source: Repository, head_ref: str, base_ref: str) -> None:
    for issue, pull in repo.pulls():
        same = (pull.head_repository, pull.head_ref, pull.base_ref) == (source, head_ref, base_ref)
        if same and issue.state == "open":
            label = f"{source.owner.login}:{head_ref}"
            raise errors.custom("PullRequest", f"A pull request already exists for {label}.")


# -- changing


def update(call: Call) -> Reply:
    repo, issue, pull = found_pull(call, write=True)
    edit(call, repo, issue, "PullRequest")
    base = call.text("base")
    if base is not None and base != pull.base_ref:
        sha = repo.git.branch(base)
        if sha is None:
            raise errors.invalid("PullRequest", "base")
        pull.base_ref, pull.base_sha = base, sha
    pull.maintainer_can_modify = call.flag("maintainer_can_modify", pull.maintainer_can_modify)
    return _full(call, repo, issue, pull)


def check_if_merged(call: Call) -> Reply:
    _, _, pull = found_pull(call)
    if pull.merged_at is None:
        raise errors.not_found()
    return Reply(204)


# -- reading


def list_files(call: Call) -> Reply:
    repo, _, pull = found_pull(call)
    found = pulls.files(repo, pull)
    return call.page(found[:3000], lambda file: commits.changed_file(call.site, repo, pull.head_sha, file))


def list_commits(call: Call) -> Reply:
    repo, _, pull = found_pull(call)
    found = pulls.commits(repo, pull)
    return call.page(found, lambda item: commits.commit(call.state, call.site, repo, item))


# -- reviewers


def list_requested_reviewers(call: Call) -> Reply:
    _, _, pull = found_pull(call)
    users = [simple_user(call.site, user) for user in pull.reviewers]
    return Reply(200, {"users": users, "teams": []})


def request_reviewers(call: Call) -> Reply:
    repo, issue, pull = found_pull(call, write=True)
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


def remove_requested_reviewers(call: Call) -> Reply:
    repo, issue, pull = found_pull(call, write=True)
    call.require(repo, Role.WRITE)
    removed = {login.casefold() for login in call.names("reviewers")}
    pull.reviewers = [user for user in pull.reviewers if user.login.casefold() not in removed]
    return Reply(200, shapes.simple_pull(call.site, repo, issue, pull))


# -- reviews


def list_reviews(call: Call) -> Reply:
    repo, issue, pull = found_pull(call)
    return call.page(pull.reviews, lambda one: shapes.review(call.site, repo, issue, one))


def create_review(call: Call) -> Reply:
    repo, issue, pull = found_pull(call, write=True)
    author, event = call.user, call.text("event") or "PENDING"
    states = {
        "APPROVE": "APPROVED",
        "REQUEST_CHANGES": "CHANGES_REQUESTED",
        "COMMENT": "COMMENTED",
        "PENDING": "PENDING",
    }
    if event not in states:
        raise errors.invalid("PullRequestReview", "event")
    body = checked_body(call, "PullRequestReview") or ""
    if author is issue.author and event in ("APPROVE", "REQUEST_CHANGES"):
        deed = "approve" if event == "APPROVE" else "request changes on"
        raise errors.ApiError(422, "Unprocessable Entity", [f"Can not {deed} your own pull request"])
    if event == "APPROVE" and call.caller.is_app and not repo.actions_may_open_pull_requests:
        raise errors.forbidden(_ACTIONS_REFUSED)
    if event in ("REQUEST_CHANGES", "COMMENT") and not body:
        raise errors.ApiError(422, "Unprocessable Entity", ["Could not submit review: body can't be blank"])
    review = Review(call.state.next_id(), author, body, states[event], pull.head_sha, call.state.now())
    pull.reviews.append(review)
    return Reply(200, shapes.review(call.site, repo, issue, review))


_PULLS = "/repos/{owner}/{repo}/pulls"
_PULL = f"{_PULLS}/{{pull_number}}"

ROUTES: tuple[Route, ...] = (
    ("GET", _PULLS, list_for_repo),
    ("POST", _PULLS, create),
    ("GET", _PULL, get),
    ("PATCH", _PULL, update),
    ("GET", f"{_PULL}/merge", check_if_merged),
    ("GET", f"{_PULL}/files", list_files),
    ("GET", f"{_PULL}/commits", list_commits),
    ("GET", f"{_PULL}/requested_reviewers", list_requested_reviewers),
    ("POST", f"{_PULL}/requested_reviewers", request_reviewers),
    ("DELETE", f"{_PULL}/requested_reviewers", remove_requested_reviewers),
    ("GET", f"{_PULL}/reviews", list_reviews),
    ("POST", f"{_PULL}/reviews", create_review),
)
