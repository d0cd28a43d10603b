"""Accounts, and repositories in GitHub's three sizes."""

from __future__ import annotations

from slash_forge.shapes.site import Json, Site, node_id
from slash_forge.state import Repository, Role, User

_LINKS = {
    "archive_url": "{archive_format}{/ref}",
    "assignees_url": "assignees{/user}",
    "blobs_url": "git/blobs{/sha}",
    "branches_url": "branches{/branch}",
    "collaborators_url": "collaborators{/collaborator}",
    "comments_url": "comments{/number}",
    "commits_url": "commits{/sha}",
    "compare_url": "compare/{base}...{head}",
    "contents_url": "contents/{+path}",
    "contributors_url": "contributors",
    "deployments_url": "deployments",
    "downloads_url": "downloads",
    "events_url": "events",
    "forks_url": "forks",
    "git_commits_url": "git/commits{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "hooks_url": "hooks",
    "issue_comment_url": "issues/comments{/number}",
    "issue_events_url": "issues/events{/number}",
    "issues_url": "issues{/number}",
    "keys_url": "keys{/key_id}",
    "labels_url": "labels{/name}",
    "languages_url": "languages",
    "merges_url": "merges",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "pulls_url": "pulls{/number}",
    "releases_url": "releases{/id}",
    "stargazers_url": "stargazers",
    "statuses_url": "statuses/{sha}",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "tags_url": "tags",
    "teams_url": "teams",
    "trees_url": "git/trees{/sha}",
}


# -- accounts


def simple_user(site: Site, user: User) -> Json:
    api = f"{site.api}/users/{user.login}"
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id(user.kind, user.id),
        "avatar_url": f"{site.html}/avatars/u/{user.id}?v=4",
        "gravatar_id": "",
        "url": api,
        "html_url": f"{site.html}/{user.login.removesuffix('[bot]')}",
        "followers_url": f"{api}/followers",
        "following_url": f"{api}/following{{/other_user}}",
        "gists_url": f"{api}/gists{{/gist_id}}",
        "starred_url": f"{api}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{api}/subscriptions",
        "organizations_url": f"{api}/orgs",
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events{{/privacy}}",
        "received_events_url": f"{api}/received_events",
        "type": user.kind,
        "user_view_type": "public",
        "site_admin": False,
    }


def person(site: Site, user: User | None) -> Json | None:
    """Null for somebody who deleted their account."""
    return simple_user(site, user) if user else None


def full_user(site: Site, user: User) -> Json:
    """The public profile."""
    return {
        **simple_user(site, user),
        "name": user.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": user.email,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": user.created_at,
        "updated_at": user.created_at,
    }


def permissions(role: Role) -> Json:
    return {
        "admin": role >= Role.ADMIN,
        "maintain": role >= Role.MAINTAIN,
        "push": role >= Role.WRITE,
        "triage": role >= Role.TRIAGE,
        "pull": role >= Role.READ,
    }


def collaborator(site: Site, user: User, role: Role) -> Json:
    return {**simple_user(site, user), "permissions": permissions(role), "role_name": role.name.lower()}


def collaborator_permission(site: Site, user: User, role: Role) -> Json:
    """`permission` has only four values: maintain becomes write, and triage read."""
    legacy = {Role.MAINTAIN: Role.WRITE, Role.TRIAGE: Role.READ}.get(role, role)
    return {
        "permission": legacy.name.lower(),
        "user": collaborator(site, user, role),
        "role_name": role.name.lower(),
    }


def association(repository: Repository, user: User | None) -> str:
    """`author_association`. Not a permission: GitHub's own differs from the role in many cases."""
    if user is None:
        return "NONE"
    if user is repository.owner:
        return "OWNER"
    if repository.is_member(user):
        return "MEMBER"
    return "COLLABORATOR" if user.id in repository.roles else "NONE"


# -- repositories


def repository(site: Site, repo: Repository, role: Role | None = None) -> Json:
    """The form inside a pull request or an event; with `permissions` if `role` is given."""
    api = f"{site.api}/repos/{repo.full_name}"
    html = f"{site.html}/{repo.full_name}"
    host = site.html.partition("://")[2]
    open_threads = sum(1 for thread in repo.threads.values() if thread.state == "open")
    shape: Json = {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": simple_user(site, repo.owner),
        "html_url": html,
        "description": repo.description,
        "fork": repo.parent is not None,
        "url": api,
        **{key: f"{api}/{rest}" for key, rest in _LINKS.items()},
        "created_at": repo.created_at,
        "updated_at": repo.updated_at,
        "pushed_at": repo.pushed_at,
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "homepage": None,
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": None,
        "has_issues": True,
        "has_projects": True,
        "has_downloads": True,
        "has_wiki": True,
        "has_pages": False,
        "has_discussions": False,
        "forks_count": 0,
        "mirror_url": None,
        "archived": False,
        "disabled": False,
        "open_issues_count": open_threads,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "forks": 0,
        "open_issues": open_threads,
        "watchers": 0,
        "default_branch": repo.default_branch,
    }
    if role is not None:
        shape["permissions"] = permissions(role)
    return shape


def full_repository(site: Site, repo: Repository, role: Role | None) -> Json:
    """The form of `GET /repos/{owner}/{repo}`."""
    shape = repository(site, repo, role)
    shape.update(
        allow_squash_merge=True,
        allow_merge_commit=True,
        allow_rebase_merge=True,
        allow_auto_merge=False,
        delete_branch_on_merge=False,
        network_count=0,
        subscribers_count=0,
    )
    if repo.owner.kind == "Organization":
        shape["organization"] = simple_user(site, repo.owner)
    if repo.parent is not None:
        shape["parent"] = shape["source"] = repository(site, repo.parent)
    return shape
