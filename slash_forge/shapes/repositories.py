"""Repositories, in GitHub's three sizes."""

from __future__ import annotations

from typing import Any

from slash_forge.shapes.people import permissions, simple_user
from slash_forge.shapes.site import Site, node_id
from slash_forge.state import Repository, Role

Json = dict[str, Any]

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


def repository(site: Site, repo: Repository, role: Role | None = None) -> Json:
    """As it is inside a pull request or an event; with `permissions` where `role` says whose."""
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
    """As `GET /repos/{owner}/{repo}` answers."""
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
