"""The approval of a plan: find the plan that it names, also through a chain of `continue`, and mark it as carried out.

People with write access can edit the bot's comments: an approval contains the hash of the plan, and a comment that was
edited since it was posted is refused.
"""

from typing import NamedTuple

from bot.contracts.errors import PublishError
from bot.contracts.plan import Plan
from bot.contracts.request import Request
from bot.events.command import PLAN_HASH
from bot.events.event_request import UsageRefusedError
from bot.publish.markdown import safe_code
from bot.publish.plan import NO_APPROVALS, SHOWN_HASH, as_posted, plan_comments, read_plan, shows_plan
from bot.publish.thread.comments import OwnComment, ThreadRef
from bot.publish.thread.history import ThreadLog, newest_requests, read_log
from bot.publish.thread.markers import acts_as_itself
from bot.verbs.record import Earlier
from bot.verbs.registry import VERBS, needs


class PostedPlan(NamedTuple):
    """A plan and the comment that shows it."""

    plan: Plan
    comment: OwnComment


def find_plan(thread_ref: ThreadRef, prefix: str, continued: frozenset[str] = frozenset()) -> PostedPlan:
    """Return the plan of this thread whose hash begins with `prefix`, for an approval.

    Raises `UsageRefusedError` if other workflows write as our account, if there is none, more than one, if it was
    edited, or if another request has executed it than that of `thread_ref` or one of `continued`, the keys of the
    requests that it continues.
    """
    if not acts_as_itself(thread_ref.github.me):
        raise UsageRefusedError(NO_APPROVALS)
    own = plan_comments(thread_ref)
    named = [one for one in own if prefix and one.fields["plan"].startswith(prefix.lower())]
    if not named:
        which = f" {safe_code(prefix)}" if prefix else ""
        newest = f" The newest here is `{own[-1].fields['plan'][:SHOWN_HASH]}`." if own else ""
        raise UsageRefusedError(
            f"There is no plan{which} of this bot's in this thread.{newest} `/agent plan` makes one."
        )
    if len({one.fields["plan"] for one in named}) > 1:
        raise UsageRefusedError(
            f"More than one plan begins with {safe_code(prefix)}: write more of its hash."
        )
    stated = named[0].fields["plan"]
    short, by = f"`{stated[:SHOWN_HASH]}`", named[0].fields.get("carried")
    if by and by not in {thread_ref.key, *continued}:
        raise UsageRefusedError(f"The plan {short} was carried out already: `/agent plan` makes a new one.")
    plan = read_plan(named[0].data.body)
    if plan is None or plan.hash != stated or not shows_plan(named[0], plan):
        raise UsageRefusedError(
            f"The plan {short} was edited after it was posted, so it is not carried out: `/agent plan` makes a new one."
        )
    return PostedPlan(plan, named[0])


def continued_plan(thread_ref: ThreadRef, log: ThreadLog) -> Plan | None:
    """Return the approved plan that a `continue` continues, `None` for none. Raises `UsageRefusedError` if it was
    edited."""
    behind = _approval_behind(log, thread_ref)
    return find_plan(thread_ref, *behind).plan if behind is not None else None


def check_approval(thread_ref: ThreadRef | None, request: Request) -> PostedPlan | None:
    """Return the plan of a request, approved, unchanged and not executed by others; `None` if it has none."""
    continued: frozenset[str] = frozenset()
    if needs(request.verb, Earlier.RUN) and thread_ref is not None and request.thread is not None:
        behind = _approval_behind(read_log(thread_ref.github, request.thread), thread_ref)
        named = request.plan.hash if request.plan else ""
        if bool(named) != (behind is not None) or (behind and not named.startswith(behind[0].lower())):
            raise PublishError(
                "The bundle goes on with another plan than the one that was approved: nothing was done."
            )
        continued = behind[1] if behind else continued
    if not needs(request.verb, Earlier.PLAN) and request.plan is None:
        return None
    if request.plan is None or thread_ref is None:
        raise PublishError("The bundle carries out a plan, and does not say which one: nothing was done.")
    try:
        return find_plan(thread_ref, request.plan.hash, continued)
    except UsageRefusedError as error:
        raise PublishError(str(error)) from error


def report_execution(thread_ref: ThreadRef | None, posted: PostedPlan | None, number: int) -> None:
    """Add to the plan that the request at `thread_ref` executed it, in pull request `number`. Raises `GitHubError`."""
    if posted is not None and thread_ref is not None:
        result = f"pull request #{number}." if number else "done."
        text = f"**Carried out:** {result}\n\n{as_posted(posted.comment)}"
        thread_ref.rewrite(posted.comment, text, {"carried": thread_ref.key})


def _approval_behind(log: ThreadLog, thread_ref: ThreadRef) -> tuple[str, frozenset[str]] | None:
    """Return of the approval at the start of a chain of `continue` the hash as written, and the keys of the requests
    since."""
    keys: set[str] = set()
    ours = True
    for answer in newest_requests(log.answers, thread_ref.key):
        keys |= {answer.key, answer.request_key}
        # Another workflow may have written the first answer of a run; what the app has signed since is ours.
        ours = ours and answer.ours
        comment = log.comments.get(answer.request_key)
        command = log.command(answer.request_key)
        earlier = VERBS[command.verb].earlier if command else None
        if comment is None or command is None or earlier not in (Earlier.PLAN, Earlier.RUN):
            return None
        if earlier is Earlier.PLAN:
            if comment.edited or not ours:
                raise UsageRefusedError(
                    "The comment that approved the plan was edited: approve the plan again."
                    if comment.edited
                    else "The last run ended before it signed its comment, so which plan it was for is not known: "
                    "approve the plan again."
                )
            return command.options.get(PLAN_HASH, ""), frozenset(keys)
    return None
