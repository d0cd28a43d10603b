"""Repositories, collaborators, branches, commits and comparisons."""

from __future__ import annotations

from collections.abc import Mapping

from slash_forge import diffs, errors, pulls
from slash_forge.call import Call, Reply
from slash_forge.git import Commit
from slash_forge.router import Route
from slash_forge.shapes import commits, people, repositories
from slash_forge.shapes.pulls import simple_pull
from slash_forge.state import Repository, Role, User


def get(call: Call) -> Reply:
    repo = call.repository()
    role = call.caller.role(repo) if call.caller.token else None
    return Reply(200, repositories.full_repository(call.site, repo, role))


# -- people


def _account(call: Call) -> User:
    """People only: GitHub answers for an app's bot as for a name nobody has."""
    user = call.state.user(call.params["username"])
    if user is None or user.kind != "User":
        raise errors.ApiError(404, f"{call.params['username']} is not a user")
    return user


def get_collaborator_permission(call: Call) -> Reply:
    repo = call.repository()
    _ = call.user
    user = _account(call)
    if not call.caller.is_app and call.caller.role(repo) < Role.WRITE and user is not call.user:
        raise errors.forbidden("Must have push access to view collaborator permission.")
    return Reply(200, people.collaborator_permission(call.site, user, repo.role_of(user)))


def list_collaborators(call: Call) -> Reply:
    repo = call.repository()
    call.require(repo, Role.WRITE, "Must have push access to view repository collaborators.")
    users = [repo.owner] if repo.owner.kind == "User" else []
    users += [user for user in call.state.users.values() if user.id in repo.roles]
    return call.page(users, lambda user: people.collaborator(call.site, user, repo.role_of(user)))


def check_collaborator(call: Call) -> Reply:
    repo = call.repository()
    call.require(repo, Role.WRITE, "Must have push access to view repository collaborators.")
    user = _account(call)
    if user is repo.owner or user.id in repo.roles:
        return Reply(204)
    raise errors.not_found()


def check_assignee(call: Call) -> Reply:
    repo = call.repository()
    user = call.state.user(call.params["assignee"])
    if user is None or not may_be_assigned(repo, user):
        raise errors.not_found()
    return Reply(204)


def may_be_assigned(repo: Repository, user: User) -> bool:
    return user is repo.owner or user.id in repo.roles


# -- branches and commits


def list_branches(call: Call) -> Reply:
    repo = call.repository("contents")
    return call.page(repo.git.refs("refs/heads"), lambda ref: commits.short_branch(call.site, repo, ref))


def get_branch(call: Call) -> Reply:
    repo = call.repository("contents")
    name = call.params["branch"]
    sha = repo.git.branch(name)
    if sha is None:
        raise errors.ApiError(404, "Branch not found")
    return Reply(200, commits.branch(call.state, call.site, repo, name, repo.git.commit(sha)))


def revision(repo: Repository, name: str) -> str:
    """The commit a branch, tag, full ref or id names; GitHub's 404 for an empty repository is a 409."""
    sha = repo.git.resolve(name)
    if sha is None and not repo.git.refs("refs/heads"):
        raise errors.ApiError(409, "Git Repository is empty.")
    if sha is None:
        raise errors.ApiError(422, f"No commit found for SHA: {name}")
    return sha


def list_commits(call: Call) -> Reply:
    repo = call.repository("contents")
    start = revision(repo, call.query.get("sha") or repo.default_branch)
    match = repo.git.commits([start], limit=10_000, path=call.query.get("path"))
    return call.page(match, lambda item: commits.commit(call.state, call.site, repo, item))


def get_commit(call: Call) -> Reply:
    repo = call.repository("contents")
    item = repo.git.commit(revision(repo, call.params["ref"]))
    parent = item.parents[0] if item.parents else diffs.empty_tree(repo.git)
    if call.wants("sha"):
        return Reply(200, item.sha.encode(), content_type="application/vnd.github.sha")
    if call.wants("diff"):
        return diff_reply(diffs.unified(repo.git, parent, item.sha), "diff")
    if call.wants("patch"):
        return diff_reply(diffs.mail_patches(repo.git, parent, item.sha), "patch")
    files = diffs.changed_files(repo.git, parent, item.sha)
    return Reply(200, commits.commit_with_files(call.state, call.site, repo, item, files))


