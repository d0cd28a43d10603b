"""Every operation the forge answers."""

from __future__ import annotations

from bot.forge.graphql import endpoint
from bot.forge.operations import (
    activity,
    apps,
    artifacts,
    checks,
    comments,
    contents,
    git_data,
    git_objects,
    issues,
    labels,
    merges,
    protection,
    pulls,
    reactions,
    repositories,
    review_comments,
    reviews,
    runs,
    search,
    statuses,
    timeline,
    users,
    workflows,
)
from bot.forge.router import Route

# Comments and reactions first: `issues/comments/...` must not be taken for an issue's number, nor `pulls/comments`.
# Checks and statuses before commits: a ref may hold slashes.
ROUTES: tuple[Route, ...] = (
    *endpoint.ROUTES,
    *users.ROUTES,
    *apps.ROUTES,
    *search.ROUTES,
    *timeline.ROUTES,
    *reactions.ROUTES,
    *comments.ROUTES,
    *issues.ROUTES,
    *labels.ROUTES,
    *review_comments.ROUTES,
    *pulls.ROUTES,
    *merges.ROUTES,
    *reviews.ROUTES,
    *checks.ROUTES,
    *statuses.ROUTES,
    *artifacts.ROUTES,
    *runs.ROUTES,
    *workflows.ROUTES,
    *contents.ROUTES,
    *git_data.ROUTES,
    *git_objects.ROUTES,
    *protection.ROUTES,
    *activity.ROUTES,
    *repositories.ROUTES,
)
