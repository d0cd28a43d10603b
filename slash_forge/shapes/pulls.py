"""Pull requests, reviews, review comments and timelines."""

from __future__ import annotations

from slash_forge.checks import failing
from slash_forge.pulls import Measures
from slash_forge.reviews import Review, ReviewComment, current, submitted_comments
from slash_forge.shapes.repositories import association, person, repository, simple_user
from slash_forge.shapes.site import Json, Site, node_id
from slash_forge.shapes.threads import label, reaction_rollup
from slash_forge.state import Issue, Pull, Repository, User


def simple_pull(site: Site, repo: Repository, item: Issue, pull: Pull) -> Json:
    """The form in lists."""
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
        "auto_merge": {
            "enabled_by": person(site, item.author),
            "merge_method": "merge",
            "commit_title": None,
            "commit_message": None,
        }
        if pull.auto_merge
        else None,
        "active_lock_reason": item.lock_reason,
    }


def full_pull(site: Site, repo: Repository, item: Issue, pull: Pull, measures: Measures) -> Json:
    """The form of a single pull request."""
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
        "review_comments": len(submitted_comments(pull)),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": measures.commits,
        "additions": measures.additions,
        "deletions": measures.deletions,
        "changed_files": measures.changed_files,
    }


def _mergeable(item: Issue, pull: Pull) -> bool | None:
    """None: not known, or nothing to merge."""
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


def review(site: Site, repo: Repository, item: Issue, one: Review) -> Json:
    api = f"{site.api}/repos/{repo.full_name}/pulls/{item.number}"
    html = f"{site.html}/{repo.full_name}/pull/{item.number}#pullrequestreview-{one.id}"
    shape: Json = {
        "id": one.id,
        "node_id": node_id("PullRequestReview", one.id),
        "user": person(site, one.author),
        "body": one.body,
        "state": one.state,
        "html_url": html,
        "pull_request_url": api,
        "author_association": association(repo, one.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": api}},
        "commit_id": one.commit,
    }
    if one.submitted_at is not None:
        shape["submitted_at"] = one.submitted_at
    return shape


def comment(site: Site, repo: Repository, item: Issue, pull: Pull, one: ReviewComment) -> Json:
    """If its lines are gone, `line` and `position` are null; the original ones remain."""
    api = f"{site.api}/repos/{repo.full_name}/pulls"
    html = f"{site.html}/{repo.full_name}/pull/{item.number}#discussion_r{one.id}"
    url, pull_url = f"{api}/comments/{one.id}", f"{api}/{item.number}"
    thread, now = one.thread, current(repo, pull, one.thread)
    then = thread.anchor
    shape: Json = {
        "url": url,
        "pull_request_review_id": one.review.id,
        "id": one.id,
        "node_id": node_id("PullRequestReviewComment", one.id),
        "diff_hunk": thread.hunk,
        "path": thread.path,
        "commit_id": pull.head_sha if now or thread.on_file else thread.commit,
        "original_commit_id": thread.commit,
        "user": person(site, one.author),
        "body": one.body,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": association(repo, one.author),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull_url}},
        "reactions": reaction_rollup(url, one.reactions),
        "start_line": now.start_line if now else None,
        "original_start_line": then.start_line if then else None,
        "start_side": then.start_side if then else None,
        "line": now.line if now else None,
        "original_line": then.line if then else None,
        "side": then.side if then else "RIGHT",
        "position": now.position if now else None,
        "original_position": then.position if then else 1,
        "subject_type": "file" if thread.on_file else "line",
    }
    if one.reply_to is not None:
        shape["in_reply_to_id"] = one.reply_to
    return shape
