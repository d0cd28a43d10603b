"""`/agent stop`: cancel the Actions run that our progress comment names. What the run had is kept by the steps of its
own job that come after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.github.errors import GitHubError
from bot.run.instant_runs import Working, look
from bot.run.instant_status import nothing_runs

if TYPE_CHECKING:
    from bot.github.host import Host
    from bot.run.instant import Question

_KEPT = (
    "What it had is kept as an artifact of the run; a change in it is published as an unfinished draft, "
    "and `/agent continue` goes on from there."
)


def stop(question: Question, host: Host) -> str:
    """Cancel what runs for the thread; what was done, in words."""
    seen = look(question, host)
    if not seen.working:
        return nothing_runs(seen.last)
    return "\n\n".join(_cancel(question, host, one) for one in seen.working)


def _cancel(question: Question, host: Host, one: Working) -> str:
    named = f"[the run]({one.run.url})"
    try:
        host.cancel_run(question.request.repository, one.run.id)
    except GitHubError as error:
        if error.status == 409:
            return f"**Nothing to stop:** {named} had just ended."
        if error.status in (403, 404):
            return (
                f"**Not stopped:** this job's token may not cancel {named}. Give the job that answers `stop` the "
                "permission `actions: write`, or cancel the run on its page."
            )
        raise
    return f"**Stopping** {named}, for {question.request.actor.login}. {_KEPT}"
