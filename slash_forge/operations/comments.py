"""Comments of issues and pull requests, and reactions."""

from __future__ import annotations

from slash_forge import errors, threads
from slash_forge.call import Call, Reply, Route
from slash_forge.operations.review_comments import find_comment
from slash_forge.reviews import ReviewComment
from slash_forge.shapes import threads as shapes
from slash_forge.state import Comment, Issue, Reaction, Role


def list_for_issue(call: Call) -> Reply:
    repo, issue = call.thread()
    since = call.query.get("since", "")
    matches = [comment for comment in issue.comments if comment.updated_at >= since]
    return call.page(matches, lambda comment: shapes.comment(call.site, repo, issue, comment))


def list_for_repo(call: Call) -> Reply:
    repo = call.repository("issues|pull_requests")
    since = call.query.get("since", "")
    matches = sorted(
        (
            (comment.created_at, comment.id, issue, comment)
            for issue in repo.threads.values()
            for comment in issue.comments
            if comment.updated_at >= since
        ),
        key=lambda row: row[:2],
        reverse=call.query.get("direction") == "desc",
    )
    return call.page(matches, lambda row: shapes.comment(call.site, repo, row[2], row[3]))


def get(call: Call) -> Reply:
    return Reply(200, shapes.comment(call.site, *call.comment()))


def create(call: Call) -> Reply:
    repo, issue = call.thread("write")
    author = call.user
    if issue.locked and call.caller.role(repo) < Role.WRITE:
        raise errors.forbidden("Unable to create comment because issue is locked.")
    comment = threads.add_comment(call.state, repo, issue, author, body=_body(call))
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


Target = Issue | Comment | ReviewComment


def _comment(call: Call, *, write: bool = False) -> Target:
    return call.comment("write" if write else "read")[2]


def _review_comment(call: Call, *, write: bool = False) -> Target:
    return find_comment(call, "write" if write else "read")[3]


def _list(call: Call, target: Target) -> Reply:
    content = call.query.get("content")
    matches = [one for one in target.reactions if content in (None, one.content)]
    return call.page(matches, lambda one: shapes.reaction(call.site, one))


def _create(call: Call, target: Target) -> Reply:
    user, content = call.user, call.required("content")
    if content not in shapes.REACTIONS:
        raise errors.invalid("Reaction", "content")
    for one in target.reactions:
        if one.user is user and one.content == content:
            return Reply(200, shapes.reaction(call.site, one))
    reaction = Reaction(call.state.next_id(), user, content, call.state.now())
    target.reactions.append(reaction)
    return Reply(201, shapes.reaction(call.site, reaction))


_ON_ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}/reactions"
_ON_COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions"

_ON_REVIEW_COMMENT = "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions"

ROUTES: tuple[Route, ...] = (
    ("GET", f"{_ISSUES}/comments", list_for_repo),
    ("GET", f"{_ISSUES}/comments/{{comment_id}}", get),
    ("PATCH", f"{_ISSUES}/comments/{{comment_id}}", update),
    ("DELETE", f"{_ISSUES}/comments/{{comment_id}}", delete),
    ("GET", f"{_ISSUES}/{{issue_number}}/comments", list_for_issue),
    ("POST", f"{_ISSUES}/{{issue_number}}/comments", create),
    ("GET", _ON_REVIEW_COMMENT, lambda call: _list(call, _review_comment(call))),
    ("POST", _ON_REVIEW_COMMENT, lambda call: _create(call, _review_comment(call, write=True))),
    ("GET", _ON_COMMENT, lambda call: _list(call, _comment(call))),
    ("POST", _ON_COMMENT, lambda call: _create(call, _comment(call, write=True))),
)
