"""Report to thread and log while an event is handled: the progress comment, each call, and errors that leave no
bundle."""

from collections.abc import Sequence

from bot.contracts.formatting import money, sentence
from bot.contracts.journal import BudgetChanged, Note, RequestSent, Response
from bot.contracts.messages import ToolCall
from bot.contracts.outcome import Outcome, Status
from bot.contracts.progress import Event, View, WaitEvent, Written
from bot.github.client import GitHub
from bot.publish.body.order_and_footer import Links
from bot.publish.markdown import run_link, safe_line
from bot.publish.result import end_text, pending_line
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.history import ASKED, UNASKED
from bot.publish.thread.markers import ENDED, NO_FIELDS, MarkFields
from bot.publish.thread.progress_writer import ProgressWriter
from bot.session.event.event_context import EventContext, client_for

_MAX_ERROR = 1_000
# What the run itself can say for good: publishing says the same.
_NOTHING_FOLLOWS = (Status.NO_CHANGE, Status.PARTIAL, Status.REFUSED, Status.FAILED)


class ProgressComment(View):
    """The comment in `thread_ref` that is edited during the run, beside the view of the event; writes nothing without a
    thread.

    `comment` is the id of the comment that the action began before installation, or 0. Errors of GitHub go to the log
    at the end: no run fails because of its comment.
    """

    def __init__(self, context: EventContext, thread_ref: ThreadRef | None, comment: int) -> None:
        self._context = context
        self._view = view = context.options.view
        self.person, self.interrupted = view.person, view.interrupted
        self.on_enter = view.on_enter  # type: ignore[method-assign]  # it is the other's keyboard
        self._calls = ""
        self._run_url = context.where.run_url
        self._fields = NO_FIELDS
        dry = context.say if context.options.dry_run else None

        def connect() -> GitHub:
            """A client of its own: it is used on the comment's thread, and a client is not for two."""
            return client_for(context.where, context.event_request.repository.name, dry=dry)

        self._writer = ProgressWriter(connect, thread_ref, comment=comment) if thread_ref else None

    def show(self, *lines: str) -> None:
        """Show what goes on: a list of lines."""
        if self._writer is not None:
            self._writer.update(working_text(lines, self._run_url), self._fields)

    def tell(self, event: Event) -> None:
        self._view.tell(event)
        match event:
            case Note(text) | WaitEvent(text):
                self.show(text)
            case Written(RequestSent()) if not self._fields:
                self._fields = ASKED  # from now on the run counts as one of the day
                self.show()
            case Written(Response(parts=parts), agent=""):
                self._calls = (
                    ", ".join(part.name for part in parts if isinstance(part, ToolCall)) or "thinking"
                )
            case Written(BudgetChanged(turn, usage, usd), agent=""):
                usage_text = f"{usage.total} tokens, {money(usd)} so far"
                self.show(f"turn {turn}: {self._calls}", usage_text)
            case _:
                pass

    def cut_off(self, text: str) -> None:
        self._view.cut_off(text)
        self.fail()

    def end(self, outcome: Outcome) -> None:
        """Write the run's result. Publishing replaces it; without publishing it stays true."""
        text = pending_line(outcome, self._run_url)
        if outcome.request.dry_run:
            run = f"[the run]({self._run_url})" if self._run_url else "the run"
            text = f"**Dry run, nothing was published.** What would have been is in the log of {run}."
        elif not outcome.files and outcome.status in _NOTHING_FOLLOWS:
            text = end_text(outcome, Links(run=self._run_url))
        self._close(text)

    def fail(self, error_message: str = "") -> None:
        """Write that there is no outcome. `error_message` is one sentence."""
        self._close(error_text(error_message, self._run_url))

    def _close(self, text: str) -> None:
        if self._writer is None:
            return
        self._writer.close(text, self._fields or UNASKED)
        if problem := self._writer.problem:
            self._context.say(f"note: the progress comment could not be updated: {problem}")


def working_text(lines: Sequence[str], run_url: str) -> str:
    """Return the comment on an active run."""
    parts = ["**Working on it**", "\n".join(f"- {safe_line(line)}" for line in lines)]
    return "\n\n".join(filter(None, [*parts, f"[Follow the run]({run_url})" if run_url else ""]))


def post_answer(context: EventContext, text: str, fields: MarkFields = NO_FIELDS) -> None:
    """Answer a request in its thread: in the progress comment if it is still open, else in a new comment. `fields` go
    into its mark. An error of GitHub goes to the log and is not raised."""
    thread_ref = context.thread_ref
    if not thread_ref.number:
        return
    with context.noting("the comment could not be posted"):
        if not thread_ref.close_progress(text, fields):
            thread_ref.put(ENDED, text, fields)


def error_text(error_message: str, run_url: str) -> str:
    """Why nothing will come of a request."""
    text = f"**The run failed.** {safe_line(sentence(error_message), _MAX_ERROR)}".rstrip()
    return f"{text}{run_link(run_url)}"
