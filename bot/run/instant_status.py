"""`/agent status`: what runs for this thread and how far it is, from our progress comment and Actions' word on the
run that it names; where nothing runs, how the last one ended."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from bot.contracts.wording import duration
from bot.publish.text.shown import shown_line
from bot.publish.thread.markers import asking_comment
from bot.publish.thread.traces import Trace
from bot.run.instant_runs import Working, look

if TYPE_CHECKING:
    from bot.github.host import Host
    from bot.run.instant import Question

_RUNNING = "in_progress"
_LINES = 5


def status_text(question: Question, host: Host) -> str:
    seen = look(question, host)
    if seen.working:
        return "\n\n".join(_working(question, one) for one in seen.working)
    return nothing_runs(seen.last)


def nothing_runs(last: Trace | None) -> str:
    """What is said where no run works on the thread."""
    if last is None:
        return "**Nothing is running for this thread**, and nothing has run yet: `/agent help` lists the commands."
    return f"**Nothing is running for this thread.** The last result: [{shown_line(last.headline, 200)}]({last.url})."


def _working(question: Question, one: Working) -> str:
    run = one.run
    state = "Running" if run.status == _RUNNING else "Waiting for a runner"
    since = f"{run.created_at[:10]} {run.created_at[11:16]} UTC"
    head = f"**{state}** since {since}{_for(run.created_at, question.now)}: [the run]({run.url})."
    rows = [f"- {shown_line(line)}" for line in one.trace.lines[:_LINES]]
    links = f"[Its progress]({one.trace.url}){_asked(question, one.trace)}"
    return "\n".join([head, "", *rows, f"- {links}"])


def _asked(question: Question, trace: Trace) -> str:
    comment_id, on_lines = asking_comment(trace.key)
    if not comment_id:
        return ""
    anchor = f"discussion_r{comment_id}" if on_lines else f"issuecomment-{comment_id}"
    return f", asked for [here]({question.thread.url}#{anchor})"


def _for(since: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    except ValueError:
        return ""
    return f" ({duration(max(seconds, 0))})"
