"""A language server with its open documents: diagnostics within a deadline.

Every request ends as one of the three values of `Answer`; a server that does not answer never counts as "no problems".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from bot.contracts.evidence import Answer, ServerUse
from bot.toolhost.lsp import process
from bot.toolhost.lsp.jsonrpc import ConnectionClosedError, ResponseError
from bot.toolhost.lsp.process import FileDiagnostics, ServerConfig
from bot.toolhost.lsp.protocol import Document, lines_of, parse_diagnostics, sendable
from bot.toolhost.lsp.server_loop import ServerLoop
from bot.toolhost.lsp.server_process import ServerProcess, one_line

_MAX_TIMEOUTS = 2
"""After so many timeouts in a row the server is restarted without the largest file that it did not answer for: the
cause is more often the file than the server. If that does not help it is turned off."""

_NOT_OPEN = FileDiagnostics(Answer.UNAVAILABLE, note="not open")


class LanguageServer:
    """One server. Public methods may be called from any thread but the loop's, and do not raise; only `diagnostics`,
    `late_diagnostics` and `stop` block. `check_documents` and private methods run on the loop's thread."""

    def __init__(self, loop: ServerLoop, config: ServerConfig) -> None:
        self.config = config
        self.waited = 0.0
        self.process = ServerProcess(config, self._open_all, self._cancel_all, self._published)
        self.skipped: tuple[str, ...] = ()
        """Files that are no longer checked, since the server took too long for them."""

        self._loop = loop
        self._request_count = 0
        self._first_answer = 0.0
        self._last_answer = 0.0
        self._peak_memory = 0
        self._timeouts_in_row = 0
        self._revision = 0
        self._documents: dict[str, Document] = {}

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def version(self) -> str:
        """From its answer to `initialize`; empty before that."""
        return self.process.version

    @property
    def off_reason(self) -> str:
        """Why it can no longer be used; empty while it can."""
        return self.process.off_reason

    @property
    def loading(self) -> bool:
        """Whether it starts or loads the project, within the limit for that. Until its first answer it need not report
        progress, for a shorter time."""
        timeouts, waited = (
            self.config.timeouts,
            time.monotonic() - max(self.process.started_at, self._last_answer),
        )
        reports_work = not self.process.ready or self.process.client.busy
        limit = timeouts.loading if reports_work else 0.0 if self._last_answer else timeouts.answer
        return self.process.started_at > 0 and not self.off_reason and waited < limit

    @property
    def stderr_tail(self) -> str:
        return self.process.client.stderr_tail

    @property
    def no_result(self) -> FileDiagnostics:
        """The result where the loop does not answer."""
        if self.off_reason:
            return FileDiagnostics(Answer.UNAVAILABLE, note=self.off_reason)
        return FileDiagnostics(Answer.TIMED_OUT, note="no answer in time")

    def open(self, path: str, text: str, language_id: str) -> None:
        """`path` is absolute or relative to the root; all calls and results name the file by the same string."""
        self._loop.call(self._open, path, text, language_id)

    def change(self, path: str, text: str) -> None:
        self._loop.call(self._change, path, text)

    def save(self, path: str) -> None:
        self._loop.call(self._save, path)

    def close_file(self, path: str) -> None:
        self._loop.call(self._close_file, path)

    def files_changed(self, changes: Mapping[str, str]) -> None:
        """Files on disk, each `created`, `changed` or `deleted`."""
        self._loop.call(self._files_changed, dict(changes))

    def diagnostics(self, paths: Iterable[str], seconds: float) -> dict[str, FileDiagnostics]:
        return self._loop.diagnostics({self: paths}, seconds)[self]

    def late_diagnostics(self) -> dict[str, FileDiagnostics]:
        """Complete results that came after a deadline or replace an earlier one; each once, and only while the text of
        the file is the same."""
        return self._loop.result_of(self._late_diagnostics) or {}

    def memory(self) -> int:
        """Bytes that it holds now with all its child processes; 0 when it has ended."""
        pid = self.process.client.pid
        size = process.memory(pid) if pid else 0
        self._peak_memory = max(self._peak_memory, size)
        return size

    def use(self) -> ServerUse:
        """What it used so far; the memory is the largest value that `memory` returned."""
        self.memory()
        return ServerUse(
            self.name,
            self.version,
            self._first_answer,
            self._request_count,
            self.waited,
            self._peak_memory,
            self.off_reason,
        )

    def stop(self) -> None:
        self._loop.stop_servers([self])

    async def check_documents(self, paths: Iterable[str], seconds: float) -> dict[str, FileDiagnostics]:
        """Return a result for each path after at most `seconds`; with 0 the requests start, and do not count as timed
        out."""
        documents = {path: self._document(path) for path in paths}
        checks = {path: self._check(document) for path, document in documents.items() if document is not None}
        self._request_count += len(checks)
        if checks and not self.off_reason:
            await asyncio.wait(checks.values(), timeout=max(0.0, seconds))
        late = [path for path, check in checks.items() if not check.done()]
        results = {path: self._result_of(checks.get(path), seconds) for path in documents}
        for path, document in documents.items():
            if document is not None:
                document.unreported = path in late
                document.last_result = results[path]
        if late or any(result.answer is Answer.TIMED_OUT for result in results.values()):
            if seconds > 0 and not self.loading:
                self._count_timeout([documents[path] for path in late])
        elif checks:
            self._timeouts_in_row = 0
        return results

    def _document(self, path: str) -> Document | None:
        return self._documents.get(str(self.config.root / path))

    def _open(self, path: str, text: str, language: str) -> None:
        absolute = str(self.config.root / path)
        if absolute in self._documents:
            self._change(path, text)
            return
        if path in self.skipped:
            return
        document = Document(path, absolute, language, sendable(text))
        self._documents[absolute] = document
        self._revision += 1
        if self.process.ready:
            self.process.client.open(document)

    def _change(self, path: str, text: str) -> None:
        """An unchanged text is not sent: clangd then publishes nothing, and the wait would time out."""
        document = self._document(path)
        text = sendable(text)
        if document is None or document.text == text:
            return
        old, document.text = document.text, text
        document.version += 1
        document.unreported = False
        self._revision += 1
        if document.check is not None:
            document.check.cancel()
            document.check = None
        if self.process.ready:
            self.process.client.change(document, old)

    def _save(self, path: str) -> None:
        document = self._document(path)
        if document is not None and self.process.ready:
            self.process.client.save(document)

    def _close_file(self, path: str) -> None:
        document = self._documents.pop(str(self.config.root / path), None)
        if document is None:
            return
        self._revision += 1
        if document.check is not None:
            document.check.cancel()
        if self.process.ready:
            self.process.client.close_file(document)

    def _files_changed(self, changes: Mapping[str, str]) -> None:
        self._revision += 1
        if self.process.ready:
            self.process.client.files_changed(
                (str(self.config.root / path), kind) for path, kind in changes.items()
            )

    def _late_diagnostics(self) -> dict[str, FileDiagnostics]:
        results: dict[str, FileDiagnostics] = {}
        for document in self._documents.values():
            check = document.check
            if document.unreported and check is not None and check.done() and not check.cancelled():
                document.unreported = False
                if check.result() != document.last_result:
                    results[document.path] = document.last_result = check.result()
        return {path: result for path, result in results.items() if result.answer is Answer.COMPLETE}

    def _open_all(self) -> None:
        for document in self._documents.values():
            self.process.client.open(document)

    def _cancel_all(self) -> None:
        for document in self._documents.values():
            if document.check is not None:
                document.check.cancel()

    def _count_timeout(self, late: Sequence[Document | None]) -> None:
        self._timeouts_in_row += 1
        idle_since = max(self.process.started_at, self._last_answer)
        had_time = _now() - idle_since >= self.config.timeouts.answer
        if self._timeouts_in_row < _MAX_TIMEOUTS or not had_time:
            return
        reason = f"did not answer in time {self._timeouts_in_row} times in a row"
        open_files = (document for document in late if document is not None)
        largest = max(open_files, key=lambda document: len(document.text), default=None)
        if largest is None or not self.process.may_restart:
            self.process.turn_off(reason)
            return
        self.skipped = (*self.skipped, largest.path)
        self._close_file(largest.path)
        self._timeouts_in_row = 0
        self.process.restart(reason)

    def _published(self, path: str) -> None:
        """The server published something. After a result, that result may not have been the last: check again."""
        document = self._documents.get(path)
        if document is None or document.check is None:
            return
        if document.check.done() and not document.check.cancelled():
            self._start_check(document)
            document.unreported = True

    def _check(self, document: Document) -> asyncio.Task[FileDiagnostics]:
        """The check of the current text. It continues after a deadline, for the next request and for late results."""
        check = document.check
        if check is None or check.done() or document.revision != self._revision:
            if check is not None:
                check.cancel()
            check = self._start_check(document)
        return check

    def _start_check(self, document: Document) -> asyncio.Task[FileDiagnostics]:
        document.revision = self._revision
        document.unreported = False
        document.check = asyncio.create_task(self._run_check(document))
        return document.check

    async def _run_check(self, document: Document) -> FileDiagnostics:
        while await self.process.usable():
            try:
                items = await self._with_timeout(self.process.client.check(document))
            except TimeoutError:
                return FileDiagnostics(Answer.TIMED_OUT, note=_no_answer(self.config.timeouts.answer))
            except ResponseError as error:
                return FileDiagnostics(Answer.UNAVAILABLE, note=one_line(f"answered with an error: {error}"))
            except ConnectionClosedError:
                await asyncio.sleep(0)  # it is restarted or turned off meanwhile
                continue
            return self._complete(document, items)
        return FileDiagnostics(Answer.UNAVAILABLE, note=self.off_reason)

    async def _with_timeout(self, check: Coroutine[Any, Any, object]) -> object:
        """Raises `TimeoutError` if no result comes for so long after the server last reported progress."""
        loop, timeout = asyncio.get_running_loop(), self.config.timeouts.answer
        timer: asyncio.TimerHandle | None = None

        def check_deadline() -> None:
            nonlocal timer
            deadline = (loop.time() if self.loading else self.process.client.idle_since) + timeout
            if deadline > loop.time():
                timer = loop.call_at(deadline, check_deadline)
            else:
                limit.reschedule(loop.time())

        async with asyncio.timeout(None) as limit:
            timer = loop.call_later(timeout, check_deadline)
            try:
                return await check
            finally:
                timer.cancel()

    def _complete(self, document: Document, items: object) -> FileDiagnostics:
        self._timeouts_in_row = 0
        self._last_answer = _now()
        if not self._first_answer:
            self._first_answer = self._last_answer - self.process.started_at
        problems, dropped = parse_diagnostics(
            items,
            tool=self.config.name,
            path=document.path,
            lines=lines_of(document.text),
            encoding=self.process.client.capabilities.encoding,
        )
        return FileDiagnostics(Answer.COMPLETE, problems, dropped=dropped)

    def _result_of(self, check: asyncio.Task[FileDiagnostics] | None, seconds: float) -> FileDiagnostics:
        if check is None:
            return _NOT_OPEN
        if check.done() and not check.cancelled():
            return check.result()
        if self.off_reason:
            return FileDiagnostics(Answer.UNAVAILABLE, note=self.off_reason)
        return FileDiagnostics(Answer.TIMED_OUT, note=_no_answer(seconds))


def _no_answer(seconds: float) -> str:
    return f"no answer in {seconds:.3g} s"


def _now() -> float:
    return asyncio.get_running_loop().time()
