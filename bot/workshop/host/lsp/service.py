"""A server over its lives, with the files it has open: started, asked within a deadline, started again once, given up.

Runs on the loop's thread; `servers` is the face for everybody else. Whatever a server does ends as one of the three
answers, and silence is never "no problems".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from bot.contracts.plain_text import printable
from bot.contracts.problems import Answer
from bot.workshop.host.lsp import processes
from bot.workshop.host.lsp.client import Client, Found
from bot.workshop.host.lsp.diagnoses import problems
from bot.workshop.host.lsp.documents import Document, sendable
from bot.workshop.host.lsp.positions import lines_of
from bot.workshop.host.lsp.programs import Answered, Program
from bot.workshop.host.lsp.rpc import GoneError, ResponseError

_LIVES = 2
_DEADLINES = 2
"""So many in a row without an answer, and a server is not asked any more."""

_STOPPED = "stopped"
_NOT_OPEN = Answered(Answer.UNAVAILABLE, note="not open")


class Service:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.off = ""
        self.version = ""
        self.asked = 0
        self.first_answer = 0.0
        self._client = Client(program, self._ended, self._told)
        self._starting: asyncio.Task[None] | None = None
        self._started = 0.0
        self._lives = 0
        self._missed = 0
        self._changes = 0
        self._documents: dict[str, Document] = {}

    @property
    def pid(self) -> int:
        """Of the process that lives, else 0."""
        return self._client.pid

    @property
    def last_words(self) -> str:
        return self._client.last_words

    def begin(self) -> None:
        self._started = _now()
        self._live()

    def open(self, path: str, text: str, language: str) -> None:
        absolute = str(self.program.root / path)
        if absolute in self._documents:
            self.change(path, text)
            return
        document = Document(path, absolute, language, sendable(text))
        self._documents[absolute] = document
        self._changes += 1
        if self._ready:
            self._client.open(document)

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
        if self._ready:
            self._client.change(document, old)

    def saved(self, path: str) -> None:
        document = self._documents.get(str(self.program.root / path))
        if document is not None and self._ready:
            self._client.save(document)

    def close_file(self, path: str) -> None:
        document = self._documents.pop(str(self.program.root / path), None)
        if document is None:
            return
        self._changes += 1
        if document.check is not None:
            document.check.cancel()
        if self._ready:
            self._client.close_file(document)

    def touched(self, changes: Mapping[str, str]) -> None:
        self._changes += 1
        if self._ready:
            self._client.touched((str(self.program.root / path), kind) for path, kind in changes.items())

    async def diagnostics(self, paths: Iterable[str], seconds: float) -> dict[str, Answered]:
        """For each path its answer, after `seconds` at most."""
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
            self._miss()
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

    async def stop(self) -> None:
        self._turn_off(_STOPPED, close=False)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            self._client.close(_STOPPED)
        await self._client.stop()

    def end_by_force(self) -> None:
        """From any thread, for when the loop does not come to it."""
        self.off = self.off or _STOPPED
        if self.pid and self._client.connection is not None:
            processes.end(self._client.connection.process)

    @property
    def _ready(self) -> bool:
        starting = self._starting
        return not self.off and starting is not None and starting.done() and self._client.pid != 0

    def _live(self) -> None:
        self._lives += 1
        self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        """Ends when the server has all open files, or is off."""
        client = self._client
        if self.off:
            return None
        try:
            await client.start()
        except OSError as error:  # TimeoutError is one, but comes from the wait for `initialize` alone
            timed_out = isinstance(error, TimeoutError)
            words = f"its start took more than {self.program.pauses.start:g} s" if timed_out else str(error)
            return self._turn_off(f"could not be started: {words}")
        except (ResponseError, GoneError, ValueError) as error:
            return self._turn_off(f"could not be started: {error}{_quoted(client.last_words)}")
        self.version = _line(client.abilities.version)
        for document in self._documents.values():
            client.open(document)
        return None

    def _ended(self) -> None:
        """The process is gone."""
        if self.off or self._starting is None or not self._starting.done():
            return  # as was wanted; or whoever starts it says so
        words = self._client.connection.ended if self._client.connection is not None else ""
        if self._lives >= _LIVES:
            self._turn_off(f"ended twice: {words}{_quoted(self._client.last_words)}")
        else:
            self._client = Client(self.program, self._ended, self._told)
            self._live()

    def _turn_off(self, why: str, *, close: bool = True) -> None:
        if not self.off:
            self.off = _line(why)
        for document in self._documents.values():
            if document.check is not None:
                document.check.cancel()
        if close:
            self._client.close(self.off)

    def _miss(self) -> None:
        self._missed += 1
        had_time = self.first_answer or _now() - self._started >= self.program.pauses.patience
        if self._missed >= _DEADLINES and had_time:
            self._turn_off(f"did not answer in time {self._missed} times in a row")

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
        while await self._usable():
            try:
                async with asyncio.timeout(self.program.pauses.patience):
                    found = await self._client.check(document)
            except TimeoutError:
                return Answered(Answer.TIMED_OUT, note=_no_answer(self.program.pauses.patience))
            except ResponseError as error:
                return Answered(Answer.UNAVAILABLE, note=_line(f"answered with an error: {error}"))
            except GoneError:
                await asyncio.sleep(0)  # it is started again meanwhile, or off
                continue
            return self._answered(document, found)
        return Answered(Answer.UNAVAILABLE, note=self.off)

    async def _usable(self) -> bool:
        """Waits for a start that goes on."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        return not self.off

    def _answered(self, document: Document, found: Found) -> Answered:
        self._missed = 0
        if not self.first_answer:
            self.first_answer = _now() - self._started
        items, dropped = problems(
            found.items,
            tool=self.program.name,
            path=document.path,
            lines=lines_of(document.text),
            encoding=self._client.abilities.encoding,
        )
        return Answered(Answer.COMPLETE, items, found.note, dropped)

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


def _quoted(words: str) -> str:
    """The last line that a server wrote to its standard error."""
    lines = [line.strip() for line in printable(words).split("\n") if line.strip()]
    return f": {lines[-1]}" if lines else ""


def _line(text: str, most: int = 300) -> str:
    return " ".join(printable(text).split())[:most]


def _now() -> float:
    return asyncio.get_running_loop().time()
