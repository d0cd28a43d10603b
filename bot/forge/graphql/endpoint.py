"""`POST /api/graphql`, beside the REST API: one query, answered 200 with `data`, `errors` or both."""

from __future__ import annotations

from bot.forge import errors
from bot.forge.call import Call, Reply
from bot.forge.graphql.execution import Execution, Undefined
from bot.forge.graphql.language import Unparsable, parse
from bot.forge.graphql.mutations import mutation
from bot.forge.graphql.objects import query
from bot.forge.router import Route


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
