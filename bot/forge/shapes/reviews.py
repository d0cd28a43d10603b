"""Reviews of pull requests, and the comments in them."""

from __future__ import annotations

from typing import Any

from bot.forge.reviews import Review, ReviewComment, current
from bot.forge.shapes.people import association, person
from bot.forge.shapes.site import Site, node_id
from bot.forge.shapes.threads import reaction_rollup
from bot.forge.state import Issue, Pull, Repository

Json = dict[str, Any]


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
    """Where its lines are gone, `line` and `position` are null and only the original ones remain."""
    api = f"{site.api}/repos/{repo.full_name}/pulls"
    html = f"{site.html}/{repo.full_name}/pull/{item.number}#discussion_r{one.id}"
    url, pull_url = f"{api}/comments/{one.id}", f"{api}/{item.number}"
    thread, now = one.thread, current(repo, pull, one.thread)
    then = thread.place
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
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "pull_request": {"href": pull_url},
        },
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
