"""Pull requests."""

from __future__ import annotations

from typing import Any

from bot.forge.checks import failing
from bot.forge.pulls import Measures
from bot.forge.reviews import shown
from bot.forge.shapes.people import association, person, simple_user
from bot.forge.shapes.repositories import repository
from bot.forge.shapes.site import Site, node_id
from bot.forge.shapes.threads import label
from bot.forge.state import Issue, Pull, Repository, User

Json = dict[str, Any]


def simple_pull(site: Site, repo: Repository, item: Issue, pull: Pull) -> Json:
    """As a list of pull requests holds it."""
    repo_api = f"{site.api}/repos/{repo.full_name}"
    api = f"{repo_api}/pulls/{item.number}"
    issue_api = f"{repo_api}/issues/{item.number}"
    html = f"{site.html}/{repo.full_name}/pull/{item.number}"
    statuses = f"{repo_api}/statuses/{pull.head_sha}"
    review_comment = f"{repo_api}/pulls/comments{{/number}}"
    assignees = [simple_user(site, user) for user in item.assignees]
    return {
        "url": api,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue_api,
        "number": item.number,
        "state": item.state,
        "locked": item.locked,
        "title": item.title,
        "user": person(site, item.author),
        "body": item.body,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "closed_at": item.closed_at,
        "merged_at": pull.merged_at,
        "merge_commit_sha": pull.merge_sha or (pull.trial.sha if pull.trial else None),
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "requested_reviewers": [simple_user(site, user) for user in pull.reviewers],
        "requested_teams": [],
        "labels": [label(site, repo, one) for one in item.labels],
        "milestone": None,
        "draft": pull.draft,
        "commits_url": f"{api}/commits",
        "review_comments_url": f"{api}/comments",
        "review_comment_url": review_comment,
        "comments_url": f"{issue_api}/comments",
        "statuses_url": statuses,
        "head": _end(site, pull.head_repository, pull.head_owner, pull.head_ref, pull.head_sha),
        "base": _end(site, repo, repo.owner, pull.base_ref, pull.base_sha),
        "_links": {
            "self": {"href": api},
            "html": {"href": html},
            "issue": {"href": issue_api},
            "comments": {"href": f"{issue_api}/comments"},
            "review_comments": {"href": f"{api}/comments"},
            "review_comment": {"href": review_comment},
            "commits": {"href": f"{api}/commits"},
            "statuses": {"href": statuses},
        },
        "author_association": association(repo, item.author),
        "auto_merge": None,
        "active_lock_reason": item.lock_reason,
    }


def full_pull(site: Site, repo: Repository, item: Issue, pull: Pull, measures: Measures) -> Json:
    """As one pull request answers for itself."""
    mergeable = _mergeable(item, pull)
    state = {True: "clean", False: "dirty", None: "unknown"}[mergeable]
    if mergeable:
        state = "draft" if pull.draft else "unstable" if failing(repo, pull.head_sha) else state
    return {
        **simple_pull(site, repo, item, pull),
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": state,
        "merged_by": person(site, pull.merged_by),
        "comments": len(item.comments),
        "review_comments": len(shown(pull)),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": measures.commits,
        "additions": measures.additions,
        "deletions": measures.deletions,
        "changed_files": measures.changed_files,
    }


def _mergeable(item: Issue, pull: Pull) -> bool | None:
    """None: not known, or nothing is left to merge."""
    if item.state == "closed" or pull.trial is None or not pull.trial.known:
        return None
    return pull.trial.sha is not None


def _end(site: Site, repo: Repository | None, owner: User, ref: str, sha: str) -> Json:
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": simple_user(site, owner),
        "repo": repository(site, repo) if repo else None,
    }
