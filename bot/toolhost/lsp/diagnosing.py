"""Add the diagnostics of a call's changes to its result: the problems that are new, by language servers.

A server starts when a file of its language is first read or changed, one of each kind. Only a change waits for results,
up to the limit; what comes later counts with the next change. A failure in here costs nothing but the diagnostics.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from bot.contracts.evidence import Answer, Problem, ServerUse, Severity
from bot.contracts.plain_text import printable_name
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.ecosystems.language_server import Server
from bot.ecosystems.registry import servers
from bot.toolhost import files
from bot.toolhost.context import Context
from bot.toolhost.encoding import decode
from bot.toolhost.lsp.client import CHANGED, CREATED, DELETED, LanguageServer, SourceFile
from bot.toolhost.lsp.launch import Launcher, Settings
from bot.toolhost.scan import Scanner, changed_files

MAX_FILES = 20
"""Changed files that are checked after one call."""

MAX_OTHERS = 10
"""Files that were read or changed last and are looked at with a change."""

_EDITS = ("edit", "write", "patch")
_LARGEST = 1 << 20
"""Bytes over which a file is not checked: such files are generated."""


class Diagnosing:
    """One for each tool host. Used by the thread that runs tools only."""

    def __init__(self, context: Context, scanner: Scanner, options: Mapping[str, Any]) -> None:
        """`options` are the fields of `Settings`, from the start message."""
        self._context = context
        self._scanner = scanner
        self._settings = Settings(**options)
        self._launcher = Launcher(context, self._settings, scanner.base_content)
        self._specs = {one.name: one for one in servers()}
        self._files: dict[str, SourceFile] = {}
        self._servers: dict[str, LanguageServer] = {}
        self._missing: dict[str, str] = {}
        """Why there is none, by name."""

        self._noted: set[str] = set()
        self._shown: set[Problem] = set()
        self._changed = threading.Condition()
        self._pending: dict[str, str] = {}
        """Files to check with the next result, and the names that they had before."""

        self._broken = False
        self._late: list[str] = []

    def before(self, tool: str) -> None:
        """Prepare for an edit: the problems of files that were read must be known before it, since it changes the
        problems of other files. Starts nothing."""
        if tool in _EDITS and not self._broken:
            documents = {server: list(server.documents) for server in self._servers.values()}
            self._wait(documents, time.monotonic())

    def after(self, tool: str, outcome: ToolOutcome, *, more_edits: bool = False) -> ToolOutcome:
        """The result with the diagnostics, if a file of interest changed; otherwise unchanged. With `more_edits`
        they come with a later result: half of a change has errors that the rest fixes."""
        if self._broken or self._context.cancelled.is_set():
            return outcome
        try:
            return self._diagnose(tool, outcome, more_edits=more_edits)
        except Exception as error:  # noqa: BLE001 - a bug in here must not cost the edit's result
            self._broken = True
            note = f"Diagnostics are off for the rest of the run: {type(error).__name__}: {error}"
            return outcome._replace(content=f"{outcome.content}\n{note}")

    def changed_meanwhile(self, name: str) -> None:
        """Record a file that a command changed, by a scan; it is checked with the next result."""
        self._pending.setdefault(name, name)

    def _diagnose(self, tool: str, outcome: ToolOutcome, *, more_edits: bool) -> ToolOutcome:
        if tool == "view" and not outcome.is_error:
            self._read(str(outcome.metadata.get("path", "")))
        if tool in _EDITS:
            for one in changed_files(outcome.metadata):
                self._pending[one["path"]] = one.get("moved_from", one["path"])
            if more_edits:
                return outcome
        names = {name: old for name, old in self._pending.items() if self._languages_of(name)}
        self._pending = {}
        if not names or (report := self._report(names)) is None:
            return outcome
        content = "\n".join(filter(None, (outcome.content, report.text())))
        metadata = {**outcome.metadata, "diagnostics": report.record()}
        return outcome._replace(content=content, metadata=metadata)

    def _read(self, name: str) -> None:
        """Register a file that the agent read and may change later."""
        if not self._languages_of(name) or name in self._files or (now := self._now(name)) is None:
            return
        before = self._before(name)
        if before is None and name not in self._context.originals:
            before = now  # setup wrote it
        self._files[name] = file = SourceFile(name, before, now)
        for server, language in self._servers_of(name).items():
            server.read(file, language)

    def _report(self, names: Mapping[str, str]) -> Report | None:
        """Report the new problems in these files and in others that were read; `None` if no server takes one."""
        began = time.monotonic()
        updated = (self._update(name, old) for name, old in names.items())
        changed = [file for file in updated if file is not None][:MAX_FILES]
        if not changed:
            return None
        sent_files = self._send(changed, names)
        self._wait(sent_files, began)
        others = {
            server: [name for name in server.documents if name not in own][-MAX_OTHERS:]
            for server, own in sent_files.items()
            if not server.silent
        }
        for server, own in others.items():  # not before it has the whole change
            server.ask_again(own)
        self._wait(others, began)
        problems = {server: self._new_problems(server) for server in self._servers.values()}
        new = in_order(chain.from_iterable(problems.values()), [file.name for file in changed])
        # Of a file that was deleted only the problems of others are worth a line.
        answers = {
            server.name: _answer(server, own) for server, own in sent_files.items() if own or problems[server]
        }
        # Those that were not reported before. One that was gone meanwhile is reported again.
        now = {problem._replace(line=0, column=0, snippet=""): problem for problem in new}
        unreported = [key for key in now if key not in self._shown]
        self._shown = self._shown & now.keys() | set(unreported[:MAX_SHOWN])
        late = [name for name, one in answers.items() if one is Answer.TIMED_OUT]
        unknown = ", ".join(name for name in late if name not in self._late)
        self._late = late
        if unknown:
            unknown += f" did not answer in {self._settings.wait:.3g} s; state unknown"
        unreported_problems = [now[key] for key in unreported]
        return Report(answers, new, unreported_problems, unknown, self._notes(), self._uses())

    def _update(self, name: str, old_name: str) -> SourceFile | None:
        """Return the file with its current text; `None` if it is unchanged."""
        now, file = self._now(name), self._files.get(name)
        if file is None:
            previous = self._files.get(old_name)
            before = previous.before if previous else self._before(old_name)
            file = SourceFile(name, before, before if name == old_name else None)
        if file.now == now:
            return None
        file.change = CREATED if file.now is None else DELETED if now is None else CHANGED
        file.now = now
        self._files[name] = file
        return file

    def _send(
        self, changed: Sequence[SourceFile], old_names: Mapping[str, str]
    ) -> dict[LanguageServer, list[str]]:
        """Send each server its changed files; return with these their names."""
        sent_files: dict[LanguageServer, list[str]] = {}
        for file in changed:
            for server, language in self._servers_of(file.name).items():
                names = sent_files.setdefault(server, [])
                if (old_name := old_names[file.name]) != file.name:
                    server.closed(old_name)
                if file.now is None:
                    server.closed(file.name)
                else:
                    names.append(file.name)
                    server.read(file, language)
        for server in self._servers.values():
            server.files_changed(changed)
        return sent_files

    def _wait(self, names: Mapping[LanguageServer, Sequence[str]], began: float) -> None:
        """Wait for servers that answered within the last wait, or since."""
        waiting = {server: own for server, own in names.items() if not server.silent}

        def is_done() -> bool:
            return all(server.is_done(own) for server, own in waiting.items())

        with self._changed:
            self._changed.wait_for(is_done, max(0.0, began + self._settings.wait - time.monotonic()))
            for server, own in waiting.items():
                server.silent = not server.is_done(own)

    def _new_problems(self, server: LanguageServer) -> list[Problem]:
        """Those of the files that the server answered for."""
        missing = self._specs[server.name].missing
        known = [one for one in server.documents.values() if one.ready and not server.off_reason]
        new = (problem for one in known for problem in new_problems(one.base or (), one.problems or ()))
        return [problem for problem in new if problem.code not in missing]

    def _servers_of(self, name: str) -> dict[LanguageServer, str]:
        """The servers of a file, started where they were not, with the name of its language."""
        languages = self._languages_of(name)
        for server in languages:
            if server not in self._servers:
                self._start(self._specs[server], name)
        return {self._servers[one]: languages[one] for one in languages if one in self._servers}

    def _languages_of(self, name: str) -> dict[str, str]:
        """The names of a file's language by those of the servers that take it."""
        suffix = os.path.splitext(name)[1].lower()
        return {one.name: one.files[suffix] for one in self._specs.values() if suffix in one.files}

    def _start(self, spec: Server, name: str) -> None:
        """Start the server for a file, or record why there is none."""
        self._missing.pop(spec.name, None)
        root, launch = Path(self._context.real_root), self._launcher.find(spec, name)
        try:
            if not isinstance(launch, str):
                process = self._launcher.start(spec, launch)
                self._servers[spec.name] = LanguageServer(spec.name, root, launch, process, self._changed)
            elif launch:
                self._missing[spec.name] = launch
        except OSError as error:
            self._missing[spec.name] = f"it could not be started: {error.strerror or error}"

    def _notes(self) -> list[str]:
        """Sentences on servers that are missing or off; each once."""
        off = {name: server.off_reason for name, server in self._servers.items()}
        notes = [f"{name} is off for the rest of the run: {why}" for name, why in off.items() if why]
        notes += [f"{name} is not available: {why}" for name, why in self._missing.items()]
        new = [note for note in notes if note not in self._noted]
        self._noted.update(new)
        return new

    def _uses(self) -> list[ServerUse]:
        """The servers that were started, and those that are missing."""
        started = [ServerUse(one.name, one.version, one.off_reason) for one in self._servers.values()]
        missing = [ServerUse(name, "", f"not available: {why}"[:300]) for name, why in self._missing.items()]
        return [*started, *missing]

    def _now(self, name: str) -> str | None:
        try:
            return _content(files.read(self._context, self._context.root / name, name))
        except ToolFailure:
            return None

    def _before(self, name: str) -> str | None:
        """The text before the first change by a tool; else the text in the commit that the run began with."""
        originals = self._context.originals
        return _content(originals[name] if name in originals else self._scanner.base_content(name))


