"""`POST /api/graphql`: queries, and the mutations that REST does not have (resolve a thread, convert to draft)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from slash_forge import errors
from slash_forge.access import visible
from slash_forge.call import Call, Reply
from slash_forge.errors import ApiError
from slash_forge.graphql.execution import Execution, Object, QueryError, Undefined, Unparsable, parse
from slash_forge.graphql.objects import actor, may_resolve, pull_request, query, thread
from slash_forge.reviews import Thread
from slash_forge.router import Route
from slash_forge.shapes.site import node_id
from slash_forge.state import Issue, Pull, Repository, Role

Resolver = Callable[[Mapping[str, Any]], Object]


def mutation(call: Call) -> Object:
    return Object(
        "Mutation",
        {
            "resolveReviewThread": _resolve(call, "ResolveReviewThreadPayload", resolved=True),
            "unresolveReviewThread": _resolve(call, "UnresolveReviewThreadPayload", resolved=False),
            "convertPullRequestToDraft": _draft(call, "ConvertPullRequestToDraftPayload", draft=True),
            "markPullRequestReadyForReview": _draft(
                call, "MarkPullRequestReadyForReviewPayload", draft=False
            ),
        },
    )


def _resolve(call: Call, payload: str, *, resolved: bool) -> Resolver:
    def act(arguments: Mapping[str, Any]) -> Object:
        fields = arguments.get("input") or {}
        repo, issue, pull, match = _thread(call, str(fields.get("threadId")))
        if not may_resolve(call, repo, issue):
            raise _refused(call)
        match.resolved, match.resolved_by = resolved, call.user if resolved else None
        return _payload(call, payload, fields, "thread", thread(call, repo, issue, pull, match))

    return act


def _draft(call: Call, payload: str, *, draft: bool) -> Resolver:
    def act(arguments: Mapping[str, Any]) -> Object:
        fields = arguments.get("input") or {}
        repo, issue, pull = _pull(call, str(fields.get("pullRequestId")))
        mine = call.user is issue.author or call.caller.role(repo) >= Role.WRITE
        if not mine or not call.caller.may(repo, "pull_requests", "write"):
            raise _refused(call)
        pull.draft = draft
        return _payload(call, payload, fields, "pullRequest", pull_request(call, repo, issue, pull))

    return act


def _payload(call: Call, type: str, fields: Mapping[str, Any], name: str, value: Object) -> Object:
    mutated = {name: value, "clientMutationId": fields.get("clientMutationId"), "actor": actor(call.user)}
    return Object(type, mutated)


def _refused(call: Call) -> QueryError:
    if call.caller.is_app:
        return QueryError("FORBIDDEN", "Resource not accessible by integration")
    return QueryError(
        "FORBIDDEN", f"{call.user.login} does not have the correct permissions to execute this."
    )


def _seen(call: Call, repo: Repository) -> bool:
    try:
        visible(call.state, call.caller, repo.full_name)
    except ApiError:
        return False
    return True


def _pull(call: Call, requested: str) -> tuple[Repository, Issue, Pull]:
    for repo in filter(lambda one: _seen(call, one), call.state.repositories.values()):
        for issue, pull in repo.pulls():
            if node_id("PullRequest", issue.id) == requested or node_id("PullRequest", pull.id) == requested:
                return repo, issue, pull
    raise QueryError("NOT_FOUND", f"Could not resolve to a node with the global id of '{requested}'")


def _thread(call: Call, requested: str) -> tuple[Repository, Issue, Pull, Thread]:
    for repo in filter(lambda one: _seen(call, one), call.state.repositories.values()):
        for issue, pull in repo.pulls():
            for one in pull.threads:
                if node_id("PullRequestReviewThread", one.id) == requested:
                    return repo, issue, pull, one
    raise QueryError("NOT_FOUND", f"Could not resolve to a node with the global id of '{requested}'")


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


ROUTES: tuple[Route, ...] = (("POST", "/api/graphql", answer),)
