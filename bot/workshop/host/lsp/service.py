"""A server with the files it has open, asked about them within a deadline. Whether it lives is `life`'s business.

Runs on the loop's thread; `servers` is the face for everybody else. Whatever a server does ends as one of the three
answers, and silence is never "no problems".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

from bot.contracts.problems import Answer
from bot.workshop.host.lsp.diagnoses import problems
from bot.workshop.host.lsp.documents import Document, sendable
from bot.workshop.host.lsp.life import Life, one_line
from bot.workshop.host.lsp.positions import lines_of
from bot.workshop.host.lsp.programs import Answered, Program
from bot.workshop.host.lsp.rpc import GoneError, ResponseError

_DEADLINES = 2
"""So many in a row without an answer, and a server is begun again without the largest file that it owed one for: it is
more often the file than the server. Where that was no help it is not asked any more."""

_NOT_OPEN = Answered(Answer.UNAVAILABLE, note="not open")


class Service:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.asked = 0
        self.first_answer = 0.0
        self._last_answer = 0.0
        self.life = Life(program, self._open_all, self._cancel_all, self._told)
        self._missed = 0
        self._changes = 0
        self._documents: dict[str, Document] = {}
        self.left_out: tuple[str, ...] = ()
        """Files that it takes too long over."""

    @property
    def off(self) -> str:
        return self.life.off

    @property
    def loading(self) -> bool:
        """Whether it is starting, or says that it is busy with the project, and has not been for too long; before its
        first answer it need not say so for a while. May be asked on any thread."""
        pauses, waited = self.program.pauses, time.monotonic() - max(self.life.began, self._last_answer)
        says_so = not self.life.ready or self.life.client.busy
        most = pauses.loading if says_so else 0.0 if self._last_answer else pauses.patience
        return self.life.began > 0 and not self.off and waited < most

    def open(self, path: str, text: str, language: str) -> None:
        absolute = str(self.program.root / path)
        if absolute in self._documents:
            self.change(path, text)
            return
        if path in self.left_out:
            return
        document = Document(path, absolute, language, sendable(text))
        self._documents[absolute] = document
        self._changes += 1
        if self.life.ready:
            self.life.client.open(document)

    def change(self, path: str, text: str) -> None:
        """Not sent where nothing changed: clangd then publishes nothing, and whoever waits does so in vain."""
        document = self._documents.get(str(self.program.root / path))
        text = sendable(text)
        if document is None or document.text == text:
            return
        old, document.text = document.text, text
        document.version += 1
        document.owed = False
        self._changes += 1
        if document.check is not None:
            document.check.cancel()
            document.check = None
        if self.life.ready:
            self.life.client.change(document, old)

    def saved(self, path: str) -> None:
        document = self._documents.get(str(self.program.root / path))
        if document is not None and self.life.ready:
            self.life.client.save(document)

    def close_file(self, path: str) -> None:
        document = self._documents.pop(str(self.program.root / path), None)
        if document is None:
            return
        self._changes += 1
        if document.check is not None:
            document.check.cancel()
        if self.life.ready:
            self.life.client.close_file(document)

    def touched(self, changes: Mapping[str, str]) -> None:
        self._changes += 1
        if self.life.ready:
            self.life.client.touched((str(self.program.root / path), kind) for path, kind in changes.items())

    async def diagnostics(self, paths: Iterable[str], seconds: float) -> dict[str, Answered]:
        """For each path its answer, after `seconds` at most; with none, it is asked, and missed nothing."""
        documents = {path: self._documents.get(str(self.program.root / path)) for path in paths}
        checks = {path: self._check(document) for path, document in documents.items() if document is not None}
        self.asked += len(checks)
        if checks and not self.off:
            await asyncio.wait(checks.values(), timeout=max(0.0, seconds))
        late = [path for path, check in checks.items() if not check.done()]
        for path, document in documents.items():
            if document is not None:
                document.owed = path in late
        answers = {path: self._answer_of(checks.get(path), seconds) for path in documents}
        for path, document in documents.items():
            if document is not None:
                document.given = answers[path]
        if late or any(answered.answer is Answer.TIMED_OUT for answered in answers.values()):
            if seconds > 0 and not self.loading:
                self._miss([documents[path] for path in late])
        elif checks:
            self._missed = 0
        return answers

    def late(self) -> dict[str, Answered]:
        """What came after its deadline, of texts that are still the same."""
        found: dict[str, Answered] = {}
        for document in self._documents.values():
            check = document.check
            if document.owed and check is not None and check.done() and not check.cancelled():
                document.owed = False
                if check.result() != document.given:
                    found[document.path] = document.given = check.result()
        return {path: answer for path, answer in found.items() if answer.answer is Answer.COMPLETE}

    def _open_all(self) -> None:
        for document in self._documents.values():
            self.life.client.open(document)

    def _cancel_all(self) -> None:
        for document in self._documents.values():
            if document.check is not None:
                document.check.cancel()

    def _miss(self, late: Sequence[Document | None]) -> None:
        self._missed += 1
        had_time = _now() - max(self.life.began, self._last_answer) >= self.program.pauses.patience
        if self._missed < _DEADLINES or not had_time:
            return
        why = f"did not answer in time {self._missed} times in a row"
        largest = max((one for one in late if one is not None), key=lambda one: len(one.text), default=None)
        if largest is None or not self.life.may_begin_again:
            self.life.turn_off(why)
            return
        self.left_out = (*self.left_out, largest.path)
        self.close_file(largest.path)
        self._missed = 0
        self.life.begin_again(why)

    def _told(self, path: str) -> None:
        """There is news. Where that comes after an answer, the answer may not have been the last."""
        document = self._documents.get(path)
        if (
            document is None
            or document.check is None
            or not document.check.done()
            or document.check.cancelled()
        ):
            return
        self._begin(document)
        document.owed = True

    def _check(self, document: Document) -> asyncio.Task[Answered]:
        """One that runs on for whoever asks about the same text again, and for `late`."""
        check = document.check
        if check is None or check.done() or document.stamp != self._changes:
            if check is not None:
                check.cancel()
            check = self._begin(document)
        return check

    def _begin(self, document: Document) -> asyncio.Task[Answered]:
        document.stamp = self._changes
        document.owed = False
        document.check = asyncio.create_task(self._checked(document))
        return document.check

    async def _checked(self, document: Document) -> Answered:
        while await self.life.usable():
            try:
                found = await self._patiently(self.life.client.check(document))
            except TimeoutError:
                return Answered(Answer.TIMED_OUT, note=_no_answer(self.program.pauses.patience))
            except ResponseError as error:
                return Answered(Answer.UNAVAILABLE, note=one_line(f"answered with an error: {error}"))
            except GoneError:
                await asyncio.sleep(0)  # it is started again meanwhile, or off
                continue
            return self._answered(document, found)
        return Answered(Answer.UNAVAILABLE, note=self.off)

    async def _patiently(self, check: Coroutine[Any, Any, object]) -> object:
        """Raises `TimeoutError` where there is nothing for so long since it last said what it is busy with."""
        loop, patience = asyncio.get_running_loop(), self.program.pauses.patience
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal timer
            until = (loop.time() if self.loading else self.life.client.idle_since) + patience
            if until > loop.time():
                timer = loop.call_at(until, look)
            else:
                limit.reschedule(loop.time())

        async with asyncio.timeout(None) as limit:
            timer = loop.call_later(patience, look)
            try:
                return await check
            finally:
                timer.cancel()

    def _answered(self, document: Document, found: object) -> Answered:
        self._missed = 0
        self._last_answer = _now()
        if not self.first_answer:
            self.first_answer = self._last_answer - self.life.began
        items, dropped = problems(
            found,
            tool=self.program.name,
            path=document.path,
            lines=lines_of(document.text),
            encoding=self.life.client.abilities.encoding,
        )
        return Answered(Answer.COMPLETE, items, dropped=dropped)

    def _answer_of(self, check: asyncio.Task[Answered] | None, seconds: float) -> Answered:
        if check is None:
            return _NOT_OPEN
        if self.off and (not check.done() or check.cancelled()):
            return Answered(Answer.UNAVAILABLE, note=self.off)
        if not check.done() or check.cancelled():
            return Answered(Answer.TIMED_OUT, note=_no_answer(seconds))
        return check.result()


def _no_answer(seconds: float) -> str:
    return f"no answer in {seconds:.3g} s"


def _now() -> float:
    return asyncio.get_running_loop().time()
