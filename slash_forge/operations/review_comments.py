"""Comments on lines of a pull request's diff, and replies to them."""

from __future__ import annotations

from typing import Literal

from slash_forge import errors
from slash_forge import reviews as record
from slash_forge.call import Call, Reply, Route
from slash_forge.operations.pulls import find_pull
from slash_forge.operations.reviews import check_comment_body, check_open
from slash_forge.reviews import ReviewComment
from slash_forge.shapes import pulls as shapes
from slash_forge.state import Issue, Pull, Repository, Role

_RESOURCE = "PullRequestReviewComment"


def find_comment(
    call: Call, requested: Literal["read", "write"] = "read"
) -> tuple[Repository, Issue, Pull, ReviewComment]:
    """Only the author sees the comments of a pending review."""
    repo = call.repository("pull_requests", requested)
    match = repo.review_comments.get(call.number("comment_id"))
    if match is None:
        raise errors.not_found()
    issue, pull, comment = match
    if comment.review.submitted_at is None and comment.author is not call.caller.user:
        raise errors.not_found()
    return repo, issue, pull, comment


def _comment_list(call: Call, rows: list[tuple[Issue, Pull, ReviewComment]], repo: Repository) -> Reply:
    since = call.query.get("since", "")
    updated = call.query.get("sort") == "updated"
    rows = [row for row in rows if row[2].updated_at >= since]
    rows.sort(
        key=lambda row: (row[2].updated_at if updated else "", row[2].id),
        reverse=call.query.get("direction") == "desc",
    )
    return call.page(rows, lambda row: shapes.comment(call.site, repo, *row))


def list_for_pull(call: Call) -> Reply:
    repo, issue, pull = find_pull(call)
    return _comment_list(call, [(issue, pull, comment) for comment in record.submitted_comments(pull)], repo)


def get(call: Call) -> Reply:
    return Reply(200, shapes.comment(call.site, *find_comment(call)))


def reply(call: Call) -> Reply:
    repo, issue, pull = find_pull(call, write=True)
    body = call.required("body")
    check_comment_body(body)
    check_open(call, repo, issue)
    return _reply(call, repo, issue, pull, number=call.number("comment_id"), body=body)


def _reply(call: Call, repo: Repository, issue: Issue, pull: Pull, *, number: int, body: str) -> Reply:
    """Reply to a thread's first comment: GitHub's API has no replies to replies."""
    match = repo.review_comments.get(number)
    if match is None or match[1] is not pull or match[2].review.submitted_at is None:
        raise errors.not_found()
    if match[2].reply_to is not None:
        raise errors.invalid(_RESOURCE, "in_reply_to")
    review = record.add_review(
        call.state, pull, call.user, body="", verdict="COMMENTED", commit=pull.head_sha
    )
    comment = record.add_comment(call.state, repo, issue, pull, review, thread=match[2].thread, body=body)
    return _created(call, repo, issue, pull, comment)


def _created(call: Call, repo: Repository, issue: Issue, pull: Pull, comment: ReviewComment) -> Reply:
    shape = shapes.comment(call.site, repo, issue, pull, comment)
    return Reply(201, shape, {"Location": shape["url"]})


def _changeable(call: Call) -> tuple[Repository, Issue, Pull, ReviewComment]:
    repo, issue, pull, comment = find_comment(call, "write")
    if call.user is not comment.author and call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Must have admin rights to Repository.")
    return repo, issue, pull, comment


def update(call: Call) -> Reply:
    repo, issue, pull, comment = _changeable(call)
    body = call.required("body")
    check_comment_body(body)
    comment.body, comment.updated_at = body, call.state.now()
    return Reply(200, shapes.comment(call.site, repo, issue, pull, comment))


_PULLS = "/repos/{owner}/{repo}/pulls"
_OF_ONE = f"{_PULLS}/{{pull_number}}/comments"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_PULLS}/comments/{{comment_id}}", get),
    ("PATCH", f"{_PULLS}/comments/{{comment_id}}", update),
    ("GET", _OF_ONE, list_for_pull),
    ("POST", f"{_OF_ONE}/{{comment_id}}/replies", reply),
)
