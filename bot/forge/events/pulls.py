"""Of pull requests, their reviews and the comments on their lines."""

from __future__ import annotations

from bot.forge import pulls
from bot.forge.events.common import Json, payload
from bot.forge.reviews import Review, ReviewComment
from bot.forge.shapes import people, reviews, threads
from bot.forge.shapes import pulls as shapes
from bot.forge.shapes.site import Site
from bot.forge.state import Issue, Label, Pull, Repository, User

# Of a repository's settings, an event tells these of both ends.
_MERGING = {
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


def _ends(shape: Json) -> Json:
    for end in ("head", "base"):
        if shape[end]["repo"] is not None:
            shape[end]["repo"] |= _MERGING
    return shape


def pull_request(
    site: Site,
    repo: Repository,
    issue: Issue,
    pull: Pull,
    action: str,
    sender: User | None,
    *,
    label: Label | None = None,
    assignee: User | None = None,
    before: str = "",
) -> Json:
    """Also the payload of `pull_request_target`. `before` is the head that synchronize moved away from."""
    full = shapes.full_pull(site, repo, issue, pull, pulls.measure(repo, pull))
    fields: Json = {"action": action, "number": issue.number, "pull_request": _ends(full)}
    if action == "synchronize":
        fields |= {"before": before or pull.base_sha, "after": pull.head_sha}
    if action == "edited":
        fields["changes"] = {"title": {"from": issue.title}}
    if label is not None:
        fields["label"] = threads.label(site, repo, label)
    if assignee is not None:
        name = "requested_reviewer" if action.startswith("review_request") else "assignee"
        fields[name] = people.simple_user(site, assignee)
    return payload(site, repo, sender, **fields)


def review(site: Site, repo: Repository, issue: Issue, pull: Pull, one: Review, action: str) -> Json:
    """The sender is the review's author. Its state is in small letters here, and an empty body is null."""
    shape = reviews.review(site, repo, issue, one)
    shape |= {"state": one.state.lower(), "body": one.body or None}
    fields: Json = {"changes": {"body": {"from": one.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        one.author,
        action=action,
        review=shape,
        pull_request=_ends(shapes.simple_pull(site, repo, issue, pull)),
        **fields,
    )


def review_comment(
    site: Site, repo: Repository, issue: Issue, pull: Pull, one: ReviewComment, action: str
) -> Json:
    """The sender is the comment's author."""
    fields: Json = {"changes": {"body": {"from": one.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        one.author,
        action=action,
        comment=reviews.comment(site, repo, issue, pull, one),
        pull_request=_ends(shapes.simple_pull(site, repo, issue, pull)),
        **fields,
    )
