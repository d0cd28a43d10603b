"""What GitHub delivers when something happens: event payloads."""

from __future__ import annotations

from typing import Any

from bot.forge.shapes import people, repositories, threads
from bot.forge.shapes.site import Site
from bot.forge.state import Comment, Issue, Repository


def issue_comment(
    site: Site, repo: Repository, issue: Issue, comment: Comment, action: str
) -> dict[str, Any]:
    """The sender is the comment's author."""
    payload: dict[str, Any] = {
        "action": action,
        "issue": threads.issue(site, repo, issue),
        "comment": threads.comment(site, repo, issue, comment),
        "repository": repositories.repository(site, repo),
        "sender": people.person(site, comment.author),
    }
    if action == "edited":
        payload["changes"] = {"body": {"from": comment.body}}
    if repo.owner.kind == "Organization":
        payload["organization"] = organisation(site, repo)
    return payload


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
