"""`POST /api/graphql`: whose token it is, and the review threads of a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slash_forge import errors, reviews
from slash_forge.access import visible
from slash_forge.attachments import rendered
from slash_forge.call import Call, Reply, Route
from slash_forge.graphql import Execution, Object, QueryError, Undefined, Unparsable, connection, parse
from slash_forge.reviews import ReviewComment, Thread
from slash_forge.shapes.site import node_id
from slash_forge.state import Pull, Repository, User


def answer(call: Call) -> Reply:
    if call.caller.token is None:
        raise errors.ApiError(401, "This endpoint requires you to be authenticated.")
    text, variables = call.fields().get("query"), call.fields().get("variables") or {}
    if not isinstance(text, str) or not isinstance(variables, dict):
        return Reply(
            200, {"errors": [{"message": "A query attribute must be specified and must be a string."}]}
        )
    try:
        execution = Execution(parse(text), variables)
        data = execution.run(query(call))
    except (Unparsable, Undefined) as error:
        return Reply(200, {"errors": [{"message": str(error)}]})
    return Reply(200, {"data": data, **({"errors": execution.errors} if execution.errors else {})})


def query(call: Call) -> Object:
    def find(arguments: Mapping[str, Any]) -> Object:
        name = f"{arguments.get('owner')}/{arguments.get('name')}"
        try:
            moved = call.state.moved(name)
            name = moved.full_name if moved else name
            return repository(call, visible(call.state, call.caller, name))
        except errors.ApiError as error:
            message = f"Could not resolve to a Repository with the name '{name}'."
            raise QueryError("NOT_FOUND", message) from error

    def viewer(_: Mapping[str, Any]) -> Object:
        """The type is always User, and a bot keeps its `[bot]`."""
        return Object("User", {"login": call.user.login, "databaseId": call.user.id})

    return Object("Query", {"repository": find, "viewer": viewer})


def _actor(user: User | None) -> Object | None:
    """Bots without the `[bot]` of REST; None for a deleted account."""
    return Object(user.kind, {"login": user.login.removesuffix("[bot]")}) if user is not None else None


def repository(call: Call, repo: Repository) -> Object:
    def find(arguments: Mapping[str, Any]) -> Object:
        issue = repo.threads.get(arguments.get("number", 0))
        if issue is None or issue.pull is None:
            message = f"Could not resolve to a PullRequest with the number of {arguments.get('number')}."
            raise QueryError("NOT_FOUND", message)
        if not call.caller.may(repo, "pull_requests", "read"):
            raise QueryError("FORBIDDEN", "Resource not accessible by integration")
        return pull_request(call, repo, issue.pull)

    return Object("Repository", {"pullRequest": find})


def pull_request(call: Call, repo: Repository, pull: Pull) -> Object:
    threads = [one for one in pull.threads if one.comments[0].review.submitted_at]
    listed = connection(
        "reviewThreads", "PullRequestReviewThread", threads, lambda one: thread(call, repo, pull, one)
    )
    return Object("PullRequest", {"reviewThreads": listed})


def thread(call: Call, repo: Repository, pull: Pull, one: Thread) -> Object:
    now, then = reviews.current(repo, pull, one), one.anchor
    fields = {
        "id": node_id("PullRequestReviewThread", one.id),
        "isResolved": one.resolved,
        "isOutdated": now is None and not one.on_file,
        "resolvedBy": _actor(one.resolved_by),
        "path": one.path,
        "line": now.line if now else None,
        "originalLine": then.line if then else None,
        "startLine": now.start_line if now else None,
        "diffSide": then.side if then else "RIGHT",
        "subjectType": "FILE" if one.on_file else "LINE",
        "comments": connection(
            "comments", "PullRequestReviewComment", one.comments, lambda remark: comment(call, remark)
        ),
    }
    return Object("PullRequestReviewThread", fields)


def comment(call: Call, one: ReviewComment) -> Object:
    fields = {
        "databaseId": one.id,
        "fullDatabaseId": str(one.id),
        "body": one.body,
        "bodyHTML": lambda _: rendered(call, one.body),
        "author": _actor(one.author),
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
        "diffHunk": one.thread.hunk,
    }
    return Object("PullRequestReviewComment", fields)


ROUTES: tuple[Route, ...] = (("POST", "/api/graphql", answer),)
