"""Diagnostics of edits: send changed files to their servers and report the problems that are new.

A server starts when a file of its language is first read or changed. Only a change waits for results, up to the limit;
late ones come with a later report.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.toolhost.context import Context
from bot.toolhost.lsp.baseline import Change, MissingPackages, certain, compare, merge
from bot.toolhost.lsp.client import LanguageServer
from bot.toolhost.lsp.launch import BaseCommit, LaunchGuard, Settings, server_config
from bot.toolhost.lsp.parsers import parser_of, problems
from bot.toolhost.lsp.registry import (
    SERVERS,
    LaunchCommand,
    Location,
    ServerSpec,
    is_checked,
    replace_command,
)
from bot.toolhost.lsp.report import Report, ReportedProblems

MAX_FILES = 20
"""Changed files that are checked after one call."""

MAX_OTHERS = 10
"""Files that were read last and are looked at with a change."""

MAX_SERVERS = 6

_SETTINGS = (".toml", ".json")
"""Suffixes of files whose content may change the problems of others: pyproject.toml, tsconfig.json."""

_CREATED, _CHANGED, _DELETED = 1, 2, 3


@dataclass(slots=True)
class WatchedFile:
    """A file with its text before the agent's first change and now, `None` if it does not exist; `faults` are its new
    syntax errors."""

    name: str
    before: str | None
    now: str | None
    faults: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a server or parser answered, and of which files."""

    name: str
    answer: Answer
    change: Change = field(default_factory=Change)


