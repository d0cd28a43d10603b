"""Repositories, collaborators, branches with their rules, commits and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial

from slash_forge import diffs, errors, pulls
from slash_forge.call import Call, Reply, Route
from slash_forge.shapes import commits, repositories
from slash_forge.shapes.site import node_id
from slash_forge.state import Push, Repository, Role, User


def get(call: Call) -> Reply:
    repo = call.repository()
    role = call.caller.role(repo) if call.caller.token else None
    return Reply(200, repositories.full_repository(call.site, repo, role))


# -- people


def _account(call: Call) -> User:
    """People only: for the bot of an app GitHub answers as for an unknown name."""
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
    return Reply(200, repositories.collaborator_permission(call.site, user, repo.role_of(user)))


def check_collaborator(call: Call) -> Reply:
    repo = call.repository()
    call.require(repo, Role.WRITE, "Must have push access to view repository collaborators.")
    user = _account(call)
    if user is repo.owner or user.id in repo.roles:
        return Reply(204)
    raise errors.not_found()


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
    """The commit that a branch, tag, full ref or id names. Raises a 409 for an empty repository."""
    sha = repo.git.resolve(name)
    if sha is None and not repo.git.refs("refs/heads"):
        raise errors.ApiError(409, "Git Repository is empty.")
    if sha is None:
        raise errors.ApiError(422, f"No commit found for SHA: {name}")
    return sha


def get_commit(call: Call) -> Reply:
    repo = call.repository("contents")
    item = repo.git.commit(revision(repo, call.params["ref"]))
    parent = item.parents[0] if item.parents else diffs.empty_tree(repo.git)
    files = diffs.changed_files(repo.git, parent, item.sha)
    return Reply(200, commits.commit_with_files(call.state, call.site, repo, item, files))


def list_secrets(call: Call) -> Reply:
    """The names only: values cannot be read."""
    repo = call.repository()
    if call.caller.token is not None and not call.caller.token.may("secrets", "read"):
        raise call.caller.refusal()
    call.require(repo, Role.WRITE)
    matches = [
        {"name": name, "created_at": at, "updated_at": at} for name, at in sorted(repo.secrets.items())
    ]
    return call.page(matches, lambda one: one, key="secrets")


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
        repo.git.fetch(source.git.path, sha)
    return sha


def _comparison(call: Call, repo: Repository, base: str, head: str, merge_base: str) -> Mapping[str, object]:
    git, basehead = repo.git, call.params["basehead"]
    html = f"{call.site.html}/{repo.full_name}/compare"
    ahead, behind = git.ahead_behind(base, head)
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    owner = repo.owner.login
    shape = partial(commits.commit, call.state, call.site, repo)
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


# -- activity, rules and protection of branches


def list_activities(call: Call) -> Reply:
    """Newest first. Only the first page: GitHub finds the others by a cursor."""
    repo = call.repository("contents")
    pulls.record_pushes(call.state, repo)
    ref = call.query.get("ref", "").removeprefix("refs/heads/")
    matches = [push for push in reversed(repo.pushes) if ref in ("", push.ref.removeprefix("refs/heads/"))]
    return call.page(matches, _activity)


def _activity(push: Push) -> dict[str, object]:
    return {
        "id": push.id,
        "node_id": node_id("Push", push.id),
        "before": push.before,
        "after": push.after,
        "ref": push.ref,
        "timestamp": push.at,
        "activity_type": push.kind,
        "actor": None,
    }


def list_rules(call: Call) -> Reply:
    """For every reader; a branch that does not exist has the rules it would have."""
    repo, name = call.repository(), call.params["branch"]
    matches = [rule for rule in repo.rules if fnmatchcase(name, rule.pattern)]
    return call.page(
        matches,
        lambda rule: {
            "type": rule.kind,
            "ruleset_source_type": "Repository",
            "ruleset_source": repo.full_name,
            "ruleset_id": rule.id,
            **({"parameters": dict(rule.parameters)} if rule.parameters else {}),
        },
    )


def list_rulesets(call: Call) -> Reply:
    """Each rule is a ruleset of its own."""
    repo = call.repository()
    common = {"target": "branch", "source": repo.full_name, "enforcement": "active"}
    return call.page(repo.rules, lambda rule: {"id": rule.id, "name": rule.kind, **common})


ROUTES: tuple[Route, ...] = (
    ("GET", "/repos/{owner}/{repo}", get),
    ("GET", "/repos/{owner}/{repo}/collaborators/{username}", check_collaborator),
    ("GET", "/repos/{owner}/{repo}/collaborators/{username}/permission", get_collaborator_permission),
    ("GET", "/repos/{owner}/{repo}/activity", list_activities),
    ("GET", "/repos/{owner}/{repo}/rules/branches/{branch+}", list_rules),
    ("GET", "/repos/{owner}/{repo}/rulesets", list_rulesets),
    ("GET", "/repos/{owner}/{repo}/branches", list_branches),
    ("GET", "/repos/{owner}/{repo}/branches/{branch+}", get_branch),
    ("GET", "/repos/{owner}/{repo}/actions/secrets", list_secrets),
    ("GET", "/repos/{owner}/{repo}/commits/{ref+}", get_commit),
    ("GET", "/repos/{owner}/{repo}/compare/{basehead+}", compare),
)
