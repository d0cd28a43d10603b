"""What an approval holds: the plan that a request may carry out, through a chain of `continue`, and that it did."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contracts.errors import PublishError, UsageError
from bot.contracts.plan import Plan
from bot.contracts.request import Request, Thread, Verb
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.intake.command import PLAN as APPROVED
from bot.intake.command import parse_command
from bot.publish.plan.comment import PlanComment
from bot.publish.plan.found import find_plan, own_comments
from bot.publish.thread.comments import rewrite, with_mark
from bot.publish.thread.markers import asking_comment
from bot.publish.thread.place import Place
from bot.publish.thread.traces import newest_requests, traces


def plan_gone_on_with(host: Host, place: Place, thread: Thread) -> Plan | None:
    """The approved plan that a `continue` at `place` goes on with; `None` where the last run carries out none.

    Raises `UsageError` where that approval or plan does not stand any more as it did.
    """
    behind = _behind(host, place, thread)
    return find_plan(host, place, behind.prefix, behind.keys) if behind is not None else None


@dataclass(frozen=True, slots=True)
class Approval:
    """What a request whose result is to be published carries out: nothing where `plan` is `None`. `url` is the plan's
    comment; `heirs` are the keys of the requests that it goes on from."""

    plan: Plan | None = None
    url: str = ""
    heirs: frozenset[str] = frozenset()


def check_approved(host: Host, place: Place | None, request: Request) -> Approval:
    """Before the result of an `approve`, or of a `continue` after one, is published: its plan stands in the thread,
    unchanged and not carried out by another.

    Raises `PublishError`.
    """
    heirs: frozenset[str] = frozenset()
    if request.verb is Verb.CONTINUE and place is not None and request.thread is not None:
        behind = _behind(host, place, request.thread)
        named = request.plan.hash if request.plan else ""
        if bool(named) != (behind is not None) or (behind and not named.startswith(behind.prefix.lower())):
            raise PublishError(
                "The bundle goes on with another plan than the one that was approved: nothing was done."
            )
        heirs = behind.keys if behind else heirs
    if request.verb is not Verb.APPROVE and request.plan is None:
        return Approval()
    if request.plan is None or place is None:
        raise PublishError("The bundle carries out a plan, and does not say which one: nothing was done.")
    try:
        plan = find_plan(host, place, request.plan.hash, heirs)
    except UsageError as error:
        raise PublishError(str(error)) from error
    return Approval(plan, _url(host, place, plan, request.thread), heirs)


def tell_carried_out(host: Host, place: Place | None, approval: Approval, number: int) -> tuple[str, ...]:
    """Say under the approved plan that it was carried out, in pull request `number`; soft failures."""
    if approval.plan is None or place is None:
        return ()
    result = f"pull request #{number}." if number else "done."
    try:
        mark_carried_out(host, place, approval.plan, result, approval.heirs)
    except GitHubError as error:
        return (f"The plan could not be marked as carried out: {error}",)
    return ()


def mark_carried_out(
    host: Host, place: Place, plan: Plan, result: str, heirs: frozenset[str] = frozenset()
) -> None:
    """Say under the plan that the request at `place` carried it out; `result` is Markdown of ours. A request that goes
    on from one that did takes its place. Raises `GitHubError`."""
    for one in own_comments(host, place):
        by = one.carried_out_by
        if one.hash != plan.hash or (by and by not in heirs):
            continue
        text = f"**Carried out:** {result}\n\n{one.as_posted.rstrip()}"
        body = with_mark(place, one.kind, text, {**one.fields, "carried": place.key})
        rewrite(host, _at(place, one), one.id, body)


@dataclass(frozen=True, slots=True)
class _Behind:
    """The approval that a chain of `continue` goes back to: the hash as written, the keys of the requests since."""

    prefix: str
    keys: frozenset[str]


def _behind(host: Host, place: Place, thread: Thread) -> _Behind | None:
    found = traces(
        host, place.repository, place.number, thread_url=thread.url, is_pull=thread.is_pull_request
    )
    keys: set[str] = set()
    for trace in newest_requests(found, place.key):
        keys |= {trace.key, trace.asked}
        body, edited = _asking(host, place, trace.asked)
        command = parse_command(body)
        if command is None or command.problem or command.verb not in (Verb.APPROVE, Verb.CONTINUE):
            return None
        if command.verb is Verb.APPROVE:
            if edited:
                raise UsageError("The comment that approved the plan was edited: approve the plan again.")
            return _Behind(command.options.get(APPROVED, ""), frozenset(keys))
    return None


def _asking(host: Host, place: Place, key: str) -> tuple[str, bool]:
    """What stands in the comment that asked, and whether it was edited; empty where it was deleted."""
    number, on_lines = asking_comment(key)
    found = host.review_comment(place.repository, number) if on_lines else None
    if found is not None:
        return found.body, found.updated_at != found.created_at
    comment = host.comment(place.repository, number) if number and not on_lines else None
    return (comment.body, comment.updated_at != comment.created_at) if comment else ("", False)


def _url(host: Host, place: Place, plan: Plan, thread: Thread | None) -> str:
    found = next((one for one in own_comments(host, place) if one.hash == plan.hash), None)
    if found is None or thread is None:
        return ""
    return f"{thread.url}#{'discussion_r' if found.lines else 'issuecomment-'}{found.id}"


def _at(place: Place, comment: PlanComment) -> Place:
    return replace(place, lines=comment.lines)
