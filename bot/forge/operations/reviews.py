"""Reviews of a pull request."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.operations.issues import checked_body
from bot.forge.operations.pulls import ACTIONS_REFUSED, found_pull
from bot.forge.router import Route
from bot.forge.shapes import pulls as shapes
from bot.forge.state import Review


def list_reviews(call: Call) -> Reply:
    repo, issue, pull = found_pull(call)
    return call.page(pull.reviews, lambda one: shapes.review(call.site, repo, issue, one))


def create_review(call: Call) -> Reply:
    repo, issue, pull = found_pull(call, write=True)
    author, event = call.user, call.text("event") or "PENDING"
    states = {
        "APPROVE": "APPROVED",
        "REQUEST_CHANGES": "CHANGES_REQUESTED",
        "COMMENT": "COMMENTED",
        "PENDING": "PENDING",
    }
    if event not in states:
        raise errors.invalid("PullRequestReview", "event")
    body = checked_body(call, "PullRequestReview") or ""
    if author is issue.author and event in ("APPROVE", "REQUEST_CHANGES"):
        deed = "approve" if event == "APPROVE" else "request changes on"
        raise errors.ApiError(422, "Unprocessable Entity", [f"Can not {deed} your own pull request"])
    if event == "APPROVE" and call.caller.is_app and not repo.actions_may_open_pull_requests:
        raise errors.forbidden(ACTIONS_REFUSED)
    if event in ("REQUEST_CHANGES", "COMMENT") and not body:
        raise errors.ApiError(422, "Unprocessable Entity", ["Could not submit review: body can't be blank"])
    review = Review(call.state.next_id(), author, body, states[event], pull.head_sha, call.state.now())
    pull.reviews.append(review)
    return Reply(200, shapes.review(call.site, repo, issue, review))


_REVIEWS = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews"

ROUTES: tuple[Route, ...] = (
    ("GET", _REVIEWS, list_reviews),
    ("POST", _REVIEWS, create_review),
)
