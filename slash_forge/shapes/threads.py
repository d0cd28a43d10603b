"""Issues, comments, labels and reactions."""

from __future__ import annotations

from collections.abc import Sequence

from slash_forge.shapes.repositories import association, person, simple_user
from slash_forge.shapes.site import Json, Site, node_id
from slash_forge.state import Comment, Issue, Label, Reaction, Repository

REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def label(site: Site, repo: Repository, item: Label) -> Json:
    return {
        "id": item.id,
        "node_id": node_id("Label", item.id),
        "url": f"{site.api}/repos/{repo.full_name}/labels/{item.name}",
        "name": item.name,
        "color": item.color,
        "default": item.default,
        "description": item.description,
    }


def reaction(site: Site, item: Reaction) -> Json:
    return {
        "id": item.id,
        "node_id": node_id("Reaction", item.id),
        "user": simple_user(site, item.user),
        "content": item.content,
        "created_at": item.created_at,
    }


def reaction_rollup(url: str, items: Sequence[Reaction]) -> Json:
    counts = dict.fromkeys(REACTIONS, 0)
    for item in items:
        counts[item.content] += 1
    return {"url": f"{url}/reactions", "total_count": len(items), **counts}


def issue(site: Site, repo: Repository, item: Issue) -> Json:
    """A pull request has this shape too, with a `pull_request` key."""
    api = f"{site.api}/repos/{repo.full_name}/issues/{item.number}"
    kind = "pull" if item.pull else "issues"
    html = f"{site.html}/{repo.full_name}/{kind}/{item.number}"
    assignees = [simple_user(site, user) for user in item.assignees]
    shape: Json = {
        "url": api,
        "repository_url": f"{site.api}/repos/{repo.full_name}",
        "labels_url": f"{api}/labels{{/name}}",
        "comments_url": f"{api}/comments",
        "events_url": f"{api}/events",
        "html_url": html,
        "id": item.id,
        "node_id": node_id("PullRequest" if item.pull else "Issue", item.id),
        "number": item.number,
        "title": item.title,
        "user": person(site, item.author),
        "labels": [label(site, repo, one) for one in item.labels],
        "state": item.state,
        "locked": item.locked,
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "milestone": None,
        "comments": len(item.comments),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "closed_at": item.closed_at,
        "author_association": association(repo, item.author),
        "active_lock_reason": item.lock_reason,
        "body": item.body,
        "closed_by": person(site, item.closed_by),
        "reactions": reaction_rollup(api, item.reactions),
        "timeline_url": f"{api}/timeline",
        "performed_via_github_app": None,
        "state_reason": item.state_reason,
    }
    if item.pull is None:
        shape["type"] = None
        shape["sub_issues_summary"] = {"total": 0, "completed": 0, "percent_completed": 0}
        return shape
    shape["draft"] = item.pull.draft
    shape["pull_request"] = {
        "url": f"{site.api}/repos/{repo.full_name}/pulls/{item.number}",
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "merged_at": item.pull.merged_at,
    }
    return shape


def comment(site: Site, repo: Repository, parent: Issue, item: Comment) -> Json:
    base = f"{site.api}/repos/{repo.full_name}/issues"
    kind = "pull" if parent.pull else "issues"
    url = f"{base}/comments/{item.id}"
    return {
        "url": url,
        "html_url": f"{site.html}/{repo.full_name}/{kind}/{parent.number}#issuecomment-{item.id}",
        "issue_url": f"{base}/{parent.number}",
        "id": item.id,
        "node_id": node_id("IssueComment", item.id),
        "user": person(site, item.author),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "body": item.body,
        "author_association": association(repo, item.author),
        "reactions": reaction_rollup(url, item.reactions),
        "performed_via_github_app": None,
    }
