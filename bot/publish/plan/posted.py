"""A bundle's plan to GitHub: one comment, where it was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from bot.contracts.errors import GateError, PublishError
from bot.contracts.plan import Plan
from bot.gate.text import withhold_if_secret
from bot.github.errors import GitHubError
from bot.publish.plan.comment import PLAN, PlanComment, plan_text, text_hash
from bot.publish.plan.found import own_comments
from bot.publish.telling import Telling
from bot.publish.thread.comments import put_result


def publish_plan(telling: Telling) -> tuple[str, ...]:
    """Post the bundle's plan where it was asked for; done twice it changes nothing.

    Returns soft failures, a sentence each. Raises `PublishError`, and `GateError` for a plan that may not leave.
    """
    host, place, outcome, plan = telling.host, telling.place, telling.bundle.outcome, telling.bundle.plan
    if plan is None:
        raise PublishError("The bundle says that there is a plan, and holds none: nothing was posted.")
    if reason := withhold_if_secret("\n".join(_texts(plan))):
        raise GateError(f"The plan is not posted: {reason}.")
    text = plan_text(plan, outcome, telling.links)
    if place is None:
        telling.say(f"the request came from no thread, so this is not posted:\n{text}")
        return ()
    try:
        if any(_is_of(one, place.key, plan.hash) for one in own_comments(host, place)):
            return ()
        # Never an edit of an earlier plan: what somebody is about to approve does not change under their eyes.
        fields = {"plan": plan.hash, "text": text_hash(text)}
        return put_result(host, place, PLAN, text, "Planned", fields)
    except GitHubError as error:
        raise PublishError(f"The plan could not be posted: {error}") from error


def _texts(plan: Plan) -> Iterator[str]:
    yield from (plan.title, plan.risks)
    for step in plan.steps:
        yield from (step.text, *step.paths)


def _is_of(comment: PlanComment, key: str, plan_hash: str) -> bool:
    fields = comment.fields
    return (fields.get("request"), fields.get("plan")) == (key, plan_hash)
