"""Merges, branch protection, rules and the activity of branches."""

from __future__ import annotations

from fnmatch import fnmatchcase

from slash_forge import errors, pulls
from slash_forge.call import Call, Reply
from slash_forge.operations.pulls import found_pull
from slash_forge.router import Route
from slash_forge.shapes.site import node_id
from slash_forge.state import Push, Repository, Role


def check_if_merged(call: Call) -> Reply:
    _, _, pull = found_pull(call)
    if pull.merged_at is None:
        raise errors.not_found()
    return Reply(204)


def merge(call: Call) -> Reply:
    """With the head's id, only while it is still that."""
    repo, issue, pull = found_pull(call, write=True)
    if not call.caller.may(repo, "contents", "write"):
        raise call.caller.refusal()
    if call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Must have write access to merge.")
    expected, method = call.text("sha"), call.text("merge_method") or "merge"
    if method == "rebase":
        raise errors.ApiError(405, "Rebase merges are not allowed on this repository.")
    if method not in ("merge", "squash"):
        raise errors.invalid("PullRequest", "merge_method")
    if issue.state == "closed" or pull.draft:
        state = "still a draft" if issue.state == "open" else "closed"
        raise errors.ApiError(405, f"Pull Request is {state}")
    if expected is not None and expected != pull.head_sha:
        raise errors.ApiError(409, "Head branch was modified. Review and try the merge again.")
    trial = pulls.attempt(call.state, repo, issue, pull)
    if trial is None or trial.sha is None:
        raise errors.ApiError(405, "Pull Request is not mergeable")
    sha = pulls.merge(
        call.state,
        repo,
        issue,
        pull,
        call.user,
        method=method,
        title=call.text("commit_title"),
        message=call.text("commit_message"),
    )
    return Reply(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


_MERGE = "/repos/{owner}/{repo}/pulls/{pull_number}/merge"


def list_activities(call: Call) -> Reply:
    """Newest first. Only the first page can be had: GitHub's others are found by a cursor."""
    repo = call.repository("contents")
    pulls.note(call.state, repo)
    requested = call.query.get("ref", "").removeprefix("refs/heads/")
    matches = [
        push for push in reversed(repo.pushes) if requested in ("", push.ref.removeprefix("refs/heads/"))
    ]
    return call.page(matches, _shape)


def _shape(push: Push) -> dict[str, object]:
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
    """Everybody who can read may ask; a branch that is not there has the rules it would have."""
    repo = call.repository()
    name = call.params["branch"]
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


def get_protection(call: Call) -> Reply:
    """For administrators alone."""
    repo, name = call.repository(), call.params["branch"]
    if call.caller.token is not None and not call.caller.token.may("administration", "read"):
        raise call.caller.refusal()
    call.require(repo, Role.ADMIN)
    if repo.git.branch(name) is None:
        raise errors.ApiError(404, "Branch not found")
    match = repo.protections.get(name)
    if match is None:
        raise errors.ApiError(404, "Branch not protected")
    return Reply(200, _protection(call, repo, name, match))


def _protection(call: Call, repo: Repository, name: str, reviews: int) -> object:
    url = f"{call.site.api}/repos/{repo.full_name}/branches/{name}/protection"
    return {
        "url": url,
        "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": False},
        "required_pull_request_reviews": {
            "url": f"{url}/required_pull_request_reviews",
            "dismiss_stale_reviews": False,
            "require_code_owner_reviews": False,
            "required_approving_review_count": reviews,
            "require_last_push_approval": False,
        },
        "required_linear_history": {"enabled": False},
        "allow_force_pushes": {"enabled": False},
        "allow_deletions": {"enabled": False},
    }


_REPO = "/repos/{owner}/{repo}"

ROUTES: tuple[Route, ...] = (
    ("GET", _MERGE, check_if_merged),
    ("PUT", _MERGE, merge),
    ("GET", "/repos/{owner}/{repo}/activity", list_activities),
    ("GET", f"{_REPO}/rules/branches/{{branch+}}", list_rules),
    ("GET", f"{_REPO}/branches/{{branch+}}/protection", get_protection),
)
