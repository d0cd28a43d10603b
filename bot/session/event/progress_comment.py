"""Report to thread and log while an event is handled: the progress comment, each call, and errors that leave no
bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from bot.agent.conversation_context import TurnInfo
from bot.contracts.formatting import money, sentence
from bot.contracts.outcome import Outcome, Status
from bot.contracts.progress import NoteEvent, View
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.github.client import GitHub
from bot.publish.body.title_and_footer import Links
from bot.publish.markdown import safe_line
from bot.publish.result import end_text, pending_line
from bot.publish.thread.comments import comments_at, post, put_comment, with_mark
from bot.publish.thread.history import ASKED, cost
from bot.publish.thread.markers import ENDED, REFUSED, ThreadRef, is_ours, notice_recipient
from bot.publish.thread.progress_writer import ProgressState, ProgressWriter, close_progress
from bot.session.context.secrets import known_secrets
from bot.session.event.event_context import EventContext, Say, client_for
from bot.session.progress.reporter import turn_lines, waiting_line, while_read

_MAX_ERROR = 1_000
_A_DAY = timedelta(days=1)
# What the run itself can say for good: publishing says the same.
_NOTHING_FOLLOWS = (Status.NO_CHANGE, Status.PARTIAL, Status.REFUSED, Status.FAILED)


class ProgressComment:
    """The comment in `thread_ref` that is edited during the run; writes nothing without a thread.

    `comment` is the id of the comment that the action began before installation, or 0. `fields` go into its mark.
    Errors of GitHub go to the log at the end: no run fails because of its comment.
    """

    def __init__(
        self, context: EventContext, thread_ref: ThreadRef | None, comment: int, fields: Mapping[str, str]
    ) -> None:
        self._context = context
        self._run_url = context.where.run_url
        self._fields: Mapping[str, str] = {}
        self._writer = (
            ProgressWriter(self._client, thread_ref, comment=comment, fields=fields) if thread_ref else None
        )

    def _client(self) -> GitHub:
        """A client of its own: it is used on the comment's thread, and a client is not for two."""
        context = self._context
        client = client_for(context.where, context.environment)
        return client.dry(context.say) if context.options.dry_run else client

    def show(self, *lines: str) -> None:
        """Show what goes on: a list of lines."""
        if self._writer is not None:
            state = ProgressState("Working on it", lines, self._run_url, fields=self._fields)
            self._writer.update(state)

    def asking(self) -> None:
        """Note in the mark that a model is asked: from now on what was reserved may be spent."""
        if not self._fields:
            self._fields = ASKED
            self.show()

    def turn(self, info: TurnInfo) -> None:
        done = ", ".join(call.name for call in info.calls) or "thinking"
        self.show(f"turn {info.turn}: {done}", f"{info.usage.total} tokens, {money(info.cost)} so far")

    def end(self, outcome: Outcome) -> None:
        """Write the run's result. Publishing replaces it; without publishing it stays true."""
        text = pending_line(outcome, self._run_url)
        if outcome.request.dry_run:
            run = f"[the run]({self._run_url})" if self._run_url else "the run"
            text = f"**Dry run, nothing was published.** What would have been is in the log of {run}."
        elif not outcome.files and outcome.status in _NOTHING_FOLLOWS:
            text = end_text(outcome, Links(run=self._run_url))
        self._close(text, cost(outcome.cost))

    def fail(self, error_message: str = "") -> None:
        """Write that there is no outcome. `error_message` is one sentence."""
        self._close(error_text(error_message, self._run_url), {} if self._fields else cost(0))

    def _close(self, text: str, fields: Mapping[str, str]) -> None:
        if self._writer is None:
            return
        self._writer.close(ProgressState("", over=True, fields={**self._fields, **fields}, body=text))
        if problem := self._writer.problem:
            self._context.say(f"note: the progress comment could not be updated: {problem}")


class RunReport:
    """Reports a run's turns and waits to its comment, and to the job's log or the `view` that replaces it. Anybody may
    read the log of a public repository, and a model wrote these lines."""

    def __init__(
        self,
        say: Say,
        environment: Mapping[str, str],
        progress: ProgressComment | None = None,
        view: View | None = None,
    ) -> None:
        self._say = while_read(say)
        self._detector = Detector(Redactor(known_secrets(environment)))
        self._progress = progress
        self._view = view

    def turn(self, info: TurnInfo) -> None:
        if self._progress is not None:
            self._progress.turn(info)
        if self._view is None:
            for line in turn_lines(info, self._safe):
                self._say(line)

    def waiting(self, text: str) -> None:
        safe = self._safe(text)
        if self._progress is not None:
            self._progress.show(safe)
        if self._view is None:
            self._say(waiting_line(safe))
        else:
            self._view.tell(NoteEvent(safe))

    def _safe(self, text: str) -> str:
        """`text` as the journal keeps it."""
        return self._detector.masked(text) if text else text


def post_answer(context: EventContext, text: str, fields: Mapping[str, str] = MappingProxyType({})) -> None:
    """Answer a request in its thread: in the progress comment if it is still open, else in a new comment. `fields` go
    into its mark. An error of GitHub goes to the log and is not raised."""
    host, thread_ref = context.host, context.thread_ref
    if not thread_ref.number:
        return
    with context.noting("the comment could not be posted"):
        if not close_progress(host, thread_ref, text, fields):
            put_comment(host, thread_ref, ENDED, text, fields)


def error_text(error_message: str, run_url: str) -> str:
    """Why nothing will come of a request."""
    run = f" · [run]({run_url})" if run_url else ""
    return f"**The run failed.** {safe_line(sentence(error_message), _MAX_ERROR)}".rstrip() + run


def answer_outsider(context: EventContext, kind: str, text: Callable[[], str]) -> bool:
    """Answer an account without access, at most once a day in a thread for each `kind`. Returns whether it was
    posted."""
    host, account = context.host, str(context.outsider_id)
    if not context.thread_ref.number:
        return False
    yesterday = (datetime.fromisoformat(context.now) - _A_DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
    recent = replace(context.thread_ref, since=yesterday)
    posted = False
    with context.noting("the comment could not be posted"):
        if any(
            notice_recipient(one.body, kind) == account and is_ours(one.author, host.me(), REFUSED)
            for one in comments_at(host, recent)
        ):
            context.say("note: this account got an answer of this kind today, so nothing is posted")
        else:
            post(host, recent, with_mark(recent, kind, text(), {"to": account}))
            posted = True
    return posted
