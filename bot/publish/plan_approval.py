"""Find the approved plan that a request executes, also through a chain of `continue`, and mark it as executed."""

from __future__ import annotations

from dataclasses import dataclass

from bot.contracts.errors import PublishError, UsageError
from bot.contracts.plan import Plan
from bot.contracts.request import Request
from bot.events.command import PLAN_HASH, parse_command
from bot.github.client import GitHub
from bot.publish.plan_comment import PostedPlan, as_posted, find_plan
from bot.publish.thread.comments import rewrite
from bot.publish.thread.history import ThreadLog, newest_requests, read_log
from bot.publish.thread.markers import ThreadRef
from bot.verbs.record import Earlier
from bot.verbs.registry import VERBS, needs


def continued_plan(github: GitHub, thread_ref: ThreadRef, log: ThreadLog) -> Plan | None:
    """Return the approved plan that a `continue` at `thread_ref` continues; `None` if the last run executed none.

    Raises `UsageError` if the approval or the plan was edited or deleted.
    """
    behind = _approval_behind(log, thread_ref)
    return find_plan(github, thread_ref, behind.prefix, behind.keys).plan if behind is not None else None


def check_approval(github: GitHub, thread_ref: ThreadRef | None, request: Request) -> PostedPlan | None:
    """Return the approved plan of a request, `None` if it has none. It is in the thread, unchanged and not executed by
    another request than those that a `continue` continues. Raises `PublishError`."""
    continued: frozenset[str] = frozenset()
    if needs(request.verb, Earlier.RUN) and thread_ref is not None and request.thread is not None:
        behind = _approval_behind(read_log(github, thread_ref.repository, request.thread), thread_ref)
        named = request.plan.hash if request.plan else ""
        if bool(named) != (behind is not None) or (behind and not named.startswith(behind.prefix.lower())):
            raise PublishError(
                "The bundle goes on with another plan than the one that was approved: nothing was done."
            )
        continued = behind.keys if behind else continued
    if not needs(request.verb, Earlier.PLAN) and request.plan is None:
        return None
    if request.plan is None or thread_ref is None:
        raise PublishError("The bundle carries out a plan, and does not say which one: nothing was done.")
    try:
        return find_plan(github, thread_ref, request.plan.hash, continued)
    except UsageError as error:
        raise PublishError(str(error)) from error


def report_execution(
    github: GitHub, thread_ref: ThreadRef | None, posted: PostedPlan | None, number: int
) -> None:
    """Add to the approved plan that the request at `thread_ref` executed it, in pull request `number`. Raises
    `GitHubError`."""
    if posted is not None and thread_ref is not None:
        result = f"pull request #{number}." if number else "done."
        text = f"**Carried out:** {result}\n\n{as_posted(posted.comment)}"
        rewrite(github, thread_ref, posted.comment, text, {"carried": thread_ref.key})


@dataclass(frozen=True, slots=True)
class _ApprovalRef:
    """The approval at the start of a chain of `continue`: the hash as written, the keys of the requests since."""

    prefix: str
    keys: frozenset[str]


def _approval_behind(log: ThreadLog, thread_ref: ThreadRef) -> _ApprovalRef | None:
    keys: set[str] = set()
    ours = True
    for answer in newest_requests(log.answers, thread_ref.key):
        keys |= {answer.key, answer.request_key}
        # Another workflow may have written the first answer of a run; what the app has signed since is ours.
        ours = ours and answer.ours
        comment = log.comments.get(answer.request_key)
        command = parse_command(comment.body) if comment else None
        earlier = None if command is None or command.problem else VERBS[command.verb].earlier
        if comment is None or command is None or earlier not in (Earlier.PLAN, Earlier.RUN):
            return None
        if earlier is Earlier.PLAN:
            if comment.edited or not ours:
                raise UsageError(
                    "The comment that approved the plan was edited: approve the plan again."
                    if comment.edited
                    else "The last run ended before it signed its comment, so which plan it was for is not known: "
                    "approve the plan again."
                )
            return _ApprovalRef(command.options.get(PLAN_HASH, ""), frozenset(keys))
    return None
