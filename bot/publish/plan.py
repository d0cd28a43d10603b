"""The plan comment: what people read, and, hidden beneath it, the very plan that an approval carries out.

Whoever may write can edit the bot's comments. So the comment holds the plan as data, the mark its hash, and an
approval names that hash; a comment that was changed in any way since it was posted is refused. The plan is shown as
the characters it has, all of them: nothing is approved that could not be read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bot.contracts.errors import GateError, PublishError, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import MAX_PLAN, Plan, PlanStep
from bot.contracts.request import Request, Thread, Verb
from bot.contracts.wording import count_of, money
from bot.gate.text import withhold_if_secret
from bot.github.errors import GitHubError
from bot.github.host import Host
from bot.github.values import Account
from bot.intake.command import PLAN as APPROVED
from bot.intake.command import parse_command
from bot.publish.answer import finished, footer
from bot.publish.body.footer import Links
from bot.publish.bundle.read import Bundle
from bot.publish.bundle.schema import parse_plan
from bot.publish.remote import Remote
from bot.publish.text.shown import shown_code, shown_line
from bot.publish.thread.comments import post, rewrite, with_mark
from bot.publish.thread.markers import PROGRESS, asking_comment, is_ours, read_mark
from bot.publish.thread.place import Place
from bot.publish.thread.traces import comes_before, traces

PLAN = "plan"
"""The kind of the mark. Its fields beside the usual ones: `plan`, the hash, and `by`, the key of the request that
carried it out."""

_DATA = "<!-- slash-agent-plan-data "
_FOUND = re.compile(re.escape(_DATA) + r"([A-Za-z0-9+/=]{1,60000}) -->")
_SHOWN_HASH = 12


@dataclass(frozen=True, slots=True)
class _Comment:
    """One comment of a thread, on lines or not."""

    id: int
    author: Account
    body: str
    edited: bool
    lines: int


def publish_plan(
    bundle: Bundle,
    host: Host,
    *,
    place: Place | None,
    links: Links,
    remote: Remote,
    folder: Path,
    say: Callable[[str], None],
) -> tuple[str, ...]:
    """Post the bundle's plan where it was asked for; done twice it changes nothing.

    Returns soft failures, a sentence each. Raises `PublishError`, and `GateError` for a plan that may not leave.
    """
    plan = bundle.plan
    if plan is None:
        raise PublishError("The bundle says that there is a plan, and holds none: nothing was posted.")
    if reason := withhold_if_secret("\n".join(_texts(plan))):
        raise GateError(f"The plan is not posted: {reason}.")
    text = plan_text(plan, bundle.outcome, links)
    if place is None:
        say(f"nobody asked in a thread, so this is posted nowhere:\n{text}")
        return ()
    try:
        if not any(_is_of(one, place.key, plan.hash) for one in _own(host, place)):
            # Never an edit of an earlier one: what somebody is about to approve does not change under their eyes.
            post(host, place, with_mark(place, PLAN, text, {"plan": plan.hash, "text": _text_hash(text)}))
    except GitHubError as error:
        raise PublishError(f"The plan could not be posted: {error}") from error
    return finished(host, place, bundle.outcome, links)


def find_plan(host: Host, place: Place, prefix: str, heirs: frozenset[str] = frozenset()) -> Plan:
    """The plan of this thread whose hash begins with `prefix`, for an approval.

    Raises `UsageError`, a sentence for whoever approves, where there is none, more than one, where it was edited
    since it was posted, or carried out before by another request than `place`'s or those that it goes on from, `heirs`.
    """
    own = [one for one in _own(host, place) if _hash(one)]
    named = [one for one in own if prefix and _hash(one).startswith(prefix.lower())]
    if not named:
        which = f" {shown_code(prefix)}" if prefix else ""
        newest = f" The newest here is {_short(_hash(own[-1]))}." if own else ""
        raise UsageError(
            f"There is no plan{which} of this bot's in this thread.{newest} `/agent plan` makes one."
        )
    if len({_hash(one) for one in named}) > 1:
        raise UsageError(f"More than one plan begins with {shown_code(prefix)}: write more of its hash.")
    short = _short(_hash(named[0]))
    by = _fields(named[0]).get("by", "")
    if by and by not in {place.key, *heirs}:
        raise UsageError(f"The plan {short} was carried out already: `/agent plan` makes a new one.")
    plan = _read(named[0].body)
    if plan is None or plan.hash != _hash(named[0]) or (not by and _is_changed(named[0])):
        raise UsageError(
            f"The plan {short} was edited after it was posted, so it is not carried out: `/agent plan` makes a new one."
        )
    return plan


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
    for one in _own(host, place):
        fields = _fields(one)
        if _hash(one) != plan.hash or ("by" in fields and fields["by"] not in heirs):
            continue
        above = _above_mark(one)
        if "by" in fields:
            above = above.partition("\n\n")[2]
        text = f"**Carried out:** {result}\n\n{above.rstrip()}"
        body = with_mark(place, PLAN, text, {**fields, "by": place.key})
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
    for trace in reversed(found):
        if trace.kind != PROGRESS or not comes_before(trace.key, place.key):
            continue
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
    found = next((one for one in _own(host, place) if _hash(one) == plan.hash), None)
    if found is None or thread is None:
        return ""
    return f"{thread.url}#{'discussion_r' if found.lines else 'issuecomment-'}{found.id}"


def plan_text(plan: Plan, outcome: Outcome, links: Links) -> str:
    """The comment, without its mark."""
    parts = [
        f"**Plan: {shown_line(plan.title, _room(plan.title))}**",
        "\n".join(_step(number, step) for number, step in enumerate(plan.steps, 1)),
    ]
    if plan.risks:
        parts.append(f"**Risks.** {_lines(plan.risks, '')}")
    parts.append(
        f"To have exactly this carried out, once: `/agent approve {plan.hash[:_SHOWN_HASH]}`. For another one: "
        "`/agent plan` and what should be different. A plan that was edited, be it by a ticked box, is not carried out."
    )
    parts += [shown_line(note, 500) for note in outcome.notes]
    parts.append(f"<sub>{_estimate(plan)}</sub>\n{footer(outcome, links)}")
    return "\n\n".join([*parts, f"{_DATA}{_packed(plan)} -->"])


def _texts(plan: Plan) -> Iterator[str]:
    yield from (plan.title, plan.risks)
    for step in plan.steps:
        yield from (step.text, *step.paths)


def _step(number: int, step: PlanStep) -> str:
    paths = "".join(f"\n  {shown_code(path, _room(path))}" for path in step.paths)
    return f"- [ ] **{number}.** {_lines(step.text, '  ')}{paths}"


def _lines(text: str, indent: str) -> str:
    """Each line as the characters it has, with a line's end that shows."""
    lines = [shown_line(line, _room(line)) for line in text.splitlines() if line.strip()]
    return f"\\\n{indent}".join(lines)


