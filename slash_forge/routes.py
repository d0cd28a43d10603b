"""The routes of all operations, in the order of matching."""

from __future__ import annotations

from slash_forge.graphql import endpoint
from slash_forge.operations import (
    apps,
    branches,
    checks,
    comments,
    git_data,
    issues,
    labels,
    pulls,
    repositories,
    review_comments,
    reviews,
    runs,
    search,
    workflows,
)
from slash_forge.router import Route

# Events and comments first: `issues/comments/...` must not match as an issue's number, nor `pulls/comments`.
# Checks and statuses before commits: a ref may hold slashes.
ROUTES: tuple[Route, ...] = (
    *endpoint.ROUTES,
    *search.ROUTES,
    *apps.ROUTES,
    *labels.ROUTES,
    *comments.ROUTES,
    *issues.ROUTES,
    *review_comments.ROUTES,
    *pulls.ROUTES,
    *branches.ROUTES,
    *reviews.ROUTES,
    *checks.ROUTES,
    *runs.ROUTES,
    *workflows.ROUTES,
    *git_data.ROUTES,
    *repositories.ROUTES,
)
