"""Comments on issues and, since those are issues too, on pull requests' conversations."""

from __future__ import annotations

from bot.forge import errors, threads
from bot.forge.attachments import in_full
from bot.forge.call import Call, Reply
from bot.forge.router import Route
from bot.forge.shapes import threads as shapes
from bot.forge.state import Comment, Role


def list_for_issue(call: Call) -> Reply:
    repo, issue = call.thread()
    since = call.query.get("since", "")
    found = [comment for comment in issue.comments if comment.updated_at >= since]
    return call.page(found, lambda comment: shapes.comment(call.site, repo, issue, comment))


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    since = call.query.get("since", "")
    found = sorted(
        (
            (comment.created_at, comment.id, issue, comment)
            for issue in repo.threads.values()
            for comment in issue.comments
            if comment.updated_at >= since
        ),
        key=lambda row: row[:2],
        reverse=call.query.get("direction") == "desc",
    )
    return call.page(found, lambda row: shapes.comment(call.site, repo, row[2], row[3]))


def get(call: Call) -> Reply:
    return Reply(200, in_full(call, shapes.comment(call.site, *call.comment())))


def create(call: Call) -> Reply:
    repo, issue = call.thread("write")
    author = call.user
    if issue.locked and call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Unable to create comment because issue is locked.")
    comment = threads.add_comment(call.state, repo, issue, author, _body(call))
    shape = shapes.comment(call.site, repo, issue, comment)
    return Reply(201, shape, {"Location": shape["url"]})


def update(call: Call) -> Reply:
    repo, issue, comment = call.comment("write")
    _require_author(call, comment, repo_role=call.caller.role(repo))
    comment.body = _body(call)
    comment.updated_at = issue.updated_at = call.state.now()
    return Reply(200, shapes.comment(call.site, repo, issue, comment))


def delete(call: Call) -> Reply:
    repo, _, comment = call.comment("write")
    _require_author(call, comment, repo_role=call.caller.role(repo))
    threads.remove_comment(repo, comment)
    return Reply(204)


def _require_author(call: Call, comment: Comment, repo_role: Role) -> None:
    if call.user is not comment.author and repo_role < Role.WRITE:
        raise errors.forbidden("Must have admin rights to Repository.")


def _body(call: Call) -> str:
    body = call.required("body")
    if not body.strip():
        raise errors.ApiError(
            422,
            "Validation Failed",
            [
                {
                    "resource": "IssueComment",
                    "code": "unprocessable",
                    "field": "data",
                    "message": "Body cannot be blank",
                }
            ],
        )
    if len(body) > errors.BODY_LIMIT:
        raise errors.too_long("IssueComment")
    return body


_ISSUES = "/repos/{owner}/{repo}/issues"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_ISSUES}/comments", list_for_repo),
    ("GET", f"{_ISSUES}/comments/{{comment_id}}", get),
    ("PATCH", f"{_ISSUES}/comments/{{comment_id}}", update),
    ("DELETE", f"{_ISSUES}/comments/{{comment_id}}", delete),
    ("GET", f"{_ISSUES}/{{issue_number}}/comments", list_for_issue),
    ("POST", f"{_ISSUES}/{{issue_number}}/comments", create),
)