def _room(text: str) -> int:
    """Escaping makes a text longer, and a plan is shown whole: its length has a limit of its own."""
    return 4 * len(text) + 100


def _estimate(plan: Plan) -> str:
    guesses = (
        f"about {count_of(plan.estimate_turns, 'turn')}" if plan.estimate_turns else "",
        f"about {money(plan.estimate_usd)}" if plan.estimate_usd else "",
    )
    said = " and ".join(guess for guess in guesses if guess)
    return f"The model's estimate: {said}." if said else "The model gave no estimate."


def _packed(plan: Plan) -> str:
    return base64.b64encode(zlib.compress(plan.canonical.encode(), 9)).decode()


def _read(body: str) -> Plan | None:
    found = _FOUND.findall(body)
    if len(found) != 1:
        return None
    try:
        packed = base64.b64decode(found[0], validate=True)
        raw = zlib.decompressobj().decompress(packed, MAX_PLAN + 1)
        return parse_plan(raw, "the plan in the comment") if len(raw) <= MAX_PLAN else None
    except (binascii.Error, ValueError, zlib.error, UsageError):
        return None


def _own(host: Host, place: Place) -> Iterator[_Comment]:
    """Our comments in the whole thread, oldest first, those on the lines of `place` last."""
    me = host.me()
    for one in host.comments(place.repository, place.number):
        author = Account(one.author, one.author_id, one.author_kind)
        if is_ours(author, me):
            yield _Comment(one.id, author, one.body, one.updated_at != one.created_at, 0)
    if not place.lines:
        return
    for remark in host.review_comments(place.repository, place.number):
        if remark.in_reply_to == place.lines and is_ours(remark.author, me):
            edited = remark.updated_at != remark.created_at
            yield _Comment(remark.id, remark.author, remark.body, edited, place.lines)


def _at(place: Place, comment: _Comment) -> Place:
    return replace(place, lines=comment.lines)


def _is_changed(comment: _Comment) -> bool:
    """By GitHub's clock, and by its text, since that clock has seconds only."""
    return comment.edited or _fields(comment).get("text") != _text_hash(_above_mark(comment))


def _above_mark(comment: _Comment) -> str:
    return comment.body.rpartition("<!--")[0]


def _text_hash(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return hashlib.sha256(lines.encode()).hexdigest()[:32]


def _fields(comment: _Comment) -> dict[str, str]:
    return dict(read_mark(comment.body, PLAN) or {})


def _hash(comment: _Comment) -> str:
    return _fields(comment).get("plan", "")


def _is_of(comment: _Comment, key: str, plan_hash: str) -> bool:
    fields = _fields(comment)
    return (fields.get("request"), fields.get("plan")) == (key, plan_hash)


def _short(plan_hash: str) -> str:
    return f"`{plan_hash[:_SHOWN_HASH]}`"
