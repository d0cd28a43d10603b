"""GraphQL, for the few things that REST does not tell. It lies beside REST: `/api/graphql` on GitHub Enterprise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.github.border import Answer, Border
from bot.github.errors import Failure, failure_from

# The types of errors that come with status 200, as the statuses that REST would have given.
_STATUSES = {
    "FORBIDDEN": 403,
    "INSUFFICIENT_SCOPES": 403,
    "NOT_FOUND": 404,
    "RATE_LIMITED": 429,
    "RATE_LIMIT": 429,
    "SERVICE_UNAVAILABLE": 503,
}


class GraphQL(Border):
    """Queries, each read-only and so safe to repeat."""

    def _query(self, doing: str, query: str, variables: Mapping[str, object]) -> dict[str, Any]:
        """The `data` of the answer. An answer with errors is a `GitHubError`, as REST's statuses have it."""
        body = {"query": query, "variables": dict(variables)}
        answer = self._ask(doing, "POST", self._hub.requester.graphql_url, body, judge=self._judge)
        return dict(answer.data["data"])

    def _judge(self, answer: Answer) -> Failure | None:
        data = answer.data if isinstance(answer.data, Mapping) else {}
        errors = data.get("errors")
        if not errors:
            return None if isinstance(data.get("data"), Mapping) else Failure(0, "an answer without data")
        first = errors[0] if isinstance(errors, list) and isinstance(errors[0], Mapping) else {}
        status = _STATUSES.get(str(first.get("type") or ""), 0) or _by_words(str(first.get("message") or ""))
        return failure_from(status, {"message": first.get("message")}, answer.headers, self._pace.now())


def _by_words(message: str) -> int:
    said = message.lower()
    if "rate limit" in said:
        return 429
    if "not accessible" in said or "permission" in said or "scopes" in said:
        return 403
    # A time-out and "Something went wrong" pass; a query that GitHub does not understand stays wrong.
    return 502 if "something went wrong" in said or "timeout" in said else 400
