"""Other work in the thread of a request: the result of the same request, its second progress comment, progress comments
of runs that died, and other people's pull requests about the issue."""

from bot.contracts.request import Request
from bot.github.accounts import account
from bot.github.client import GitHub
from bot.publish.own_pulls import own_pull
from bot.publish.thread.comments import own_comments
from bot.publish.thread.history import UNASKED
from bot.publish.thread.markers import FINISHED, OVER, PROGRESS, asking_comment
from bot.session.event.event_context import EventContext
from bot.verbs.record import ANYWAY
from bot.verbs.registry import VERBS

_MAX_CLOSED = 5


def close_dead_progress(context: EventContext) -> None:
    """Close our open progress comments of earlier requests whose run is over: while this run holds the thread, no other
    of its group runs. An error of GitHub goes to the log only."""
    thread_ref, host = context.thread_ref, context.github
    with context.noting("the progress comment of an earlier run could not be closed"):
        others = own_comments(
            host,
            context.github.conversation.values(),
            lambda fields: fields.get("state") == "on" and fields.get("request") != thread_ref.key,
        )
        left_open = [
            one
            for one in others
            if one.kind == PROGRESS
            and one.run > 0
            and asking_comment(one.key)[0]  # a comment requested it, before this one
            and one.data.created_at <= thread_ref.since
        ]
        for one in sorted(left_open, key=lambda one: one.data.id)[-_MAX_CLOSED:]:
            run = host.workflow_run(one.run)
            if run.status != "completed":
                continue
            ended = run.conclusion or "without a result"
            text = (
                f"**This run ended without a result** ([log]({run.html_url}), {ended}). "
                "Write the command again if you still want it."
            )
            thread_ref.rewrite(one, text, {**UNASKED, **one.fields, **OVER})


def existing_result_url(context: EventContext) -> str:
    """Return the URL of our comment that says that this request is done, or empty: GitHub may deliver an event twice,
    and people run jobs again. A label or a schedule may request the same again."""
    thread_ref = context.thread_ref
    if asking_comment(thread_ref.key)[0]:
        done = {"request": thread_ref.key, "result": FINISHED["result"]}.items()
        for one in own_comments(
            context.github, context.github.conversation.values(), lambda fields: done <= fields.items()
        ):
            if one.ours:
                return f"{thread_ref.url}#{one.data.anchor}"
    return ""


def resolve_progress_comment(context: EventContext, started: int) -> int:
    """Return the progress comment to update: `started`, which the action began for this run, or the earlier one of
    another run of the same event. Deletes the surplus comment."""
    host, thread_ref = context.github, context.thread_ref
    earlier = [one for one in context.github.conversation.values() if one.id < started]
    with context.noting("the second progress comment could not be deleted"):
        for one in own_comments(host, sorted(earlier, key=lambda one: one.id)):
            if (one.kind, one.key) == (PROGRESS, thread_ref.key) and "plan" not in one.fields:
                host.delete_comment(started)
                return one.data.id
    return started


_NAMED = 5


def others_at_work(context: EventContext, request: Request) -> str:
    """Return a sentence that names the open pull requests of others that mention the issue; empty without any, or if
    the command says `--anyway`. One request to GitHub; if it is refused, the run starts."""
    verb, thread = VERBS[request.verb], request.thread
    if ANYWAY not in verb.options or request.options.get(ANYWAY) == "true" or request.task:
        return ""
    if thread is None or thread.is_pull_request:
        return ""
    listed = ""
    with context.noting("whether there is a pull request about the issue could not be read"):
        listed = pulls_at_work(context.github, thread.number)
    if not listed:
        return ""
    return (
        f"Open pull requests that mention this issue: {listed}. To start anyway, repeat the command with "
        f"`--{ANYWAY}`, as in `/agent {verb.example} --{ANYWAY}`."
    )


def pulls_at_work(github: GitHub, issue: int) -> str:
    """Return the open pull requests of others that mention the issue, in words; empty without any. One request."""
    others = []
    for pull in github.pulls_mentioning(issue):
        own = own_pull(pull, github.me)
        if own is None or own.fields.get("issue") != str(issue):
            others.append(pull)
    named = [f"#{pull.number} by {account(pull.user).login}" for pull in others[:_NAMED]]
    more = len(others) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more > 0 else [])])
