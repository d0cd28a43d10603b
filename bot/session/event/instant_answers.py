"""Answer `help`, `status`, `stop`, `follow` and people without access, without a model, a checkout or a sandbox.

Our progress comments name the Actions runs of a thread; GitHub says whether a run is active.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from github.WorkflowRun import WorkflowRun

from bot.contracts.errors import GateError
from bot.contracts.formatting import duration
from bot.contracts.request import FOLLOW_UP_FILE, Request
from bot.events.admission import TOLD_AGAIN_AFTER, permits, unmet_check
from bot.events.event_request import EventRequest, NoRequestError
from bot.follow_up.act import arm, disarm
from bot.follow_up.read import read_followed
from bot.follow_up.record import read_record
from bot.github.client import GitHub
from bot.github.errors import HIDDEN, GitHubError
from bot.github.transport import stamp
from bot.policy.settings import Policy
from bot.providers.connect import MissingKeyError
from bot.publish.macros import macros_of
from bot.publish.markdown import safe_plain
from bot.publish.thread.comments import OwnComment
from bot.publish.thread.history import is_own_run, read_log
from bot.publish.thread.markers import ANSWER, PROGRESS, REFUSED, asking_comment, is_ours, read_mark
from bot.session.event.event_context import TEMPLATES, EventContext, Say
from bot.session.event.progress_comment import error_text, post_answer
from bot.verbs.record import Answer, Place
from bot.verbs.registry import VERBS

_MAX_REASON = 1_000
PASSES_ON = ("gate", "run")
"""Modes of the action whose job writes no checks."""

_OPTIONS = ("--model NAME", "--budget USD", "--base BRANCH", "--skill NAME", "--no-draft", "--dry-run")
_MOST = 5
"""Active runs that are looked at."""

_KEPT = (
    "What it had is kept as an artifact of the run; a change in it is published as an unfinished draft, "
    "and `/agent continue` goes on from there."
)


def answer(context: EventContext, request: Request) -> str:
    """The whole answer, as Markdown. Raises `GitHubError`."""
    kind = VERBS[request.verb].answer
    if kind is Answer.COMMANDS:
        return help_text(request, context.policy)
    assert request.thread is not None
    if kind is Answer.FOLLOWING:
        return _follow(context, request)
    following = _following(context, request, kind) if request.thread.is_pull_request else ""
    own = read_log(context.github, request.thread).answers
    claims = [one for one in reversed(own) if one.kind == PROGRESS and not one.over and one.run]
    active = [
        (one, run)
        for one in claims[:_MOST]
        if one.run != context.where.run and (run := _active_run(context, one.run, one.data.updated_at))
    ]
    if not active and following:
        return following
    if not active:
        last = next((one for one in reversed(own) if one.kind != ANSWER), None)
        return str(macros_of("instant_answers", TEMPLATES).idle(last, context.thread_ref.url)).strip()
    if kind is Answer.CANCELLATION:
        texts = [_cancel(context.github, request, run, _KEPT) for _, run in active]
    else:
        texts = [_status(context, comment, run) for comment, run in active]
    return "\n\n".join([*texts, *filter(None, [following])])


def _follow(context: EventContext, request: Request) -> str:
    """Arm the pull request, and start the workflow that takes the next step."""
    assert request.thread is not None
    github, number, limits = context.github, request.thread.number, context.policy.rounds
    try:
        followed = read_followed(github, number, limits, context.policy.identity)
    except NoRequestError:
        return "**Not followed:** I follow only pull requests that I opened from a branch of this repository."
    if refusal := arm(github, followed, limits, request.actor):
        return refusal
    text = "I follow this pull request until it can be merged."
    try:
        branch = github.repository.default_branch
        github.dispatch_workflow(FOLLOW_UP_FILE, branch, number=str(number))
    except GitHubError as error:
        written = f"`slash-agent init --follow-up` writes `{FOLLOW_UP_FILE}`."
        return f"{text} The workflow for it did not start, so its schedule comes next. {error} {written}"
    return text


def _following(context: EventContext, request: Request, kind: Answer | None) -> str:
    """The answer of `status` and of `stop` on a pull request that is followed, empty on another one."""
    assert request.thread is not None
    github, number = context.github, request.thread.number
    if kind is Answer.RUNS:
        record = read_record(github, number)
        anchor = record.comment.anchor if record.comment else ""
        return f"{record.state} [What was done]({context.thread_ref.url}#{anchor})" if anchor else ""
    stopped = disarm(github, number, by_policy=context.policy.follow_up is not None)
    if stopped is None:
        return ""
    disarmed = "I do not follow this pull request any more. `/agent follow` goes on."
    written = stopped.comment.updated_at if stopped.comment else ""
    run = _active_run(context, stopped.run, written) if stopped.run else None
    return _cancel(github, request, run, f"Nothing of it is published. {disarmed}") if run else disarmed


def help_text(request: Request, policy: Policy) -> str:
    """List the commands that the actor can give; permission is checked again when a request is made."""
    actor, thread = request.actor, request.thread
    here = Place.PULL if thread and thread.is_pull_request else Place.ISSUE
    own = thread is not None and thread.author == actor.login
    verbs = [
        verb
        for verb in VERBS.values()
        if here in verb.places and permits(policy, actor, verb.name, on_own_thread=own)
    ]
    limits = policy.tiers[actor.tier] if any(verb.profile for verb in verbs) else None
    closed = {"--no-draft": policy.pull_request.always_draft, "--model NAME": policy.options.models == ()}
    options = [option for option in _OPTIONS if not closed.get(option)]
    return str(macros_of("instant_answers", TEMPLATES).commands(actor, verbs, limits, options)).strip()


def _active_run(context: EventContext, run_id: int, written_at: str) -> WorkflowRun | None:
    """The run that our comment names, if it is active, one of this repository that was there when the comment was
    written, and of the workflow that answers or follows; `None` for any other, since somebody may have had us write its
    name."""
    run = context.github.active_run(run_id)
    if run is None:
        return None
    workflows = (context.where.workflow, FOLLOW_UP_FILE)
    ours = any(is_own_run(run, context.github.name, one) for one in workflows)
    begun = stamp(run.created_at)
    return run if ours and begun <= written_at else None


def _status(context: EventContext, comment: OwnComment, run: WorkflowRun) -> str:
    age = (datetime.fromisoformat(context.now) - run.created_at).total_seconds()
    comment_id, on_lines = asking_comment(comment.key)
    comment_anchor = f"{'discussion_r' if on_lines else 'issuecomment-'}{comment_id}" if comment_id else ""
    arguments = duration(max(age, 0)), comment, comment_anchor, context.thread_ref.url
    return str(macros_of("instant_answers", TEMPLATES).active(run, *arguments)).strip()


def _cancel(github: GitHub, request: Request, run: WorkflowRun, then: str) -> str:
    link = f"[the run]({run.html_url})"
    try:
        github.cancel_run(run.id)
    except GitHubError as error:
        if error.status == 409:
            return f"**Nothing to stop:** {link} had just ended."
        if error.status in HIDDEN:
            return (
                f"**Not stopped:** this job's token may not cancel {link}. Give the job that answers `stop` the "
                "permission `actions: write`, or cancel the run on its page."
            )
        raise
    return f"**Stopping** {link}, for {request.actor.login}. {then}"


def answer_outsider(context: EventContext, account: int, kind: str, text: Callable[[], str]) -> bool:
    """Answer the `account`, which has no access, at most once a day in a thread for each `kind`. Returns whether it was
    posted."""
    if not context.thread_ref.number:
        return False
    yesterday = (datetime.fromisoformat(context.now) - timedelta(seconds=TOLD_AGAIN_AFTER)).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    recent = context.thread_ref._replace(since=yesterday)
    is_posted = False
    with context.noting("the comment could not be posted"):
        if any(
            (read_mark(one.body, kind) or {}).get("to") == str(account)
            and is_ours(one.author, context.github.me, REFUSED)
            for one in recent.comments()
        ):
            context.say("note: this account got an answer of this kind today, so nothing is posted")
        else:
            recent.post(recent.marked(kind, text(), {"to": str(account)}))
            is_posted = True
    return is_posted


def report_no_result(context: EventContext, reason: str, *, failed: bool = False) -> None:
    """Report why nothing came of an event without a command. `failed`: by an error, which has the run's address."""
    if not context.event_request.head_sha:
        text = error_text(reason, context.where.run_url) if failed else reason
        post_answer(context, text)
    elif context.environment.get("SLASH_AGENT_MODE") in PASSES_ON:
        context.pass_on(reason)
    else:
        post_check(context.github, context.event_request, reason, context.where.run_url, context.say)


