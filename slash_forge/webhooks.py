"""Event payloads: those that tests and the demo begin with."""

from __future__ import annotations

from typing import Any

from slash_forge import pulls
from slash_forge.reviews import ReviewComment
from slash_forge.runs import Run
from slash_forge.shapes import actions, repositories, threads
from slash_forge.shapes import pulls as shapes
from slash_forge.shapes.site import Json, Site
from slash_forge.state import Comment, Issue, Pull, Repository, User

# Merge settings that an event has in the repositories of head and base.
_MERGE_SETTINGS = {
    "allow_auto_merge": False,
    "allow_merge_commit": True,
    "allow_rebase_merge": True,
    "allow_squash_merge": True,
    "allow_update_branch": False,
    "delete_branch_on_merge": False,
    "merge_commit_message": "PR_TITLE",
    "merge_commit_title": "MERGE_MESSAGE",
    "squash_merge_commit_message": "COMMIT_MESSAGES",
    "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
    "use_squash_pr_title_as_default": False,
}


def _with_merge_settings(shape: Json) -> Json:
    for end in ("head", "base"):
        if shape[end]["repo"] is not None:
            shape[end]["repo"] |= _MERGE_SETTINGS
    return shape


def pull_request(
    site: Site, repo: Repository, issue: Issue, pull: Pull, *, action: str, sender: User | None, before: str
) -> Json:
    """Also the payload of `pull_request_target`. `before` is the head that synchronize moved away from. The default
    sender is the author."""
    full = shapes.full_pull(site, repo, issue, pull, pulls.measure(repo, pull))
    fields: Json = {"action": action, "number": issue.number, "pull_request": _with_merge_settings(full)}
    if action == "synchronize":
        fields |= {"before": before or pull.base_sha, "after": pull.head_sha}
    return payload(site, repo, sender or issue.author, **fields)


def review_comment(site: Site, repo: Repository, issue: Issue, pull: Pull, one: ReviewComment) -> Json:
    """The sender is the comment's author."""
    comment = shapes.comment(site, repo, issue, pull, one)
    brief = _with_merge_settings(shapes.simple_pull(site, repo, issue, pull))
    return payload(site, repo, one.author, action="created", comment=comment, pull_request=brief)


def payload(site: Site, repo: Repository, sender: User | None, **fields: Any) -> Json:
    """The event's own fields first, as GitHub has them; `sender` None is a deleted account."""
    event: Json = {
        **fields,
        "repository": repositories.repository(site, repo),
        "sender": repositories.person(site, sender),
    }
    if repo.owner.kind == "Organization":
        event["organization"] = organisation(site, repo)
    return event


def organisation(site: Site, repo: Repository) -> dict[str, Any]:
    owner = repo.owner
    api = f"{site.api}/orgs/{owner.login}"
    simple = repositories.simple_user(site, owner)
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


def issue_comment(site: Site, repo: Repository, issue: Issue, one: Comment) -> Json:
    """The sender is the comment's author."""
    thread, comment = threads.issue(site, repo, issue), threads.comment(site, repo, issue, one)
    return payload(site, repo, one.author, action="created", issue=thread, comment=comment)


def schedule(site: Site, repo: Repository, cron: str, workflow: str) -> Json:
    """An event without a sender."""
    event = payload(site, repo, None, schedule=cron, workflow=workflow)
    del event["sender"]
    return event


def workflow_run(site: Site, repo: Repository, run: Run) -> Json:
    workflow, shape = actions.workflow(site, repo, run.workflow), actions.run(site, repo, run)
    return payload(site, repo, run.actor, action="completed", workflow=workflow, workflow_run=shape)
