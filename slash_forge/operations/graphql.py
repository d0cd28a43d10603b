"""`POST /api/graphql`: queries, and the mutations that REST does not have (resolve a thread)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slash_forge import errors, reviews
from slash_forge.access import visible
from slash_forge.attachments import rendered
from slash_forge.call import Call, Reply, Route
from slash_forge.graphql import Execution, Object, QueryError, Undefined, Unparsable, connection, parse
from slash_forge.operations import pull_status
from slash_forge.reviews import Review, ReviewComment, Thread
from slash_forge.shapes.site import node_id
from slash_forge.state import Issue, Pull, Repository, Role, User

_ACTOR = frozenset({"Actor", "Node"})
_NODE = frozenset({"Node"})

Resolver = Callable[[Mapping[str, Any]], Object]


def answer(call: Call) -> Reply:
    if call.caller.token is None:
        raise errors.ApiError(401, "This endpoint requires you to be authenticated.")
    text, variables = call.fields().get("query"), call.fields().get("variables") or {}
    if not isinstance(text, str) or not isinstance(variables, dict):
        return Reply(
            200, {"errors": [{"message": "A query attribute must be specified and must be a string."}]}
        )
    try:
        document = parse(text)
        execution = Execution(document, variables)
        data = execution.run(mutation(call) if document.kind == "mutation" else query(call))
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

    return Object("Query", {"repository": find, "viewer": lambda _: _viewer(call.user)})


def actor(user: User | None) -> Object | None:
    """Bots without the `[bot]` of REST; None for a deleted account."""
    if user is None:
        return None
    return _person(user)


def _viewer(user: User) -> Object:
    """The type is always User, and a bot keeps its `[bot]`."""
    return Object("User", {**_person(user).fields, "login": user.login}, _ACTOR)


def _person(user: User) -> Object:
    fields = {
        "login": user.login.removesuffix("[bot]"),
        "databaseId": user.id,
        "id": node_id(user.kind, user.id),
        "name": user.name,
    }
    return Object(user.kind, fields, _ACTOR)


def repository(call: Call, repo: Repository) -> Object:
    def find(arguments: Mapping[str, Any]) -> Object:
        issue = repo.threads.get(arguments.get("number", 0))
        if issue is None or issue.pull is None:
            message = f"Could not resolve to a PullRequest with the number of {arguments.get('number')}."
            raise QueryError("NOT_FOUND", message)
        if not call.caller.may(repo, "pull_requests", "read"):
            raise _inaccessible()
        return pull_request(call, repo, issue, issue.pull)

    fields = {
        "id": node_id("Repository", repo.id),
        "databaseId": repo.id,
        "name": repo.name,
        "url": f"{call.site.html}/{repo.full_name}",
        "owner": actor(repo.owner),
        "pullRequest": find,
        "nameWithOwner": repo.full_name,
        "issue": lambda arguments: _issue(call, repo, arguments.get("number", 0)),
        "object": lambda arguments: pull_status.commit(call, repo, arguments["oid"]),
    }
    return Object("Repository", fields, _NODE)


def _issue(call: Call, repo: Repository, number: int) -> Object:
    issue = repo.threads.get(number)
    if issue is None or issue.pull is not None:
        raise QueryError("NOT_FOUND", f"Could not resolve to an Issue with the number of {number}.")
    if not call.caller.may(repo, "issues", "read"):
        raise _inaccessible()
    mentions = list(_mentions(call, repo, number))
    events = connection(
        "timelineItems",
        "IssueTimelineItemsConnection",
        mentions,
        lambda pull: Object("CrossReferencedEvent", {"source": pull}, _NODE),
    )
    fields = {"id": node_id("Issue", issue.id), "number": number, "title": issue.title}
    return Object("Issue", {**fields, "timelineItems": events}, _NODE)


def _mentions(call: Call, repo: Repository, number: int) -> Iterator[Object]:
    """The visible pull requests that mention the issue in their text or a comment; the only events of the timeline."""
    by_name = rf"{re.escape(repo.full_name)}(?:#|/issues/){number}\b"
    for other in filter(lambda one: _is_visible(call, one), list(call.state.repositories.values())):
        mention = re.compile(rf"(?<![\w/])#{number}\b|{by_name}" if other is repo else by_name)
        for issue, pull in other.pulls():
            texts = [issue.body or "", *(one.body for one in issue.comments)]
            if any(map(mention.search, texts)):
                yield pull_request(call, other, issue, pull)


def _inaccessible() -> QueryError:
    return QueryError("FORBIDDEN", "Resource not accessible by integration")


def pull_request(call: Call, repo: Repository, issue: Issue, pull: Pull) -> Object:
    threads = [one for one in pull.threads if one.comments[0].review.submitted_at]
    written = [one for one in pull.reviews if one.submitted_at]
    fields = {
        "id": node_id("PullRequest", pull.id),
        "databaseId": pull.id,
        "number": issue.number,
        "title": issue.title,
        "body": issue.body or "",
        "bodyHTML": lambda _: rendered(call, issue.body or ""),
        "url": f"{call.site.html}/{repo.full_name}/pull/{issue.number}",
        "state": "MERGED" if pull.merged_at else issue.state.upper(),
        "author": actor(issue.author),
        "createdAt": issue.created_at,
        "updatedAt": issue.updated_at,
        "headRefOid": pull.head_sha,
        "headRefName": pull.head_ref,
        "baseRefName": pull.base_ref,
        "repository": lambda _: repository(call, repo),
        "reviewThreads": connection(
            "reviewThreads",
            "PullRequestReviewThreadConnection",
            threads,
            lambda one: thread(call, repo, issue, pull, one),
        ),
        "reviews": connection(
            "reviews", "PullRequestReviewConnection", written, lambda one: review(call, repo, issue, one)
        ),
        "latestReviews": connection(
            "latestReviews",
            "PullRequestReviewConnection",
            pull_status.latest_reviews(pull),
            lambda one: review(call, repo, issue, one),
        ),
        "latestOpinionatedReviews": connection(
            "latestOpinionatedReviews",
            "PullRequestReviewConnection",
            pull_status.latest_reviews(pull, "APPROVED", "CHANGES_REQUESTED", "DISMISSED"),
            lambda one: review(call, repo, issue, one),
        ),
        "reviewRequests": connection(
            "reviewRequests",
            "ReviewRequestConnection",
            pull.reviewers,
            lambda user: Object("ReviewRequest", {"requestedReviewer": _person(user)}, _NODE),
        ),
    }
    return Object("PullRequest", {**fields, **pull_status.fields(call, repo, issue, pull)}, _NODE)


def thread(call: Call, repo: Repository, issue: Issue, pull: Pull, one: Thread) -> Object:
    now, then = reviews.current(repo, pull, one), one.anchor
    fields = {
        "id": node_id("PullRequestReviewThread", one.id),
        "isResolved": one.resolved,
        "isOutdated": now is None and not one.on_file,
        "resolvedBy": _person(one.resolved_by) if one.resolved_by else None,
        "path": one.path,
        "line": now.line if now else None,
        "originalLine": then.line if then else None,
        "startLine": now.start_line if now else None,
        "diffSide": then.side if then else "RIGHT",
        "subjectType": "FILE" if one.on_file else "LINE",
        "comments": connection(
            "comments",
            "PullRequestReviewCommentConnection",
            one.comments,
            lambda remark: comment(call, repo, issue, pull, remark),
        ),
    }
    return Object("PullRequestReviewThread", fields, _NODE)


def may_resolve(call: Call, repo: Repository, issue: Issue) -> bool:
    """An installation also needs `contents`, which the token of Actions often lacks."""
    user = call.caller.user
    if user is None:
        return False
    if call.caller.is_app:
        return all(call.caller.may(repo, one, "write") for one in ("pull_requests", "contents"))
    return user is issue.author or call.caller.role(repo) >= Role.WRITE


def comment(call: Call, repo: Repository, issue: Issue, pull: Pull, one: ReviewComment) -> Object:
    def anchor_field(name: str) -> Any:
        now = reviews.current(repo, pull, one.thread)
        return getattr(now, name) if now else None

    then = one.thread.anchor
    first = one.thread.comments[0]
    fields = {
        "id": node_id("PullRequestReviewComment", one.id),
        "databaseId": one.id,
        "fullDatabaseId": str(one.id),
        "url": f"{call.site.html}/{repo.full_name}/pull/{issue.number}#discussion_r{one.id}",
        "body": one.body,
        "bodyHTML": lambda _: rendered(call, one.body),
        "author": actor(one.author),
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
        "diffHunk": one.thread.hunk,
        "path": one.thread.path,
        "line": lambda _: anchor_field("line"),
        "startLine": lambda _: anchor_field("start_line"),
        "originalLine": then.line if then else None,
        "outdated": lambda _: then is not None and anchor_field("line") is None,
        "subjectType": "FILE" if one.thread.on_file else "LINE",
        "commit": lambda _: _commit(pull.head_sha if anchor_field("line") else one.thread.commit),
        "pullRequestReview": lambda _: review(call, repo, issue, one.review),
        "replyTo": lambda _: comment(call, repo, issue, pull, first) if one.reply_to else None,
    }
    return Object("PullRequestReviewComment", fields, _NODE)


def _commit(sha: str) -> Object:
    return Object("Commit", {"oid": sha, "abbreviatedOid": sha[:7]}, _NODE)


def review(call: Call, repo: Repository, issue: Issue, one: Review) -> Object:
    fields = {
        "id": node_id("PullRequestReview", one.id),
        "databaseId": one.id,
        "fullDatabaseId": str(one.id),
        "url": f"{call.site.html}/{repo.full_name}/pull/{issue.number}#pullrequestreview-{one.id}",
        "state": one.state,
        "body": one.body,
        "bodyHTML": lambda _: rendered(call, one.body),
        "author": actor(one.author),
        "authorCanPushToRepository": one.author is not None and repo.role_of(one.author) >= Role.WRITE,
        "commit": _commit(one.commit),
    }
    return Object("PullRequestReview", fields, _NODE)


# -- mutations


def mutation(call: Call) -> Object:
    return Object(
        "Mutation",
        {
            "resolveReviewThread": _resolve(call, "ResolveReviewThreadPayload", resolved=True),
            "unresolveReviewThread": _resolve(call, "UnresolveReviewThreadPayload", resolved=False),
            **{name: _on_pull(call, name, act) for name, act in pull_status.MUTATIONS.items()},
        },
    )


def _on_pull(call: Call, name: str, act: Callable[..., None]) -> Resolver:
    def resolve(arguments: Mapping[str, Any]) -> Object:
        given = arguments.get("input") or {}
        for repo in filter(lambda one: _is_visible(call, one), list(call.state.repositories.values())):
            for issue, pull in repo.pulls():
                if node_id("PullRequest", pull.id) == given.get("pullRequestId"):
                    if not call.caller.may(repo, "pull_requests", "write"):
                        raise _forbidden(call)
                    act(call, repo, issue, pull, given)
                    shown = pull_request(call, repo, issue, pull)
                    return _payload(call, f"{name[0].upper()}{name[1:]}Payload", given, "pullRequest", shown)
        raise QueryError("NOT_FOUND", "Could not resolve to a node with the global id.")

    return resolve


def _resolve(call: Call, payload: str, *, resolved: bool) -> Resolver:
    def act(arguments: Mapping[str, Any]) -> Object:
        fields = arguments.get("input") or {}
        repo, issue, pull, match = _thread(call, str(fields.get("threadId")))
        if not may_resolve(call, repo, issue):
            raise _forbidden(call)
        match.resolved, match.resolved_by = resolved, call.user if resolved else None
        return _payload(call, payload, fields, "thread", thread(call, repo, issue, pull, match))

    return act


def _payload(call: Call, type: str, fields: Mapping[str, Any], name: str, value: Object) -> Object:
    mutated = {name: value, "clientMutationId": fields.get("clientMutationId"), "actor": actor(call.user)}
    return Object(type, mutated)


def _forbidden(call: Call) -> QueryError:
    if call.caller.is_app:
        return QueryError("FORBIDDEN", "Resource not accessible by integration")
    return QueryError(
        "FORBIDDEN", f"{call.user.login} does not have the correct permissions to execute this."
    )


def _is_visible(call: Call, repo: Repository) -> bool:
    try:
        visible(call.state, call.caller, repo.full_name)
    except errors.ApiError:
        return False
    return True


def _thread(call: Call, requested: str) -> tuple[Repository, Issue, Pull, Thread]:
    for repo in filter(lambda one: _is_visible(call, one), call.state.repositories.values()):
        for issue, pull in repo.pulls():
            for one in pull.threads:
                if node_id("PullRequestReviewThread", one.id) == requested:
                    return repo, issue, pull, one
    raise QueryError("NOT_FOUND", f"Could not resolve to a node with the global id of '{requested}'")


ROUTES: tuple[Route, ...] = (("POST", "/api/graphql", answer),)