def post_check(github: GitHub, event_request: EventRequest, reason: str, run_url: str, say: Say) -> None:
    """Put a neutral check on the head of the event's pull request, or note in the log why not."""
    text = safe_plain(reason, _MAX_REASON) or "No reason was given."
    try:
        path = f"/repos/{github.name}/check-runs"
        github.requester.requestJsonAndCheck("POST", path, input=unmet_check(event_request, text, run_url))
    except (GitHubError, GateError) as error:
        say(f"note: The check run with the reason could not be made: {error}")


def missing_key(error: MissingKeyError, github: GitHub, workflow: str) -> str:
    """Return which secret is empty, and the line of `workflow` that passes it on or should."""
    variable, *others = error.variables
    text = ""
    if workflow:
        with suppress(GitHubError):  # the secret's name is known without it
            text = github.file(workflow, github.repository.default_branch) or ""
    name = re.compile(rf"\s*(?:{variable}|{variable.replace('_', '-')})\s*:", re.IGNORECASE)
    passed = ((line, code) for line, code in enumerate(text.splitlines(), 1) if name.match(code))
    line, code = next(passed, (0, ""))
    code = code.partition(" #")[0].strip().replace("`", "")
    return str(
        macros_of("instant_answers", TEMPLATES).missing_key(variable, others, workflow, line, code)
    ).strip()
