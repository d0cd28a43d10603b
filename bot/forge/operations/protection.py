"""What guards a branch: rules, and the older branch protection."""

from __future__ import annotations

from fnmatch import fnmatchcase

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.router import Route
from bot.forge.state import Repository, Role


def list_rules(call: Call) -> Reply:
    """Everybody who can read may ask; a branch that is not there has the rules it would have."""
    repo = call.repository()
    name = call.params["branch"]
    found = [rule for rule in repo.rules if fnmatchcase(name, rule.pattern)]
    return call.page(
        found,
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
    found = repo.protections.get(name)
    if found is None:
        raise errors.ApiError(404, "Branch not protected")
    return Reply(200, _protection(call, repo, name, found))


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
    ("GET", f"{_REPO}/rules/branches/{{branch+}}", list_rules),
    ("GET", f"{_REPO}/branches/{{branch+}}/protection", get_protection),
)
