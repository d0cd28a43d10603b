"""What every event's payload has: where it happened and who did it."""

from __future__ import annotations

from typing import Any

from bot.forge.shapes import people, repositories
from bot.forge.shapes.site import Site
from bot.forge.state import Repository, User

Json = dict[str, Any]


def payload(site: Site, repo: Repository, sender: User | None, **fields: Any) -> Json:
    """The event's own fields first, as GitHub has them; `sender` None is a deleted account."""
    made: Json = {
        **fields,
        "repository": repositories.repository(site, repo),
        "sender": people.person(site, sender),
    }
    if repo.owner.kind == "Organization":
        made["organization"] = organisation(site, repo)
    return made


def organisation(site: Site, repo: Repository) -> dict[str, Any]:
    owner = repo.owner
    api = f"{site.api}/orgs/{owner.login}"
    simple = people.simple_user(site, owner)
    return {
        "login": owner.login,
        "id": owner.id,
        "node_id": simple["node_id"],
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "avatar_url": simple["avatar_url"],
        "description": "",
    }
