"""Of issues and of comments on them, pull requests' conversations included."""

from __future__ import annotations

from bot.forge.events.common import Json, payload
from bot.forge.shapes import people, threads
from bot.forge.shapes.site import Site
from bot.forge.state import Comment, Issue, Label, Repository, User


def issue_comment(site: Site, repo: Repository, issue: Issue, comment: Comment, action: str) -> Json:
    """The sender is the comment's author."""
    changes = {"changes": {"body": {"from": comment.body}}} if action == "edited" else {}
    return payload(
        site,
        repo,
        comment.author,
        action=action,
        issue=threads.issue(site, repo, issue),
        comment=threads.comment(site, repo, issue, comment),
        **changes,
    )


def issues(
    site: Site,
    repo: Repository,
    issue: Issue,
    action: str,
    sender: User | None,
    *,
    label: Label | None = None,
    assignee: User | None = None,
) -> Json:
    """`label` for labeled and unlabeled, `assignee` for assigned and unassigned."""
    fields: Json = {"action": action, "issue": threads.issue(site, repo, issue)}
    if label is not None:
        fields["label"] = threads.label(site, repo, label)
    if assignee is not None:
        fields["assignee"] = people.simple_user(site, assignee)
    if action == "edited":
        fields["changes"] = {"title": {"from": issue.title}}
    return payload(site, repo, sender, **fields)
