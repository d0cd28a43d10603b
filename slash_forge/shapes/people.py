"""Users, bots and organisations."""

from __future__ import annotations

from typing import Any

from slash_forge.shapes.site import Site, node_id
from slash_forge.state import Repository, Role, User

Json = dict[str, Any]


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
    return {
        **simple_user(site, user),
        "permissions": permissions(role),
        "role_name": role.name.lower(),
    }


def collaborator_permission(site: Site, user: User, role: Role) -> Json:
    """`permission` knows four words only: maintain is write there, and triage is read."""
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
