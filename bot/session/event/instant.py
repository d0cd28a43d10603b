"""Answer `help`, `status` and `stop` without a model, a checkout or a sandbox.

Our progress comments name the Actions runs of a thread; GitHub says whether a run is active.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.contracts.formatting import count_of, duration, money
from bot.contracts.request import Request, Thread
from bot.events.admission import permits
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import WorkflowRunData
from bot.policy.values import Policy
from bot.publish.markdown import safe_line
from bot.publish.thread.history import Trace, is_own_run, traces
from bot.publish.thread.markers import PROGRESS, asking_comment
from bot.verbs.record import Answer, Place
from bot.verbs.registry import INSTANT, VERBS


@dataclass(frozen=True, slots=True)
class InstantQuery:
    """An instant request. `run` is the Actions run that answers, 0 outside Actions; `workflow` is its file; `now` is
    RFC 3339."""

    request: Request
    thread: Thread
    policy: Policy
    run: int = 0
    workflow: str = ""
    now: str = ""

    def may(self, verb: str) -> bool:
        """Whether to list a verb in the answer; permission is checked again when a request is made."""
        actor = self.request.actor
        return permits(self.policy, actor, verb, on_own_thread=self.thread.author == actor.login)


def answer(query: InstantQuery, host: GitHub) -> str:
    """The whole answer, as Markdown. Raises `GitHubError`."""
    match VERBS[query.request.verb].answer:
        case Answer.COMMANDS:
            return help_text(query)
        case Answer.CANCELLATION:
            return stop(query, host)
        case _:
            return status_text(query, host)


# No run of a hosted runner lasts longer; a progress comment is edited all the while.
_RECENT = timedelta(hours=24)
_MOST = 5


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that works on a request of this thread, and our comment that says so."""

    trace: Trace
    run: WorkflowRunData


@dataclass(frozen=True, slots=True)
class ThreadRuns:
    """`active` is newest first; `last` is our newest comment that is not about an active run."""

    active: tuple[ActiveRun, ...]
    last: Trace | None


def read_thread_runs(query: InstantQuery, host: GitHub) -> ThreadRuns:
    """Return the active runs of a thread and our last comment. Reads the last day, and the whole thread only if that
    has nothing."""
    recent = _traces(query, host, _before(query.now))
    active = tuple(_active_runs(query, host, recent))
    active_urls = {one.trace.url for one in active}
    ended = [trace for trace in recent if trace.url not in active_urls and trace.kind != "answer"]
    if not active and not ended:
        ended = [trace for trace in _traces(query, host, "") if trace.kind != "answer"]
    return ThreadRuns(active, ended[-1] if ended else None)


def _traces(query: InstantQuery, host: GitHub, since: str) -> list[Trace]:
    thread = query.thread
    return traces(
        host,
        query.request.repository,
        thread.number,
        thread_url=thread.url,
        is_pull=thread.is_pull_request,
        since=since,
    )


def _active_runs(query: InstantQuery, host: GitHub, thread_traces: list[Trace]) -> list[ActiveRun]:
    candidates = [
        trace for trace in reversed(thread_traces) if trace.kind == PROGRESS and not trace.over and trace.run
    ]
    active = []
    for trace in candidates[:_MOST]:
        if trace.run == query.run:
            continue
        run = _run(query, host, trace)
        if run is not None and run.status != "completed":
            active.append(ActiveRun(trace, run))
    return active


def _run(query: InstantQuery, host: GitHub, trace: Trace) -> WorkflowRunData | None:
    """The run that our comment names, where it is one of this repository that was there when the comment was
    written, and of the workflow that answers; `None` for any other, since somebody may have had us write its name."""
    try:
        run = host.workflow_run(query.request.repository, trace.run)
    except GitHubError as error:
        if error.status == 404:
            return None
        raise
    ours = is_own_run(run, query.request.repository, query.workflow)
    return run if ours and run.created_at <= trace.updated_at else None


def _before(now: str) -> str:
    moment = datetime.fromisoformat(now) if now else datetime.now(UTC)
    return (moment - _RECENT).strftime("%Y-%m-%dT%H:%M:%SZ")