def list_pulls_of_commit(call: Call) -> Reply:
    """Those whose head it is, and those that brought it."""
    repo = call.repository("pull_requests")
    sha = revision(repo, call.params["commit_sha"])
    matches = [
        (issue, pull)
        for issue, pull in repo.pulls()
        if sha in (pull.head_sha, pull.merge_sha) or any(one.sha == sha for one in pulls.commits(repo, pull))
    ]
    return call.page(matches, lambda row: simple_pull(call.site, repo, *row))


def list_secrets(call: Call) -> Reply:
    """Their names; what they hold is told to nobody."""
    repo = call.repository()
    if call.caller.token is not None and not call.caller.token.may("secrets", "read"):
        raise call.caller.refusal()
    call.require(repo, Role.WRITE)
    matches = [
        {"name": name, "created_at": at, "updated_at": at} for name, at in sorted(repo.secrets.items())
    ]
    return call.page(matches, lambda one: one, key="secrets")


def diff_reply(data: bytes, kind: str) -> Reply:
    return Reply(200, data, content_type=f"application/vnd.github.{kind}; charset=utf-8")


def compare(call: Call) -> Reply:
    """`base...head`, each a branch, tag or id, `owner:branch` for a fork's."""
    repo = call.repository("contents")
    names = call.params["basehead"].partition("...")
    if not names[1]:
        raise errors.not_found()
    base, head = (_compared(call, repo, name) for name in (names[0], names[2]))
    merge_base = repo.git.merge_base(base, head)
    if merge_base is None:
        raise errors.ApiError(404, f"No common ancestor between {names[0]} and {names[2]}.")
    if call.wants("diff"):
        return diff_reply(diffs.unified(repo.git, merge_base, head), "diff")
    if call.wants("patch"):
        return diff_reply(diffs.mail_patches(repo.git, merge_base, head), "patch")
    return Reply(200, _comparison(call, repo, base, head, merge_base))


def _compared(call: Call, repo: Repository, name: str) -> str:
    owner, colon, ref = name.rpartition(":")
    source = repo
    if colon and owner.casefold() != repo.owner.login.casefold():
        forks = [one for one in call.state.repositories.values() if one.parent is repo]
        source = next((one for one in forks if one.owner.login.casefold() == owner.casefold()), repo)
    sha = source.git.resolve(ref)
    if sha is None:
        raise errors.not_found()
    if source is not repo:
        repo.git.take(source.git.path, sha)
    return sha


def _comparison(call: Call, repo: Repository, base: str, head: str, merge_base: str) -> Mapping[str, object]:
    git, basehead = repo.git, call.params["basehead"]
    html = f"{call.site.html}/{repo.full_name}/compare"
    ahead, behind = git.ahead_behind(base, head)
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    owner = repo.owner.login

    def shape(item: Commit) -> object:
        return commits.commit(call.state, call.site, repo, item)

    return {
        "url": f"{call.site.api}/repos/{repo.full_name}/compare/{basehead}",
        "html_url": f"{html}/{basehead}",
        "permalink_url": f"{html}/{owner}:{base}...{owner}:{head}",
        "diff_url": f"{html}/{basehead}.diff",
        "patch_url": f"{html}/{basehead}.patch",
        "base_commit": shape(git.commit(base)),
        "merge_base_commit": shape(git.commit(merge_base)),
        "status": status.get((ahead > 0, behind > 0), "diverged"),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [shape(item) for item in git.commits([head, f"^{base}"])[::-1]],
        "files": [
            commits.changed_file(call.site, repo, head, file)
            for file in diffs.changed_files(git, merge_base, head)[:300]
        ],
    }


ROUTES: tuple[Route, ...] = (
    ("GET", "/repos/{owner}/{repo}", get),
    ("GET", "/repos/{owner}/{repo}/collaborators", list_collaborators),
    ("GET", "/repos/{owner}/{repo}/collaborators/{username}", check_collaborator),
    ("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", get_collaborator_permission),
    ("GET", "/repos/{owner}/{repo}/assignees/{assignee}", check_assignee),
    ("GET", "/repos/{owner}/{repo}/branches", list_branches),
    ("GET", "/repos/{owner}/{repo}/branches/{branch+}", get_branch),
    ("GET", "/repos/{owner}/{repo}/commits", list_commits),
    ("GET", "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", list_pulls_of_commit),
    ("GET", "/repos/{owner}/{repo}/actions/secrets", list_secrets),
    ("GET", "/repos/{owner}/{repo}/commits/{ref+}", get_commit),
    ("GET", "/repos/{owner}/{repo}/compare/{basehead+}", compare),
)
