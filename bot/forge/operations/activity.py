"""The pushes to a repository's branches."""

from __future__ import annotations

from bot.forge import activity
from bot.forge.call import Call, Reply
from bot.forge.router import Route
from bot.forge.shapes.site import node_id
from bot.forge.state import Push


def list_activities(call: Call) -> Reply:
    """Newest first. Only the first page can be had: GitHub's others are found by a cursor."""
    repo = call.repository("contents")
    activity.note(call.state, repo)
    wanted = call.query.get("ref", "").removeprefix("refs/heads/")
    found = [push for push in reversed(repo.pushes) if wanted in ("", push.ref.removeprefix("refs/heads/"))]
    return call.page(found, _shape)


def _shape(push: Push) -> dict[str, object]:
    return {
        "id": push.id,
        "node_id": node_id("Push", push.id),
        "before": push.before,
        "after": push.after,
        "ref": push.ref,
        "timestamp": push.at,
        "activity_type": push.kind,
        "actor": None,
    }


ROUTES: tuple[Route, ...] = (("GET", "/repos/{owner}/{repo}/activity", list_activities),)
