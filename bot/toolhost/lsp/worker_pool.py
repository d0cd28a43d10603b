"""The workers of a run: one for each kind and project, a few in all. A server over its memory limit is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from bot.contracts.evidence import ServerUse
from bot.toolhost.context import Context
from bot.toolhost.lsp.cargo import CargoWorker
from bot.toolhost.lsp.launch import Launcher, LaunchGuard, Settings
from bot.toolhost.lsp.registry import LaunchCommand, Location, ServerSpec, replace_command
from bot.toolhost.lsp.server_loop import ServerLoop
from bot.toolhost.lsp.workers import ServerWorker, Worker

MAX_KINDS = 3
MAX_SERVERS = 6

_MEMORY_INTERVAL = 2.0
"""Seconds between two measurements of the servers' memory."""


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
        """Why there is no worker of this kind for the file; empty if there is one, or none is wanted."""
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