_OPTIONS = ("--model NAME", "--budget USD", "--base BRANCH", "--no-draft", "--dry-run")


def help_text(query: InstantQuery) -> str:
    here = Place.PULL if query.thread.is_pull_request else Place.ISSUE
    verbs = [verb for verb in VERBS.values() if here in verb.places and query.may(verb.name)]
    actor = query.request.actor
    parts = [f"**Commands that {actor.login} can give here** (tier {actor.tier}):"]
    parts.append("\n".join(f"- `/agent {verb.example}` {verb.help}" for verb in verbs))
    limits = query.policy.tiers.get(actor.tier)
    if limits is not None and any(verb.name not in INSTANT for verb in verbs):
        each = f"{money(limits.usd)}, {count_of(limits.turns, 'turn')} and {limits.minutes:g} minutes"
        parts.append(
            f"Limits: {each} a run; {count_of(limits.runs_a_day, 'run')} a day. Options: {_options(query.policy)}."
        )
    return "\n\n".join(parts)


def _options(policy: Policy) -> str:
    """Those that the policy leaves open."""
    closed = {"--no-draft"} if policy.pull_request.always_draft else set()
    if policy.options.models == ():
        closed.add("--model NAME")
    return ", ".join(f"`{option}`" for option in _OPTIONS if option not in closed)


_RUNNING = "in_progress"
_LINES = 5


def status_text(query: InstantQuery, host: GitHub) -> str:
    runs = read_thread_runs(query, host)
    if runs.active:
        return "\n\n".join(_entry(query, one) for one in runs.active)
    return idle_text(runs.last)


def idle_text(last: Trace | None) -> str:
    """Return the answer for a thread without an active run."""
    if last is None:
        return "**Nothing is running for this thread**, and nothing has run yet: `/agent help` lists the commands."
    return f"**Nothing is running for this thread.** The last result: [{safe_line(last.headline, 200)}]({last.url})."


def _entry(query: InstantQuery, one: ActiveRun) -> str:
    run = one.run
    state = "Running" if run.status == _RUNNING else "Waiting for a runner"
    since = f"{run.created_at[:10]} {run.created_at[11:16]} UTC"
    head = f"**{state}** since {since}{_elapsed(run.created_at, query.now)}: [the run]({run.url})."
    rows = [f"- {safe_line(line)}" for line in one.trace.lines[:_LINES]]
    links = f"[Its progress]({one.trace.url}){_request_link(query, one.trace)}"
    return "\n".join([head, "", *rows, f"- {links}"])


def _request_link(query: InstantQuery, trace: Trace) -> str:
    comment_id, on_lines = asking_comment(trace.key)
    if not comment_id:
        return ""
    anchor = f"discussion_r{comment_id}" if on_lines else f"issuecomment-{comment_id}"
    return f", asked for [here]({query.thread.url}#{anchor})"


def _elapsed(since: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    except ValueError:
        return ""
    return f" ({duration(max(seconds, 0))})"


_ARTIFACT_NOTE = (
    "What it had is kept as an artifact of the run; a change in it is published as an unfinished draft, "
    "and `/agent continue` goes on from there."
)


def stop(query: InstantQuery, host: GitHub) -> str:
    """Cancel the active runs of the thread and return what was done."""
    runs = read_thread_runs(query, host)
    if not runs.active:
        return idle_text(runs.last)
    return "\n\n".join(_cancel(query, host, one) for one in runs.active)


def _cancel(query: InstantQuery, host: GitHub, one: ActiveRun) -> str:
    link = f"[the run]({one.run.url})"
    try:
        host.cancel_run(query.request.repository, one.run.id)
    except GitHubError as error:
        if error.status == 409:
            return f"**Nothing to stop:** {link} had just ended."
        if error.status in (403, 404):
            return (
                f"**Not stopped:** this job's token may not cancel {link}. Give the job that answers `stop` the "
                "permission `actions: write`, or cancel the run on its page."
            )
        raise
    return f"**Stopping** {link}, for {query.request.actor.login}. {_ARTIFACT_NOTE}"
