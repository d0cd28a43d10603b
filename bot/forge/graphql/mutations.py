"""The few things that only GraphQL can do: resolve a thread, and turn a pull request into a draft and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.forge.access import visible
from bot.forge.call import Call
from bot.forge.errors import ApiError
from bot.forge.graphql.execution import Object, QueryError
from bot.forge.graphql.objects import actor, may_resolve, pull_request, thread
from bot.forge.reviews import Thread
from bot.forge.shapes.site import node_id
from bot.forge.state import Issue, Pull, Repository, Role

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
        sent = arguments.get("input") or {}
        repo, issue, pull, found = _thread(call, str(sent.get("threadId")))
        if not may_resolve(call, repo, issue):
            raise _refused(call)
        found.resolved, found.resolved_by = resolved, call.user if resolved else None
        return _payload(call, payload, sent, "thread", thread(call, repo, issue, pull, found))

    return act


def _draft(call: Call, payload: str, *, draft: bool) -> Resolver:
    def act(arguments: Mapping[str, Any]) -> Object:
        sent = arguments.get("input") or {}
        repo, issue, pull = _pull(call, str(sent.get("pullRequestId")))
        mine = call.user is issue.author or call.caller.role(repo) >= Role.WRITE
        if not mine or not call.caller.may(repo, "pull_requests", "write"):
            raise _refused(call)
        pull.draft = draft
        return _payload(call, payload, sent, "pullRequest", pull_request(call, repo, issue, pull))

    return act


def _payload(call: Call, type: str, sent: Mapping[str, Any], name: str, value: Object) -> Object:
    mutated = {name: value, "clientMutationId": sent.get("clientMutationId"), "actor": actor(call.user)}
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


def _pull(call: Call, wanted: str) -> tuple[Repository, Issue, Pull]:
    for repo in filter(lambda one: _seen(call, one), call.state.repositories.values()):
        for issue, pull in repo.pulls():
            if node_id("PullRequest", issue.id) == wanted or node_id("PullRequest", pull.id) == wanted:
                return repo, issue, pull
    raise QueryError("NOT_FOUND", f"Could not resolve to a node with the global id of '{wanted}'")


def _thread(call: Call, wanted: str) -> tuple[Repository, Issue, Pull, Thread]:
    for repo in filter(lambda one: _seen(call, one), call.state.repositories.values()):
        for issue, pull in repo.pulls():
            for one in pull.threads:
                if node_id("PullRequestReviewThread", one.id) == wanted:
                    return repo, issue, pull, one
    raise QueryError("NOT_FOUND", f"Could not resolve to a node with the global id of '{wanted}'")