@dataclass(slots=True)
class DiagnosticsService:
    """`before(name)` returns a file's text before the agent's first change, `None` if it did not exist;
    `now(name)` its text now, `None` if it does not exist or is not text."""

    context: Context
    settings: Settings
    before: Callable[[str], str | None]
    now: Callable[[str], str | None]
    base: BaseCommit = field(default_factory=BaseCommit)
    servers: Sequence[ServerSpec] = SERVERS
    _files: dict[str, WatchedFile] = field(default_factory=dict)
    _started: dict[str, LanguageServer] = field(default_factory=dict)
    _by_folder: dict[tuple[str, str], LanguageServer | str] = field(default_factory=dict)
    _late: dict[LanguageServer, dict[str, None]] = field(default_factory=dict)
    """The changed files that servers did not answer for in time."""

    _announced: set[str] = field(default_factory=set)
    _reported: ReportedProblems = field(default_factory=ReportedProblems)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _guard: LaunchGuard = field(init=False)

    def __post_init__(self) -> None:
        self._announced |= self.settings.announced
        self._guard = LaunchGuard(self.context, self.settings.launch_policy, self.base)

    def read(self, name: str, text: str) -> None:
        """Register a file that the agent read and may change later. Returns at once."""
        if name in self._files or not is_checked(name):
            return
        self._files[name] = WatchedFile(name, text, text)
        for spec, server in self._servers_of(name):
            server.read(name, spec.language(name), text, text)

    def settle(self, until: float) -> None:
        """Wait before a change until the servers have checked what was read: a change on disk changes the problems of
        other files."""
        servers = list(self._started.values())
        self._wait({server: list(server.documents) for server in servers}, until)

    def changed(self, names: Sequence[str], moved: Mapping[str, str], began: float) -> Report | None:
        """Report the new problems in these files and in others that were read; `None` if no server or parser takes
        one. `moved` maps new names to old ones; the wait counts from `began`, by `time.monotonic`."""
        until = began + self.settings.wait
        files = [file for name in names if (file := self._update(name, moved.get(name, ""))) is not None]
        skipped, files = files[MAX_FILES:], files[:MAX_FILES]
        if not files:
            return None
        asked = self._send(files, moved)
        outcomes = list(self._parse(files, until))
        self._wait({server: names for server, (names, _) in asked.items()}, until)
        for server, (_, others) in asked.items():  # not before it has the whole change
            if not server.silent:
                server.ask_again(others)
        self._wait({server: others for server, (_, others) in asked.items()}, until)
        answered = [(names, self._outcome(server, *names)) for server, names in asked.items()]
        # Of a file that was deleted only the problems of others are worth a line.
        outcomes += [outcome for (own, _), outcome in answered if own or outcome.change.new]
        notes = (f"{len(skipped)} more changed files were not looked at.",) if skipped else ()
        loading = tuple(server.name for server in asked if not server.answered)
        return self._report(outcomes, [file.name for file in files], began, notes=notes, loading=loading)

    def late_report(self) -> Report | None:
        """Report results of earlier changes that came since, of servers that owe nothing more."""
        done = {
            server: list(names)
            for server, names in self._late.items()
            if server.is_ready(names) or server.off_reason
        }
        outcomes = [self._outcome(server, names, []) for server, names in done.items()]
        names = list(dict.fromkeys(name for names in done.values() for name in names))
        return self._report(outcomes, names, time.monotonic(), late=True) if outcomes else None

    def standing(self) -> Iterator[tuple[str, str, tuple[Problem, ...]]]:
        """Return name, text and new errors of each changed file for which there is a result."""
        for name, file in self._files.items():
            if file.now is None or file.now == file.before:
                continue
            changes = [Change(file.faults)]
            for server in self._started.values():
                if server.is_ready([name]) and name in server.documents:
                    changes.append(self._compare(server, name))
            new = merge(changes).new
            yield name, file.now, tuple(problem for problem in new if problem.severity == "error")

    def uses(self) -> tuple[ServerUse, ...]:
        """The use of each kind of server, and which are not available."""
        uses: dict[str, ServerUse] = {}
        for server in self._started.values():
            if server.name not in uses or server.off_reason:
                uses[server.name] = server.use()
        for (name, _), reason in self._by_folder.items():
            if isinstance(reason, str) and reason:
                uses.setdefault(name, ServerUse(name, "", note=f"not available: {reason}"))
        return tuple(uses.values())

    def end(self) -> None:
        for server in self._started.values():
            server.end()

    def _update(self, name: str, old_name: str) -> WatchedFile | None:
        """Return the file with its current text; `None` if it is unchanged or not checked."""
        if not is_checked(name):
            return None
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
    ) -> dict[LanguageServer, tuple[list[str], list[str]]]:
        """Send each server its changed files; return with these the other files that it is asked for."""
        asked: dict[LanguageServer, tuple[list[str], list[str]]] = {}
        events: dict[str, int] = {}
        for file in files:
            known = any(file.name in server.documents for server in self._started.values())
            events[file.name] = (
                _DELETED if file.now is None else _CHANGED if file.before is not None or known else _CREATED
            )
            for spec, server in self._servers_of(file.name):
                names, _ = asked.setdefault(server, ([], []))
                if file.now is None:
                    server.closed(file.name)
                    continue
                names.append(file.name)
                if old := server.documents.get(moved.get(file.name, "")):
                    server.moved(file.name, old)
                    server.closed(old.name)
                server.read(file.name, spec.language(file.name), file.before, file.now)
        for server in self._started.values():
            server.check_health()
            own = {name: kind for name, kind in events.items() if self._concerns(server, name, kind)}
            server.files_changed(own)
        for server, (names, others) in asked.items():
            others += [name for name in server.documents if name not in names][-MAX_OTHERS:]
        return asked

    def _concerns(self, server: LanguageServer, name: str, kind: int) -> bool:
        """Whether it is told of a file on disk: not of one that is open, whose text it has."""
        if PurePosixPath(name).suffix in _SETTINGS:
            return True
        return kind != _CHANGED and any(own is server for _, own in self._servers_of(name))

    def _wait(self, asked: Mapping[LanguageServer, Sequence[str]], until: float) -> None:
        """Wait for servers that answered within the last wait, or since."""
        waiting = {server: names for server, names in asked.items() if not server.silent}

        def is_done() -> bool:
            return all(server.off_reason or server.is_ready(names) for server, names in waiting.items())

        with self._changed:
            in_time = self._changed.wait_for(is_done, max(0.0, until - time.monotonic()))
            for server, names in waiting.items():
                server.silent = not in_time and not server.is_ready(names)

    def _parse(self, files: Sequence[WatchedFile], until: float) -> Iterator[Outcome]:
        by_parser: dict[str, list[WatchedFile]] = {}
        for file in files:
            parser = parser_of(file.name)
            if file.now is not None and parser and not self.settings.servers.get(parser, {}).get("off"):
                by_parser.setdefault(parser, []).append(file)
        for parser, own in by_parser.items():
            own = [file for file in own if not (parser == "python" and self._has_server(file.name))]
            changes: list[Change] = []
            for file in own:
                before = problems(self.context, file.name, file.before, until) if file.before else ()
                now = problems(self.context, file.name, file.now or "", until)
                if before is not None and now is not None:
                    changes.append(certain(compare(before, now)))
                    file.faults = changes[-1].new
                    self._reported.compared.add((parser, file.name))
            if own:
                answer = Answer.COMPLETE if len(changes) == len(own) else Answer.TIMED_OUT
                yield Outcome(parser, answer, merge(changes))

    def _has_server(self, name: str) -> bool:
        return any(not server.off_reason for _, server in self._servers_of(name))

    def _outcome(self, server: LanguageServer, names: Sequence[str], others: Sequence[str]) -> Outcome:
        """Return a server's answer and the new problems in the files that it answered for."""
        pending = self._late.pop(server, {}) | dict.fromkeys(names)
        if server.off_reason:
            return Outcome(server.name, Answer.UNAVAILABLE)
        if not server.is_ready(names):
            self._late[server] = pending
            return Outcome(server.name, Answer.TIMED_OUT)
        done = [name for name in (*pending, *others) if server.is_ready([name])]
        if unanswered := {name: None for name in pending if name not in done}:
            self._late[server] = unanswered
        changes = [self._compare(server, name) for name in done if name in server.documents]
        return Outcome(server.name, Answer.COMPLETE, certain(merge(changes)))

    def _compare(self, server: LanguageServer, name: str) -> Change:
        self._reported.compared.add((server.name, name))
        document = server.documents[name]
        documents = [
            document
            for other in self._started.values()
            if other.name == server.name
            for document in other.documents.values()
        ]
        before = [problem for document in documents for problem in document.base or ()]
        missing = MissingPackages(server.name, self.context, (one.name for one in documents), before)
        return compare(document.base or (), document.problems or (), missing)

    def _servers_of(self, name: str) -> list[tuple[ServerSpec, LanguageServer]]:
        """The servers of a file, started where they were not."""
        folder = str(PurePosixPath(name).parent)
        found: list[tuple[ServerSpec, LanguageServer]] = []
        for spec in self.servers:
            if not spec.language(name):
                continue
            if (spec.name, folder) not in self._by_folder:
                self._by_folder[spec.name, folder] = self._find(spec, name)
            server = self._by_folder[spec.name, folder]
            if isinstance(server, LanguageServer):
                found.append((spec, server))
        return found

    def _find(self, spec: ServerSpec, name: str) -> LanguageServer | str:
        """The server of a file; else why there is none, empty if none is wanted."""
        settings = self.settings.servers.get(spec.name, {})
        if settings.get("off"):
            return ""
        configured, root = str(settings.get("command", "")), Path(self.context.real_root)
        context = self.context
        location = Location(root, (root / name).parent, context.environment, context.programs, configured)
        command = spec.find(location)
        if configured:
            command = replace_command(configured, command)
        if isinstance(command, LaunchCommand):
            command = self._guard.refusal(spec.name, command.argv, command.runs) or command
        if isinstance(command, str):
            return command
        key = f"{spec.name} {command.argv} {command.root} {command.options}"
        if key not in self._started:
            if len(self._started) >= MAX_SERVERS:
                return f"there are {MAX_SERVERS} servers already"
            self._started[key] = LanguageServer(server_config(spec, command, self._guard), self._changed)
        return self._started[key]

    def _report(
        self,
        outcomes: Sequence[Outcome],
        names: Sequence[str],
        began: float,
        *,
        late: bool = False,
        notes: tuple[str, ...] = (),
        loading: tuple[str, ...] = (),
    ) -> Report:
        change = merge((outcome.change for outcome in outcomes), names)
        answers: dict[str, Answer] = {}
        for outcome in outcomes:
            if answers.get(outcome.name) is not Answer.TIMED_OUT:
                answers[outcome.name] = outcome.answer
        return Report(
            tuple(answers.items()),
            change,
            self._reported.select_new(change.new),
            waited=0.0 if late else time.monotonic() - began,
            limit=self.settings.wait,
            late=late,
            files=tuple(names),
            announcements=tuple(self._announcements(names)),
            notes=notes,
            loading=loading,
            uses=self.uses(),
        )

    def _announcements(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Notes on servers that are missing or off for these files; each once a run, by a key."""
        for spec in self.servers:
            for folder in {str(PurePosixPath(name).parent) for name in names if spec.language(name)}:
                server = self._by_folder.get((spec.name, folder), "")
                key, reason = f"missing {spec.name}", server
                sentence = f"{spec.name} is not available: {reason}"
                if isinstance(server, LanguageServer):
                    key, reason = f"off {spec.name}", server.off_reason
                    sentence = f"{spec.name} is off for the rest of the run: {reason}"
                if reason and key not in self._announced:
                    self._announced.add(key)
                    yield key, sentence
