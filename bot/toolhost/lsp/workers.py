"""The threads that run language servers, one for each server and project, and what they are asked for: diagnostics of
changed files and of the files that seem to import them."""

from __future__ import annotations

import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.toolhost.lsp.launch import Launcher
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import ServerSpec
from bot.toolhost.lsp.server_loop import ServerLoop

if TYPE_CHECKING:
    from bot.toolhost.lsp.server import LanguageServer

_LATE_TIMEOUT = 15.0
"""Seconds for an answer after the deadline."""

_POLL = 0.05

MAX_IMPORTERS = 10

_IMPORTING = re.compile(
    r"^[ \t]*(?:from|import|export|const|let|var|use|mod|pub|\}|#[ \t]*include)|\b(?:require|import)\b"
)
"""Begins the part of a line that may name another file."""

_AS_A_WHOLE = r"""(?:/(?:index|mod)(?:\.\w+)?)?(?=['"\s;,]|$)"""
"""Follows the name of an imported folder."""


@dataclass(slots=True)
class WatchedFile:
    """A file with its text before the agent's first change and now, `None` if it does not exist. `base` has by tool
    the problems in the text before."""

    name: str
    before: str | None
    now: str | None
    base: dict[str, tuple[Problem, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class DiagnosticsRequest:
    """A request for diagnostics after a change: of the changed `files`, and of `others`, which use them. `texts` are
    the checked texts; the caller waits for `wait` seconds before `until`. `done`: no more results come."""

    files: tuple[WatchedFile, ...]
    others: tuple[WatchedFile, ...]
    wait: float
    until: float
    texts: dict[str, str | None]
    results: dict[str, FileDiagnostics] = field(default_factory=dict)
    done: bool = False

    def is_current(self) -> bool:
        """Whether the files still have the texts of the request."""
        return all(self.texts[file.name] == file.now for file in self.files)

    def is_unanswered(self) -> bool:
        results = self.results.values()
        return not results or any(result.answer is Answer.TIMED_OUT for result in results)

    def finish(self, results: Mapping[str, FileDiagnostics]) -> None:
        self.results = {**self.results, **results}
        self.done = True


def importers_of(changed: Sequence[WatchedFile], files: Iterable[WatchedFile]) -> tuple[WatchedFile, ...]:
    """Those of `files` that seem to import a changed one, by any path or alias: first those that name it, then those
    that name its folder, which may re-export it."""
    stems = {stem for file in changed for stem in _stems(file.name)}
    folders = {PurePosixPath(file.name).parent.name for file in changed}
    uses = [
        re.compile(rf"\b(?:{'|'.join(map(re.escape, names))}){then}")
        for names, then in ((stems - {""}, r"\b"), (folders - {""}, _AS_A_WHOLE))
        if names
    ]
    rest = [file for file in files if file not in changed and file.now is not None]
    importers = [file for pattern in uses for file in rest if _imports(file.now or "", pattern)]
    return tuple({file.name: file for file in importers}.values())[:MAX_IMPORTERS]


def _imports(text: str, pattern: re.Pattern[str]) -> bool:
    """Search line by line, in time linear in the text: a bundle is a line of a megabyte."""
    for line in text.split("\n"):
        if (match := _IMPORTING.search(line)) is not None and pattern.search(line, match.end()):
            return True
    return False


def _stems(name: str) -> Iterator[str]:
    """The names by which others import a file."""
    path = PurePosixPath(name)
    if path.stem in ("__init__", "index", "mod"):
        yield path.parent.name
    else:
        yield path.stem
    if path.suffix == ".go":
        yield path.parent.name


class Worker(ABC):
    """Runs one server or checker on a thread. `notify` is called whenever its state or a result changes."""

    def __init__(self, spec: ServerSpec, launcher: Launcher, notify: Callable[[], None]) -> None:
        self.spec = spec
        self.missing_reason = ""
        self.warming: set[str] = set()
        self._launcher = launcher
        self._notify = notify
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    @abstractmethod
    def off_reason(self) -> str:
        """Why the started server or checker can no longer be used; empty while it can."""

    @property
    def unusable_reason(self) -> str:
        """Why it returns no results; empty while it may."""
        return self.missing_reason or self.off_reason

    @property
    @abstractmethod
    def loading(self) -> bool:
        """Whether it is probed or started, or reads the project."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Files that are no longer checked, since it took too long for them."""
        return ()

    def begin(self) -> None:
        threading.Thread(target=self._run, name=f"diagnostics of {self.name}", daemon=True).start()

    def warm(self, file: WatchedFile) -> None:
        """Have the problems of the text before computed in the background."""
        self.warming.add(file.name)
        self._jobs.put(lambda: self._warm_one(file))

    def request(self, request: DiagnosticsRequest) -> None:
        self._jobs.put(lambda: self._answer(request))

    def end(self) -> None:
        self._jobs.put(None)

    def memory(self) -> int:
        """Bytes; 0 if nothing stays in memory."""
        return 0

    def stop(self) -> None:  # noqa: B027 - a checker has nothing to stop
        """Stop a server that is over its memory limit."""

    @abstractmethod
    def settings_changed(self, changes: Mapping[str, str]) -> None:
        """Files of another language changed that may hold its settings."""

    @abstractmethod
    def use(self) -> ServerUse | None:
        """None before it is started."""

    @abstractmethod
    def _start(self) -> str:
        """Start it; return why that is not possible, or an empty string."""

    @abstractmethod
    def _warm_files(self, files: Iterable[WatchedFile]) -> None:
        """Set `base` of files if it is missing."""

    @abstractmethod
    def _answer(self, request: DiagnosticsRequest) -> None: ...

    def _run(self) -> None:
        self.missing_reason = self._start()
        self._notify()
        while (job := self._jobs.get()) is not None:
            job()
            self._notify()

    def _warm_one(self, file: WatchedFile) -> None:
        try:
            self._warm_files([file])
        finally:
            self.warming.discard(file.name)

    def _results(self, request: DiagnosticsRequest, result: FileDiagnostics) -> dict[str, FileDiagnostics]:
        return dict.fromkeys(request.texts, result)


class ServerWorker(Worker):
    """Sends a language server each file as it was before the first change, then each change."""

    def __init__(
        self, spec: ServerSpec, launcher: Launcher, notify: Callable[[], None], loop: ServerLoop
    ) -> None:
        super().__init__(spec, launcher, notify)
        self.server: LanguageServer | None = None
        self._loop = loop
        self._open: set[str] = set()
        self._deleted: set[str] = set()

    @property
    def off_reason(self) -> str:
        return self.server.off_reason if self.server else ""

    @property
    def loading(self) -> bool:
        return not self.missing_reason if self.server is None else self.server.loading

    @property
    def skipped(self) -> tuple[str, ...]:
        return self.server.skipped if self.server else ()

    def settings_changed(self, changes: Mapping[str, str]) -> None:
        def notify_server() -> None:
            if self.server is not None:
                self.server.files_changed(changes)

        self._jobs.put(notify_server)

    def memory(self) -> int:
        return self.server.memory() if self.server else 0

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()

    def use(self) -> ServerUse | None:
        return self.server.use() if self.server else None

    def _start(self) -> str:
        config = self._launcher.server_config()
        if isinstance(config, str):
            return config
        self.server = self._loop.start(config)
        return ""

    def _warm_files(self, files: Iterable[WatchedFile]) -> None:
        fresh = [file for file in files if self.name not in file.base]
        for file in fresh:
            if file.before is None:
                file.base[self.name] = ()
        existing = [file for file in fresh if file.before is not None]
        if self.server is None or not existing:
            return
        for file in existing:
            # Where it was too slow for that before, it has the text of a change by now.
            self.server.open(file.name, file.before or "", self.spec.language(file.name))
            self._open.add(file.name)
        results = self.server.diagnostics([file.name for file in existing], _LATE_TIMEOUT)
        for file in existing:
            if (result := results[file.name]).answer is Answer.COMPLETE:
                file.base[self.name] = result.items

    def _answer(self, request: DiagnosticsRequest) -> None:
        server = self.server
        if server is None:
            unavailable = FileDiagnostics(Answer.UNAVAILABLE, note=self.missing_reason)
            request.finish(self._results(request, unavailable))
            return
        # Without a deadline: once it has the change, it can no longer be asked about the text before.
        self._warm_files(request.files)
        self._send_changes(server, request)
        names = [file.name for file in request.files if request.texts[file.name] is not None]
        names += [f.name for f in request.others if f.name in self._open and self.name in f.base]
        if names and not request.is_current():  # a later request asks about them
            request.finish(dict.fromkeys(names, FileDiagnostics(Answer.TIMED_OUT)))
            return
        if names:  # where most of the time was spent before, a timeout does not count against the server
            seconds = request.until - time.monotonic()
            request.results |= server.diagnostics(names, seconds if seconds > request.wait / 2 else 0.0)
        self._notify()
        self._collect_late(server, request)
        request.done = True

    def _send_changes(self, server: LanguageServer, request: DiagnosticsRequest) -> None:
        changes: dict[str, str] = {}
        for file in request.files:
            text, name = request.texts[file.name], file.name
            if text is None:
                server.close_file(name)
                self._open.discard(name)
                self._deleted.add(name)
                changes[name] = "deleted"
                continue
            is_new = name in self._deleted or (file.before is None and name not in self._open)
            changes[name] = "created" if is_new else "changed"
            self._deleted.discard(name)
            if name in self._open:
                server.change(name, text)
                server.save(name)
            else:
                server.open(name, text, self.spec.language(name))
                self._open.add(name)
        server.files_changed(changes)

    def _collect_late(self, server: LanguageServer, request: DiagnosticsRequest) -> None:
        """Wait for late results until there is another job."""
        until = time.monotonic() + _LATE_TIMEOUT
        while _any_late(request) and not server.off_reason and self._jobs.empty():
            if time.monotonic() > until and not server.loading:
                return
            time.sleep(_POLL)
            for name, result in server.late_diagnostics().items():
                if name in request.results:
                    request.results[name] = result


def _any_late(request: DiagnosticsRequest) -> bool:
    return any(result.answer is Answer.TIMED_OUT for result in request.results.values())
