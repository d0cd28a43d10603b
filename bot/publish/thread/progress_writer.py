"""Write the progress comment of a request: create it once, edit it during the run.

A thread of its own writes it, so that a slow GitHub does not delay the run. Texts that come faster than the interval
are skipped; the last one is always written. `bot/session/event/progress_comment.py` makes its text.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from bot.contracts.capacity import CapacityError, retry_at_capacity
from bot.contracts.errors import AgentError
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import NO_FIELDS, ON, OVER, PROGRESS, MarkFields

# Seconds from one edit to the next.
INTERVAL = 5.0
_CLOSING_TIME = 20.0


class ProgressWriter:
    """Writes the progress comment. `connect` is called on the writing thread, so that importing PyGithub does not delay
    others. `comment` is the id of an existing progress comment, 0 to search for it.

    `update` and `close` may be called from any thread. `problem` is the reason why writing stopped, or empty.
    """

    def __init__(
        self,
        connect: Callable[[], GitHub],
        thread_ref: ThreadRef,
        *,
        interval: float = INTERVAL,
        comment: int = 0,
    ) -> None:
        self._connect = connect
        self._thread_ref = thread_ref._replace(lines=0)
        self._interval = interval
        self._comment = comment
        self._bodies: SimpleQueue[tuple[str, bool]] = SimpleQueue()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem = ""

    def update(self, text: str, fields: MarkFields = NO_FIELDS) -> None:
        """Write `text`, safe Markdown, after the interval; returns at once. `fields` go into the mark."""
        self._put(text, {**ON, **fields}, is_last=False)

    def close(self, text: str, fields: MarkFields = NO_FIELDS, timeout: float = _CLOSING_TIME) -> None:
        """Write the last text and stop; waits at most `timeout` seconds for GitHub."""
        self._put(text, {**OVER, **fields}, is_last=True)
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _put(self, text: str, fields: MarkFields, *, is_last: bool) -> None:
        with self._lock:
            if self._closed.is_set():
                return
            self._bodies.put((self._thread_ref.marked(PROGRESS, text, fields), is_last))
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="progress", daemon=True)
                with suppress(CapacityError):  # not now: with the next text
                    retry_at_capacity(thread.start, patience=0)
                    self._thread = thread

    def _run(self) -> None:
        try:
            thread_ref = self._thread_ref._replace(github=self._connect())
            comment = None if self._comment else thread_ref.find(PROGRESS)
            comment_id = comment.data.id if comment else self._comment
            is_last, written_at = False, float("-inf")
            while not is_last:
                body, is_last = self._bodies.get()
                self._closed.wait(written_at + self._interval - time.monotonic())
                while not is_last and not self._bodies.empty():
                    body, is_last = self._bodies.get()
                if comment_id:
                    thread_ref.github.edit_comment(comment_id, body)
                else:
                    comment_id = thread_ref.post(body).id
                written_at = time.monotonic()
        except AgentError as error:
            # No run fails because its comment was deleted or may not be written.
            is_deleted = isinstance(error, GitHubError) and error.status == 404
            self.problem = "" if is_deleted else str(error)
