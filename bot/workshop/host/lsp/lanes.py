"""Which servers look at a file: looked for once for each folder, one of a kind for each project, and a few in all.
Their memory is minded here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from bot.contracts.problems import ServerUse
from bot.workshop.host.context import Context
from bot.workshop.host.lsp.cargo import Cargo
from bot.workshop.host.lsp.lane import Lane
from bot.workshop.host.lsp.origins import Origins
from bot.workshop.host.lsp.probe import Settings, begin
from bot.workshop.host.lsp.registry import Known, Place, Start, commanded
from bot.workshop.host.lsp.servers import Hub, Server

MOST_KINDS = 3
MOST_SERVERS = 6

_LOOK_EVERY = 2.0
"""Seconds between two looks at the memory of servers."""


@dataclass(slots=True)
class Lanes:
    """`tell` is called whenever one of them has news. Iterating goes over all that were begun."""

    context: Context
    settings: Settings
    origins: Origins
    servers: Sequence[Known]
    hub: Hub
    tell: Callable[[], None]
    _begun: dict[str, Lane] = field(default_factory=dict)
    _by_folder: dict[tuple[str, str], Lane | str] = field(default_factory=dict)
    _over_memory: dict[Lane, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    def __iter__(self) -> Iterator[Lane]:
        return iter(list(self._begun.values()))

    def of(self, name: str) -> list[Lane]:
        """Those for the file of this name, begun where they were not yet."""
        found = [self._of(known, name) for known in self.servers if known.language(name)]
        return [lane for lane in found if isinstance(lane, Lane)]

    def place(self, name: str) -> Place:
        root = Path(self.context.real_root)
        return Place(root, (root / name).parent, self.context.environment, self.context.programs)

    def why_none(self, known: Known, name: str) -> str:
        """Why there is no server of this kind for the file; empty where there is one, or nothing is to be said."""
        found = self._by_folder.get((known.name, _folder(name)), "")
        return found if isinstance(found, str) else found.missing

    def why_off(self, known: Known, name: str) -> str:
        """Why the one that there was is of no use any more."""
        lane = self._by_folder.get((known.name, _folder(name)), "")
        if isinstance(lane, str):
            return ""
        return self._over_memory.get(lane, lane.server.off if lane.server else "")

    def leaves_out(self, known: Known, name: str) -> bool:
        lane = self._by_folder.get((known.name, _folder(name)), "")
        return isinstance(lane, Lane) and lane.leaves_out(name)

    def uses(self) -> tuple[ServerUse, ...]:
        """What those of each kind took, and which could not be had."""
        uses: dict[str, ServerUse] = {}
        for lane in self:
            if (use := self._use(lane)) is not None:
                uses[lane.name] = _both(uses[lane.name], use) if lane.name in uses else use
        for (name, _), why in list(self._by_folder.items()):
            if isinstance(why, str) and why and name not in uses:
                uses[name] = ServerUse(name, "", note=f"not available: {why}")
        return tuple(uses.values())

    def end(self) -> None:
        self._ended.set()
        for lane in self:
            lane.end()
            if isinstance(lane.server, Cargo):
                lane.server.stop()
        self.hub.stop()

    def _of(self, known: Known, name: str) -> Lane | str:
        key = (known.name, _folder(name))
        with self._lock:
            if key not in self._by_folder:
                self._by_folder[key] = self._found(known, name)
            return self._by_folder[key]

    def _found(self, known: Known, name: str) -> Lane | str:
        asked = self.settings.servers.get(known.name, {})
        if asked.get("off"):
            return ""
        command = str(asked.get("command", ""))
        found = known.find(replace(self.place(name), chosen=command))
        if command:
            found = commanded(command, found)
        if isinstance(found, Start):
            found = self.origins.why_not(known.name, found.argv, found.runs) or found
        if isinstance(found, str):
            return found
        key = f"{known.name} {found.argv} {found.root} {found.options}"
        return self._begun.get(key) or self._begin(key, known, found)

    def _begin(self, key: str, known: Known, start: Start) -> Lane | str:
        kinds = {lane.name for lane in self}
        if known.name not in kinds and len(kinds) >= MOST_KINDS:
            return f"there are {MOST_KINDS} servers already"
        if len(self._begun) >= MOST_SERVERS:
            return f"there are {MOST_SERVERS} servers already"
        if not self._begun:
            threading.Thread(target=self._mind_memory, name="memory of servers", daemon=True).start()

        def begun() -> Server | Cargo | str:
            return begin(known, start, self.context, self.hub, self.settings, self.origins)

        lane = self._begun[key] = Lane(known, begun, self.tell)
        return lane

    def _use(self, lane: Lane) -> ServerUse | None:
        if lane.server is None:
            return ServerUse(lane.name, "", note=f"not available: {lane.missing}") if lane.missing else None
        use = lane.server.use()
        version = self.settings.versions.get(lane.name, "") or use.version
        return replace(use, version=version, note=self._over_memory.get(lane, use.note))

    def _mind_memory(self) -> None:
        while not self._ended.wait(_LOOK_EVERY):
            for lane in self:
                server = lane.server
                if server is not None and not server.off and server.memory() > self.settings.memory:
                    self._over_memory[lane] = f"it held over {self.settings.memory >> 20} MiB"
                    server.stop()


def _folder(name: str) -> str:
    return str(PurePosixPath(name).parent)


def _both(one: ServerUse, other: ServerUse) -> ServerUse:
    return replace(
        one,
        version=one.version or other.version,
        first_answer=one.first_answer or other.first_answer,
        asked=one.asked + other.asked,
        waited=one.waited + other.waited,
        memory=one.memory + other.memory,
        note=one.note or other.note,
    )
