"""Diagnostics of edits: send changed files to their servers and report the problems that are new.

A server starts when a file of its language is first read or changed, one of each kind. Only a change waits for results,
up to the limit; what comes later counts with the next change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.ecosystems.record import Server
from bot.ecosystems.registry import servers
from bot.toolhost.context import Context
from bot.toolhost.lsp.baseline import Change, certain, compare, merge
from bot.toolhost.lsp.client import LanguageServer, ServerConfig
from bot.toolhost.lsp.launch import BaseContent, Settings, refusal, start_server
from bot.toolhost.lsp.location import Location, replace_command
from bot.toolhost.lsp.report import Report, count_fitting

MAX_FILES = 20
"""Changed files that are checked after one call."""

MAX_OTHERS = 10
"""Files that were read or changed last and are looked at with a change."""

_CREATED, _CHANGED, _DELETED = 1, 2, 3


@dataclass(slots=True)
class WatchedFile:
    """A file with its text before the agent's first change and now, `None` if it does not exist."""

    name: str
    before: str | None
    now: str | None


@dataclass(slots=True)
class DiagnosticsService:
    """`before(name)` returns a file's text before the agent's first change, `None` if it did not exist;
    `now(name)` its text now, `None` if it does not exist or is not text."""

    context: Context
    settings: Settings
    before: Callable[[str], str | None]
    now: Callable[[str], str | None]
    base: BaseContent = lambda path: None
    _specs: Mapping[str, Server] = field(default_factory=lambda: {one.name: one for one in servers()})
    _files: dict[str, WatchedFile] = field(default_factory=dict)
    _started: dict[str, LanguageServer] = field(default_factory=dict)
    _missing: dict[tuple[str, str], str] = field(default_factory=dict)
    """By server and folder, why there is none; empty if none is wanted."""

    _announced: set[str] = field(default_factory=set)
    _shown: set[Problem] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self._announced |= self.settings.announced

    def read(self, name: str, text: str) -> None:
        """Register a file that the agent read and may change later. Returns at once."""
        if name not in self._files:
            self._files[name] = WatchedFile(name, text, text)
            for spec, server in self._servers_of(name):
                server.read(name, _language(spec, name), text, text)

    def settle(self, until: float) -> None:
        """Wait before a change until the servers have checked what was read: a change on disk changes the problems of
        other files."""
        self._wait({server: list(server.documents) for server in self._started.values()}, until)

    @property
    def reads_any(self) -> bool:
        """Whether a file was registered."""
        return bool(self._files)

    def changed(self, names: Sequence[str], moved: Mapping[str, str], began: float) -> Report | None:
        """Report the new problems in these files and in others that were read; `None` if no server takes one. `moved`
        maps new names to old ones; the wait counts from `began`, by `time.monotonic`."""
        until = began + self.settings.wait
        files = [file for name in names if (file := self._update(name, moved.get(name, ""))) is not None]
        files = files[:MAX_FILES]
        if not files:
            return None
        files_by_server = self._send(files, moved)
        self._wait(files_by_server, until)
        others = {
            server: [name for name in server.documents if name not in names][-MAX_OTHERS:]
            for server, names in files_by_server.items()
        }
        for server, own in others.items():  # not before it has the whole change
            if not server.silent:
                server.ask_again(own)
        self._wait(others, until)
        changes = {
            server: certain(merge(self._compare(server, (*names, *others[server]))))
            for server, names in files_by_server.items()
        }
        change = merge(changes.values(), [file.name for file in files])
        # Of a file that was deleted only the problems of others are worth a line.
        answers = [
            (server.config.name, _answer(server, names))
            for server, names in files_by_server.items()
            if names or changes[server].new
        ]
        return Report(
            tuple(answers),
            change,
            self._unreported(change),
            waited=time.monotonic() - began,
            limit=self.settings.wait,
            announcements=tuple(self._announcements([file.name for file in files])),
            uses=self.uses(),
        )

    def uses(self) -> tuple[ServerUse, ...]:
        """The servers that ran, and those that are not available."""
        missing = {name: why for (name, _), why in self._missing.items() if why and name not in self._started}
        return (
            *(server.use() for server in self._started.values()),
            *(ServerUse(name, "", note=f"not available: {why}") for name, why in missing.items()),
        )

    def end(self) -> None:
        for server in self._started.values():
            server.end()

    def _update(self, name: str, old_name: str) -> WatchedFile | None:
        """Return the file with its current text; `None` if it is unchanged."""
        text, file = self.now(name), self._files.get(name)
        if file is None:
            previous = self._files.get(old_name)
            before = previous.before if previous else self.before(old_name or name)
            file = WatchedFile(name, before, before)
        if file.now == text:
            return None
        file.now = text
        self._files[name] = file
        return file

    def _send(
        self, files: Sequence[WatchedFile], moved: Mapping[str, str]
    ) -> dict[LanguageServer, list[str]]:
        """Send each server its changed files; return with these their names."""
        files_by_server: dict[LanguageServer, list[str]] = {}
        events: dict[str, int] = {}
        for file in files:
            known = any(file.name in server.documents for server in self._started.values())
            events[file.name] = _CHANGED if known or file.before is not None else _CREATED
            for spec, server in self._servers_of(file.name):
                names = files_by_server.setdefault(server, [])
                server.closed(moved.get(file.name, ""))
                if file.now is None:
                    server.closed(file.name)
                    events[file.name] = _DELETED
                else:
                    names.append(file.name)
                    server.read(file.name, _language(spec, file.name), file.before, file.now)
        for server in self._started.values():
            server.check_health()
            # Of an open file it has the text.
            own = {
                name: kind
                for name, kind in events.items()
                if name not in server.documents or kind == _CREATED
            }
            if own:
                server.files_changed(own)
        return files_by_server

    def _wait(self, files_by_server: Mapping[LanguageServer, Sequence[str]], until: float) -> None:
        """Wait for servers that answered within the last wait, or since."""
        waiting = {server: names for server, names in files_by_server.items() if not server.silent}

        def is_done() -> bool:
            return all(server.off_reason or server.is_ready(names) for server, names in waiting.items())

        with self._changed:
            in_time = self._changed.wait_for(is_done, max(0.0, until - time.monotonic()))
            for server, names in waiting.items():
                server.silent = not in_time and not server.is_ready(names)

    def _compare(self, server: LanguageServer, names: Sequence[str]) -> Iterator[Change]:
        """Compare those files that the server answered for."""
        missing = self._specs[server.config.name].missing
        for document in (server.documents[name] for name in names if name in server.documents):
            if document.ready and not server.off_reason:
                now = [problem for problem in document.problems or () if problem.code not in missing]
                yield compare([one for one in document.base or () if one.code not in missing], now)

    def _unreported(self, change: Change) -> tuple[Problem, ...]:
        """Those that were not reported before. One that was gone meanwhile is reported again."""
        now = {_anywhere(problem): problem for problem in change.new}
        self._shown &= now.keys()
        unreported = tuple(problem for key, problem in now.items() if key not in self._shown)
        self._shown.update(map(_anywhere, unreported[: count_fitting(unreported)]))
        return unreported

    def _servers_of(self, name: str) -> list[tuple[Server, LanguageServer]]:
        """The servers of a file, started where they were not."""
        specs = [spec for spec in self._specs.values() if _language(spec, name)]
        for spec in specs:
            key = (spec.name, str(PurePosixPath(name).parent))
            if spec.name not in self._started and key not in self._missing:
                self._missing[key] = self._start(spec, name)
        return [(spec, self._started[spec.name]) for spec in specs if spec.name in self._started]

    def _start(self, spec: Server, name: str) -> str:
        """Start the server for a file; else return why there is none, empty if none is wanted."""
        settings = self.settings.servers.get(spec.name, {})
        if settings.get("off"):
            return ""
        context, root = self.context, Path(self.context.real_root)
        configured = str(settings.get("command", ""))
        place = Location(root, (root / name).parent, context.environment, context.programs, configured)
        command = spec.find(place)
        if configured:
            command = replace_command(configured, command)
        if isinstance(command, str):
            return command
        launch = command
        if reason := refusal(context, self.settings, self.base, spec.name, launch):
            return reason
        project = launch.root or root
        config = ServerConfig(
            spec.name, root, project, lambda: start_server(spec, launch, context), launch.options
        )
        self._started[spec.name] = LanguageServer(config, self._changed)
        return ""

    def _announcements(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Notes on servers that are missing or off for these files; each once a run, by a key."""
        for spec in self._specs.values():
            folders = {str(PurePosixPath(name).parent) for name in names if _language(spec, name)}
            server = self._started.get(spec.name)
            state, how = ("off", "off for the rest of the run") if server else ("missing", "not available")
            missing = next((why for one in folders if (why := self._missing.get((spec.name, one), ""))), "")
            why = server.off_reason if server and folders else missing
            if why and (key := f"{state} {spec.name}") not in self._announced:
                self._announced.add(key)
                yield key, f"{spec.name} is {how}: {why}"


def _language(spec: Server, name: str) -> str:
    return spec.files.get(PurePosixPath(name).suffix.lower(), "")


def _answer(server: LanguageServer, names: Sequence[str]) -> Answer:
    if server.off_reason:
        return Answer.UNAVAILABLE
    return Answer.COMPLETE if server.is_ready(names) else Answer.TIMED_OUT


def _anywhere(problem: Problem) -> Problem:
    """The same for any position in its file."""
    return replace(problem, line=0, column=0, end_line=0, end_column=0, snippet="")
