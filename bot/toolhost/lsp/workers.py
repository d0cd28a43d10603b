"""The threads that run servers and checkers: one for each kind and project, a few in all. A `WorkerPool` finds those
of a file and stops a server over its memory limit."""

from __future__ import annotations

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.toolhost.context import Context
from bot.toolhost.lsp.cargo import CargoCheck, ProblemsByFile, read_text
from bot.toolhost.lsp.launch import Launcher, LaunchGuard, Settings
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import LaunchCommand, Location, ServerSpec, replace_command
from bot.toolhost.lsp.server_loop import ServerLoop

if TYPE_CHECKING:
    from bot.toolhost.lsp.server import LanguageServer

MAX_KINDS = 3
MAX_SERVERS = 6

_LATE_TIMEOUT = 15.0
"""Seconds for an answer after the deadline."""

_POLL = 0.05
_MEMORY_INTERVAL = 2.0
"""Seconds between two measurements of the servers' memory."""


@dataclass(slots=True)
class WatchedFile:
    """A file with its text before the agent's first change and now, `None` where it does not exist. `base` has by tool
    the problems in the text before."""

    name: str
    before: str | None
    now: str | None
    base: dict[str, tuple[Problem, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class DiagnosticsRequest:
    """Diagnostics wanted after a change: of the changed `files`, and of `others`, which use them. `texts` are those
    that the results are of; the caller waits for `wait` seconds before `until`. `done` when no more results come."""

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
        """Why what was started can no longer be used; empty while it can."""

    @property
    def unusable_reason(self) -> str:
        """Why it returns nothing any more; empty while it may."""
        return self.missing_reason or self.off_reason

    @property
    @abstractmethod
    def loading(self) -> bool:
        """Whether it is probed or started, or reads the project."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Files that it took too long over, and is not asked about any more."""
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
        """Bytes; 0 where nothing stays in memory."""
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
        """Set `base` of files where it is missing."""

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
    """Shows a language server each file as it was before the first change, then each change."""

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


class CargoWorker(Worker):
    """Runs `cargo check` for each request. The problems before the first change come from a run before it, or from one
    over the base commit; a run during which a file changed is repeated."""

    def __init__(self, spec: ServerSpec, launcher: Launcher, notify: Callable[[], None]) -> None:
        super().__init__(spec, launcher, notify)
        self._cargo: CargoCheck | None = None
        self._off_reason = ""
        self._root = Path(launcher.context.real_root)
        self._changes = 0
        self._checked = -1
        """`_changes` when the run began that `_problems` are from."""

        self._problems: ProblemsByFile = {}
        self._base: ProblemsByFile | None = None
        self._request_count = 0
        self._waited = self._first_answer = 0.0
        self._began = time.monotonic()

    @property
    def off_reason(self) -> str:
        return self._off_reason

    @property
    def loading(self) -> bool:
        return self._cargo is None and not self.missing_reason

    def request(self, request: DiagnosticsRequest) -> None:
        self._changes += 1
        super().request(request)

    def settings_changed(self, changes: Mapping[str, str]) -> None:
        self._changes += 1

    def end(self) -> None:
        super().end()
        if self._cargo is not None:
            self._off_reason = self._off_reason or "stopped"
            self._cargo.cancel()

    def use(self) -> ServerUse | None:
        if self._cargo is None:
            return None
        return ServerUse(
            self.name, "", self._first_answer, self._request_count, self._waited, 0, self._off_reason
        )

    def _start(self) -> str:
        cargo = self._launcher.cargo_check()
        if isinstance(cargo, str):
            return cargo
        self._cargo, self._began = cargo, time.monotonic()
        return ""

    def _warm_files(self, files: Iterable[WatchedFile]) -> None:
        files = list(files)
        if self._base is None:
            self._find_base(files)
        for file in files:
            if self._base is not None and self.name not in file.base:
                file.base[self.name] = () if file.before is None else self._base.get(file.name, ())

    def _find_base(self, files: Sequence[WatchedFile]) -> None:
        if self._cargo is None or self._off_reason:
            return
        problems: ProblemsByFile | str = {}
        if unchanged := self._is_unchanged(files):
            problems = self._cargo.run()
            unchanged = self._is_unchanged(files)
        if not unchanged and not isinstance(problems, str):
            problems = self._cargo.run_on_base()
        if isinstance(problems, str):
            self._off_reason = self._off_reason or problems
        else:
            self._base = problems

    def _is_unchanged(self, files: Sequence[WatchedFile]) -> bool:
        return not self._changes and all(read_text(self._root / file.name) == file.before for file in files)

    def _answer(self, request: DiagnosticsRequest) -> None:
        began = time.monotonic()
        names = [file.name for file in request.files if request.texts[file.name] is not None]
        self._request_count += len(names)
        self._warm_files(request.files)
        names += [file.name for file in request.others if self.name in file.base]
        self._check()
        self._waited += max(0.0, min(time.monotonic(), request.until) - began)
        if self.unusable_reason:
            result = FileDiagnostics(Answer.UNAVAILABLE, note=self.unusable_reason)
            request.finish(self._results(request, result))
        elif not request.is_current():  # a later request asks about them
            request.finish(dict.fromkeys(names, FileDiagnostics(Answer.TIMED_OUT)))
        else:
            self._first_answer = self._first_answer or time.monotonic() - self._began
            request.finish(
                {name: FileDiagnostics(Answer.COMPLETE, self._problems.get(name, ())) for name in names}
            )

    def _check(self) -> None:
        while self._cargo is not None and not self._off_reason and self._checked != self._changes:
            number = self._changes
            problems = self._cargo.run()
            if isinstance(problems, str):
                self._off_reason = self._off_reason or problems
            else:
                self._problems, self._checked = problems, number


@dataclass(slots=True)
class WorkerPool:
    """`notify` is passed to the workers. Iterating returns all that were started."""

    context: Context
    settings: Settings
    guard: LaunchGuard
    specs: Sequence[ServerSpec]
    loop: ServerLoop
    notify: Callable[[], None]
    _started: dict[str, Worker] = field(default_factory=dict)
    _by_folder: dict[tuple[str, str], Worker | str] = field(default_factory=dict)
    _over_memory: dict[Worker, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._started.values()))

    def for_file(self, name: str) -> list[Worker]:
        """The workers of a file, started where they were not."""
        workers = [self._for_file(spec, name) for spec in self.specs if spec.language(name)]
        return [worker for worker in workers if isinstance(worker, Worker)]

    def location(self, name: str) -> Location:
        root = Path(self.context.real_root)
        return Location(root, (root / name).parent, self.context.environment, self.context.programs)

    def missing_reason(self, spec: ServerSpec, name: str) -> str:
        """Why there is no worker of this kind for the file; empty where there is one, or none is wanted."""
        worker = self._known(spec, name)
        return worker if isinstance(worker, str) else worker.missing_reason

    def off_reason(self, spec: ServerSpec, name: str) -> str:
        """Why the worker of this kind for the file can no longer be used."""
        worker = self._known(spec, name)
        return "" if isinstance(worker, str) else self._over_memory.get(worker, worker.off_reason)

    def skips(self, spec: ServerSpec, name: str) -> bool:
        worker = self._known(spec, name)
        return isinstance(worker, Worker) and name in worker.skipped

    def uses(self) -> tuple[ServerUse, ...]:
        """What each kind used, and which are not available."""
        uses: dict[str, ServerUse] = {}
        for worker in self:
            if (use := self._use(worker)) is not None:
                uses[worker.name] = _sum(uses[worker.name], use) if worker.name in uses else use
        for (name, _), reason in list(self._by_folder.items()):
            if isinstance(reason, str) and reason and name not in uses:
                uses[name] = ServerUse(name, "", note=f"not available: {reason}")
        return tuple(uses.values())

    def end(self) -> None:
        self._ended.set()
        for worker in self:
            worker.end()
        self.loop.stop()

    def _known(self, spec: ServerSpec, name: str) -> Worker | str:
        return self._by_folder.get((spec.name, _folder(name)), "")

    def _for_file(self, spec: ServerSpec, name: str) -> Worker | str:
        key = (spec.name, _folder(name))
        with self._lock:
            if key not in self._by_folder:
                self._by_folder[key] = self._find(spec, name)
            return self._by_folder[key]

    def _find(self, spec: ServerSpec, name: str) -> Worker | str:
        settings = self.settings.servers.get(spec.name, {})
        if settings.get("off"):
            return ""
        configured = str(settings.get("command", ""))
        command = spec.find(replace(self.location(name), configured=configured))
        if configured:
            command = replace_command(configured, command)
        if isinstance(command, LaunchCommand):
            command = self.guard.refusal(spec.name, command.argv, command.runs) or command
        if isinstance(command, str):
            return command
        key = f"{spec.name} {command.argv} {command.root} {command.options}"
        return self._started.get(key) or self._start(key, spec, command)

    def _start(self, key: str, spec: ServerSpec, command: LaunchCommand) -> Worker | str:
        kinds = {worker.name for worker in self}
        if spec.name not in kinds and len(kinds) >= MAX_KINDS:
            return f"there are {MAX_KINDS} servers already"
        if len(self._started) >= MAX_SERVERS:
            return f"there are {MAX_SERVERS} servers already"
        if not self._started:
            threading.Thread(target=self._watch_memory, name="memory of servers", daemon=True).start()
        launcher = Launcher(spec, command, self.context, self.settings, self.guard)
        worker: Worker = (
            CargoWorker(spec, launcher, self.notify)
            if spec.name == "cargo"
            else ServerWorker(spec, launcher, self.notify, self.loop)
        )
        self._started[key] = worker
        worker.begin()
        return worker

    def _use(self, worker: Worker) -> ServerUse | None:
        use = worker.use()
        if use is None:
            reason = worker.missing_reason
            return ServerUse(worker.name, "", note=f"not available: {reason}") if reason else None
        version = self.settings.versions.get(worker.name, "") or use.version
        return replace(use, version=version, note=self._over_memory.get(worker, use.note))

    def _watch_memory(self) -> None:
        while not self._ended.wait(_MEMORY_INTERVAL):
            for worker in self:
                if not worker.off_reason and worker.memory() > self.settings.memory:
                    self._over_memory[worker] = f"it held over {self.settings.memory >> 20} MiB"
                    worker.stop()


def _folder(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _any_late(request: DiagnosticsRequest) -> bool:
    return any(result.answer is Answer.TIMED_OUT for result in request.results.values())


def _sum(first: ServerUse, second: ServerUse) -> ServerUse:
    return replace(
        first,
        version=first.version or second.version,
        first_answer=first.first_answer or second.first_answer,
        asked=first.asked + second.asked,
        waited=first.waited + second.waited,
        memory=first.memory + second.memory,
        note=first.note or second.note,
    )
