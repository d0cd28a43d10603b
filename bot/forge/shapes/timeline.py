"""Events of a thread: as a list of their own, and mixed with what was said."""

from __future__ import annotations

from typing import Any

from bot.forge.reviews import Review
from bot.forge.shapes import reviews as review_shapes
from bot.forge.shapes import threads
from bot.forge.shapes.people import association, person
from bot.forge.shapes.site import Site, node_id
from bot.forge.state import Comment, Issue, Label, Repository, User
from bot.forge.timeline import Happening

Json = dict[str, Any]


def event(site: Site, repo: Repository, one: Happening) -> Json:
    shape: Json = {
        "id": one.id,
        "node_id": node_id("IssueEvent", one.id),
        "url": f"{site.api}/repos/{repo.full_name}/issues/events/{one.id}",
        "actor": person(site, one.actor),
        "event": one.kind,
        "commit_id": None,
        "commit_url": None,
        "created_at": one.at,
        "performed_via_github_app": None,
    }
    if isinstance(one.subject, Label):
        shape["label"] = {"name": one.subject.name, "color": one.subject.color}
    elif isinstance(one.subject, User) and one.kind == "review_requested":
        shape |= {
            "requested_reviewer": person(site, one.subject),
            "review_requester": person(site, one.actor),
        }
    elif isinstance(one.subject, User):
        shape |= {"assignee": person(site, one.subject), "assigner": person(site, one.actor)}
    if one.kind == "renamed":
        shape["rename"] = dict(one.details)
    if one.kind in ("locked", "unlocked"):
        shape["lock_reason"] = one.details.get("reason")
    if one.kind in ("closed", "reopened"):
        shape["state_reason"] = one.details.get("reason")
    return shape


def event_with_issue(site: Site, repo: Repository, issue: Issue, one: Happening) -> Json:
    return {**event(site, repo, one), "issue": threads.issue(site, repo, issue)}


def entry(site: Site, repo: Repository, issue: Issue, one: Happening | Comment | Review) -> Json:
    """One line of the timeline."""
    if isinstance(one, Happening):
        return event(site, repo, one)
    if isinstance(one, Comment):
        return {
            **threads.comment(site, repo, issue, one),
            "event": "commented",
            "actor": person(site, one.author),
        }
    return {
        **review_shapes.review(site, repo, issue, one),
        "event": "reviewed",
        "state": one.state.lower(),
        "author_association": association(repo, one.author),
    }