def _content(data: bytes | None) -> str | None:
    text = None if data is None or len(data) > _LARGEST else decode(data)
    return text and text.content


def _answer(server: LanguageServer, names: Sequence[str]) -> Answer:
    if server.off_reason:
        return Answer.UNAVAILABLE
    return Answer.COMPLETE if server.is_done(names) else Answer.TIMED_OUT


MAX_SHOWN = 10
_LINE = re.compile(r"\b(lines?|columns?) \d+(:\d+)?", re.IGNORECASE)


def new_problems(before: Sequence[Problem], now: Sequence[Problem]) -> list[Problem]:
    """The problems of one file by one tool that were not there before. They are matched as multisets, not by line
    numbers, since an edit moves those below it: first those on equal lines, then the others, since an edit of a line
    makes no new problem of an old one in it."""
    new, unmatched = list(now), Counter(map(_identity, before))
    for end in (None, -1):
        unmatched = Counter(key[:end] for key in unmatched.elements())
        candidates, new = new, []
        for problem in candidates:
            if unmatched[key := _identity(problem)[:end]]:
                unmatched[key] -= 1
            else:
                new.append(problem)
    return new


def in_order(problems: Iterable[Problem], first: Collection[str]) -> list[Problem]:
    """Errors first, those of the files `first` before others, then by file and line. Of several at one position, as two
    tools report a syntax error, the first one."""
    each: dict[Hashable, Problem] = {}
    for problem in problems:
        each.setdefault((problem.path, problem.line, problem.column), problem)
    return sorted(
        each.values(),
        key=lambda p: (p.severity != Severity.ERROR, p.path not in first, p.path, p.line, p.column),
    )


