"""The comment with a plan: render it with the plan as hidden data, post it, and read it. The plan is shown in full, so
that people approve only what they can read. Approvals: `approval.py`."""

import base64
import binascii
import re
import zlib

from bot.contracts.errors import GateError, PublishError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import MAX_PLAN, Plan
from bot.gate.secrets import withhold_if_secret
from bot.publish.body.order_and_footer import Links, footer
from bot.publish.bundle import parse
from bot.publish.context import PublishContext
from bot.publish.macros import macros_of
from bot.publish.markdown import safe_line
from bot.publish.thread.comments import OwnComment, ThreadRef, own_comments
from bot.publish.thread.markers import acts_as_itself

PLAN = "plan"
"""The kind of the mark of a plan in a comment of its own; a progress comment with a plan keeps its kind. Additional
fields: `plan`, the hash, and `carried`, the key of the request that carried it out."""

_DATA = "<!-- slash-agent-plan-data "
_DATA_PATTERN = re.compile(re.escape(_DATA) + r"([A-Za-z0-9+/=]{1,60000}) -->")
SHOWN_HASH = 12
NO_APPROVALS = (
    "Plans cannot be approved here: this bot acts as `github-actions[bot]`, and any workflow can write a plan as that "
    "account. Give the action `app-id` and `app-private-key` of a GitHub App, and ask for the plan again."
)


def as_posted(comment: OwnComment) -> str:
    """Return the text above the mark, without the line that names the result of the plan."""
    return comment.text.partition("\n\n")[2] if comment.fields.get("carried") else comment.text


def plan_text(plan: Plan, outcome: Outcome, links: Links, *, approvable: bool = True) -> str:
    """Return the comment without its mark. `approvable`: the bot acts as itself, so an approval will count."""
    packed = base64.b64encode(zlib.compress(plan.canonical.encode(), 9)).decode()
    notes = [safe_line(note, 500) for note in outcome.notes]
    refused, end = "" if approvable else NO_APPROVALS, footer(outcome, links)
    text = macros_of("plan").comment(
        plan, plan.hash[:SHOWN_HASH], refused, notes, end, f"{_DATA}{packed} -->"
    )
    return str(text)


def read_plan(body: str) -> Plan | None:
    matches = _DATA_PATTERN.findall(body)
    if len(matches) != 1:
        return None
    try:
        packed = base64.b64decode(matches[0], validate=True)
        raw = zlib.decompressobj().decompress(packed, MAX_PLAN + 1)
        return parse(Plan, raw, "the plan in the comment") if len(raw) <= MAX_PLAN else None
    except (binascii.Error, ValueError, zlib.error, UsageError):
        return None


def shows_plan(comment: OwnComment, plan: Plan) -> bool:
    """Whether the text begins with the plan, whose data may be of another one. GitHub may change line ends."""
    lines, wanted = as_posted(comment).splitlines(), str(macros_of("plan").shown(plan)).splitlines()
    return [line.rstrip() for line in lines[: len(wanted)]] == [line.rstrip() for line in wanted]


def plan_comments(thread_ref: ThreadRef) -> list[OwnComment]:
    """Return our comments with a plan in the whole thread and on the lines of `thread_ref`, oldest first."""
    comments = own_comments(thread_ref.github, thread_ref._replace(since="").comments())
    plans = (one for one in comments if one.ours and one.fields.get("plan"))
    return sorted(plans, key=lambda one: one.data.created_at)


def publish_plan(context: PublishContext) -> None:
    """Post the bundle's plan in its thread, once. Raises `PublishError`, `GitHubError`, and `GateError`."""
    thread_ref, plan = context.thread_ref, context.bundle.plan
    if plan is None:
        raise PublishError("The bundle says that there is a plan, and holds none: nothing was posted.")
    texts = (plan.title, plan.risks, *(text for step in plan.steps for text in (step.text, *step.paths)))
    if reason := withhold_if_secret("\n".join(texts)):
        raise GateError(f"The plan is not posted: {reason}.")
    approvable = acts_as_itself(context.github.me)
    text = plan_text(plan, context.outcome, context.links, approvable=approvable)
    if thread_ref is None:
        context.say(f"the request came from no thread, so this is not posted:\n{text}")
        return
    earlier = {(one.key, one.fields["plan"]) for one in plan_comments(thread_ref)}
    if (thread_ref.key, plan.hash) not in earlier:
        # An earlier plan is never edited, since somebody may be about to approve it.
        context.failures.extend(thread_ref.put_result(PLAN, text, "Planned", {"plan": plan.hash}))