class Report(NamedTuple):
    """`tools` has the answer of each server, `new` are the new problems of all files with results, `unreported` those
    that were not reported before. `unknown` is a sentence on servers that were in time before and are not now, `notes`
    are sentences on servers that are not available, `uses` are the servers of the run."""

    tools: Mapping[str, Answer]
    new: Sequence[Problem]
    unreported: Sequence[Problem] = ()
    unknown: str = ""
    notes: Sequence[str] = ()
    uses: Sequence[ServerUse] = ()

    def text(self) -> str:
        """The text for the model, with a line for each note; empty without a finding and a note."""
        return "\n".join([*self._findings(), *(f"Diagnostics: {note}" for note in self.notes)])

    def record(self) -> dict[str, Any]:
        """The same for the metadata of the tool result."""
        return {
            "tools": [[name, answer.value] for name, answer in self.tools.items()],
            "new": [one._asdict() for one in self.new[:MAX_SHOWN]],
            "new_count": len(self.new),
            "note": " ".join(self.notes)[:1000],
            "servers": [one._asdict() for one in self.uses],
        }

    def _findings(self) -> Iterator[str]:
        names = ", ".join(name for name, answer in self.tools.items() if answer is Answer.COMPLETE)
        if not names or not self.new:
            known = f"no new problems ({names})" if names else ""
            if known or self.unknown:
                yield f"Diagnostics: {'; '.join(filter(None, (known, self.unknown)))}"
            return
        repeated = len(self.new) - len(self.unreported)
        repeated_note = f" ({repeated} shown before)" if repeated else ""
        yield f"Diagnostics ({names}; {self.unknown or 'complete'}): {len(self.new)} new{repeated_note}"
        yield from map(_lines, self.unreported[:MAX_SHOWN])
        if (rest := len(self.unreported) - MAX_SHOWN) > 0:
            yield f"[{rest} more new ones are not shown]"


def _lines(problem: Problem) -> str:
    column = f":{problem.column}" if problem.column else ""
    code = f":{problem.code}" if problem.code else ""
    position = f"{printable_name(problem.path)}:{problem.line}{column}"
    line = f"{position} {problem.severity} {problem.tool}{code} {problem.message}"
    return f"{line}\n{problem.line:>6} | {problem.snippet}" if problem.snippet else line


def _identity(problem: Problem) -> tuple[Hashable, ...]:
    """All but the position; the line of code comes last."""
    message = _LINE.sub(r"\1", problem.message)
    return (problem.tool, problem.severity, problem.code, message, problem.snippet.strip())
