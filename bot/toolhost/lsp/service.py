"""Diagnostics of edits: ask the servers and checkers of changed files and report the problems that are new.

A server starts when a file of its language is first read or changed. Only a change waits for results, up to the limit;
late ones come with a later report.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from zlib import crc32

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.toolhost.context import Context
from bot.toolhost.lsp import text_checkers
from bot.toolhost.lsp.baseline import Change, MissingPackages, certain, compare, merge
from bot.toolhost.lsp.launch import BaseCommit, LaunchGuard, Settings
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import SERVERS, ServerSpec, is_checked, is_shell
from bot.toolhost.lsp.report import Report, ReportedProblems, display_path
from bot.toolhost.lsp.server_loop import ServerLoop
from bot.toolhost.lsp.worker_pool import WorkerPool
from bot.toolhost.lsp.workers import DiagnosticsRequest, WatchedFile, Worker, importers_of

MAX_FILES = 20
"""Changed files that are checked after one call."""

_SETTINGS = (".toml", ".json")
"""Suffixes of files whose content may change the problems of others: pyproject.toml, tsconfig.json."""

_RANK = (Answer.TIMED_OUT, Answer.COMPLETE, Answer.UNAVAILABLE)


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
    loop: ServerLoop = field(default_factory=ServerLoop)
    _files: dict[str, WatchedFile] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)
    _announced: set[str] = field(default_factory=set)
    _reported: ReportedProblems = field(default_factory=ReportedProblems)
    _late: list[tuple[Worker, DiagnosticsRequest]] = field(default_factory=list)
    _waited_for: set[Worker] = field(default_factory=set)
    _condition: threading.Condition = field(default_factory=threading.Condition)
    _standing: dict[str, tuple[str, tuple[Problem, ...]]] = field(default_factory=dict)
    _guard: LaunchGuard = field(init=False)
    _workers: WorkerPool = field(init=False)

    def __post_init__(self) -> None:
        self._announced |= self.settings.announced
        self._guard = LaunchGuard(self.context, self.settings.launch_policy, self.base)
        self._workers = WorkerPool(
            self.context, self.settings, self._guard, self.servers, self.loop, self._notify
        )

    def read(self, name: str, text: str) -> None:
        """Register a file that the agent read and may change later. Returns at once."""
        if name in self._files or not (is_checked(name) or is_shell(name, text)):
            return
        file = self._files[name] = WatchedFile(name, text, text)
        for worker in self._workers.for_file(name):
            worker.warm(file)

    def settle(self, until: float) -> None:
        """Wait before a change until the servers have checked what was read: a change on disk changes the problems of
        other files."""

        def busy() -> list[Worker]:
            workers = (worker for worker in self._workers if worker.warming and not worker.unusable_reason)
            return [worker for worker in workers if not self._is_known_to_load(worker)]

        with self._condition:
            self._condition.wait_for(lambda: not busy(), max(0.0, until - time.monotonic()))
        self._waited_for.update(worker for worker in busy() if worker.loading)

    def changed(self, names: Sequence[str], moved: Mapping[str, str], began: float) -> Report | None:
        """Report the new problems in these files and in those that use them; `None` if no server or checker takes
        one. `moved` maps new names to old ones; the wait counts from `began`, by `time.monotonic`."""
        until = began + self.settings.wait
        files = [file for name in names if (file := self._update(name, moved.get(name, ""))) is not None]
        skipped = files[MAX_FILES:]
        files = files[:MAX_FILES]
        if not files:
            return None
        self._report_settings(files)
        requests = self._send_requests(files, until)
        outcomes = [*self._check_texts(files, until)]
        self._wait(requests, until)
        for worker, request in requests:
            if request.done and not request.results:
                continue  # its files were deleted, and no file uses them
            outcomes.append(self._outcome(worker, request))
            if outcomes[-1][1] is Answer.TIMED_OUT:
                self._late.append((worker, request))
        loading = {worker for worker, request in requests if request.is_unanswered() and worker.loading}
        self._waited_for = loading | {worker for worker in self._waited_for if worker.loading}
        unknown = {name for name, answer, _ in outcomes if answer is Answer.TIMED_OUT}
        late = [self._outcome(worker, request) for worker, request in self._take_late(unknown)]
        outcomes += [outcome for outcome in late if outcome[1] is not Answer.TIMED_OUT]
        notes = (f"{len(skipped)} more changed files were not looked at.",) if skipped else ()
        names_of_loading = tuple(dict.fromkeys(worker.name for worker, _ in requests if worker in loading))
        return self._report(outcomes, files, began, notes=notes, loading=names_of_loading)

    def late_report(self) -> Report | None:
        """Report late results of earlier changes, where the files have not changed since."""
        done = self._take_late()
        outcomes = [self._outcome(worker, request) for worker, request in done]
        outcomes = [outcome for outcome in outcomes if outcome[1] is not Answer.TIMED_OUT]
        files = [file for _, request in done for file in request.files]
        return self._report(outcomes, files, time.monotonic(), late=True) if outcomes else None

    def _take_late(self, unknown: Collection[str] = ()) -> list[tuple[Worker, DiagnosticsRequest]]:
        """Remove and return the late requests that are complete, except of servers whose state is `unknown` again."""
        done = [
            (worker, request)
            for worker, request in self._late
            if (request.done or worker.unusable_reason) and worker.name not in unknown
        ]
        self._late = [entry for entry in self._late if entry not in done]
        return done

    def standing(self) -> Iterator[tuple[str, str, tuple[Problem, ...]]]:
        """Return name, text and new errors of each changed file for which there is a result."""
        for name, (text, new) in self._standing.items():
            if self._files[name].now == text:
                yield name, text, merge([Change(new)]).new

    def uses(self) -> tuple[ServerUse, ...]:
        refused = (
            ServerUse(name, "", note=f"not available: {reason}") for name, reason in self._refused.items()
        )
        return (*self._workers.uses(), *refused)

    def end(self) -> None:
        self._workers.end()

    def _update(self, name: str, old_name: str) -> WatchedFile | None:
        """Return the file with its current text; `None` if it is unchanged or not checked."""
        text = self.now(name)
        if not is_checked(name) and not is_shell(name, text or ""):
            return None
        file = self._files.get(name)
        if file is not None:
            if file.now == text:
                return None
            file.now = text
            return file
        if old_name:
            previous = self._files.get(old_name)
            before = previous.before if previous else self.before(old_name)
            file = WatchedFile(name, before, text, dict(previous.base) if previous else {})
        else:
            file = WatchedFile(name, self.before(name), text)
        if file.before == text:
            return None
        self._files[name] = file
        return file

    def _notify(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def _report_settings(self, files: Sequence[WatchedFile]) -> None:
        changed = [file for file in files if PurePosixPath(file.name).suffix in _SETTINGS]
        changes = {
            file.name: "deleted" if file.now is None else "created" if file.before is None else "changed"
            for file in changed
        }
        for worker in self._workers:
            if changes:
                worker.settings_changed(changes)

    def _send_requests(
        self, files: Sequence[WatchedFile], until: float
    ) -> list[tuple[Worker, DiagnosticsRequest]]:
        """Send each worker its files, all at the same time."""
        files_of: dict[Worker, list[WatchedFile]] = {}
        for file in files:
            for worker in self._workers.for_file(file.name):
                files_of.setdefault(worker, []).append(file)
        requests = [(worker, self._send_request(worker, own, until)) for worker, own in files_of.items()]
        self._resend_late(files_of)
        return requests

    def _resend_late(self, files_of: Mapping[Worker, Sequence[WatchedFile]]) -> None:
        """Replace the late requests of these workers: a change may have changed their results. There is no wait for
        them."""
        late_files: dict[Worker, list[WatchedFile]] = {}
        for worker, request in self._late:
            if worker in files_of:
                late_files.setdefault(worker, []).extend(
                    file for file in request.files if file not in files_of[worker]
                )
        self._late = [(worker, request) for worker, request in self._late if worker not in files_of]
        now = time.monotonic()
        self._late += [
            (worker, self._send_request(worker, files, now)) for worker, files in late_files.items() if files
        ]

    def _send_request(self, worker: Worker, files: Sequence[WatchedFile], until: float) -> DiagnosticsRequest:
        others = importers_of(
            files, (file for file in self._files.values() if worker.spec.language(file.name))
        )
        request = DiagnosticsRequest(
            tuple(files), others, self.settings.wait, until, {file.name: file.now for file in files}
        )
        worker.request(request)
        return request

    def _is_known_to_load(self, worker: Worker) -> bool:
        """Whether it was loading during an earlier wait and still is: it is not waited for again."""
        return worker in self._waited_for and worker.loading

    def _wait(self, requests: Sequence[tuple[Worker, DiagnosticsRequest]], until: float) -> None:
        def answered() -> bool:
            return all(
                request.done or not request.is_unanswered() or self._is_known_to_load(worker)
                for worker, request in requests
            )

        with self._condition:
            self._condition.wait_for(answered, max(0.0, until - time.monotonic()))

    def _check_texts(
        self, files: Sequence[WatchedFile], until: float
    ) -> Iterator[tuple[str, Answer, Change]]:
        for checker in text_checkers.TEXT_CHECKERS:
            own = [file for file in files if file.now is not None and checker.accepts(file.name, file.now)]
            if (
                not own
                or self.settings.servers.get(checker.name, {}).get("off")
                or self._is_covered(checker.replaces, own[0].name)
            ):
                continue
            run = self._find_check(checker, own[0].name)
            if isinstance(run, str):
                self._refused[checker.name] = run
                continue
            checked = [self._check_text(checker.name, run, file, until) for file in own]
            results, changes = zip(*checked, strict=True)
            yield checker.name, min(results, key=_RANK.index), certain(merge(changes))

    def _find_check(self, checker: text_checkers.TextChecker, name: str) -> text_checkers.Check | str:
        location = self._workers.location(name)
        program = checker.program and location.anywhere(checker.program)
        reason = self._guard.refusal(checker.name, (program,)) if program else ""
        return reason or checker.find(location)

    def _check_text(
        self, name: str, run: text_checkers.Check, file: WatchedFile, until: float
    ) -> tuple[Answer, Change]:
        assert file.now is not None
        if name not in file.base:
            before = FileDiagnostics(Answer.COMPLETE)  # of a file that did not exist
            if file.before is not None:
                before = text_checkers.run_check(run, self.context, file.name, file.before, until)
            if before.answer is not Answer.COMPLETE:
                return before.answer, Change()
            file.base[name] = before.items
        after = text_checkers.run_check(run, self.context, file.name, file.now, until)
        if after.answer is not Answer.COMPLETE:
            return after.answer, Change()
        return after.answer, self._record(file, name, compare(file.base[name], after.items))

    def _is_covered(self, names: Iterable[str], file: str) -> bool:
        """Whether a server or checker of these names checks the file."""
        if any(
            worker.name in names and not worker.unusable_reason for worker in self._workers.for_file(file)
        ):
            return True
        others = {checker.name for checker in text_checkers.TEXT_CHECKERS} & set(names) - set(self._refused)
        return any(not self.settings.servers.get(name, {}).get("off") for name in others)

    def _outcome(self, worker: Worker, request: DiagnosticsRequest) -> tuple[str, Answer, Change]:
        """Return a worker's answer and the new problems by it, without files that it has no result for."""
        if not request.results and not request.done:
            return worker.name, Answer.TIMED_OUT, Change()
        results = [answered.answer for answered in request.results.values()]
        missing = MissingPackages(worker.name, self.context, self._files.values())
        changes: list[Change] = []
        for file in (*request.files, *request.others):
            answered = request.results.get(file.name)
            base = file.base.get(worker.name)
            if answered is not None and answered.answer is Answer.COMPLETE and base is not None:
                changes.append(self._record(file, worker.name, compare(base, answered.items, missing)))
            elif answered is not None and answered.answer is Answer.COMPLETE:
                results.append(Answer.TIMED_OUT)  # the problems before are not known
        answer = min(results, key=_RANK.index, default=Answer.COMPLETE)
        return worker.name, answer, certain(merge(changes)) if answer is Answer.COMPLETE else Change()

    def _record(self, file: WatchedFile, tool: str, change: Change) -> Change:
        """Record the new errors for the end of the run, and that this tool was compared."""
        self._reported.compared.add((tool, file.name))
        if file.now is not None:
            text, errors = self._standing.get(file.name, ("", ()))
            others = tuple(problem for problem in errors if problem.tool != tool) if text == file.now else ()
            new = tuple(problem for problem in change.new if problem.severity == "error")
            self._standing[file.name] = file.now, (*others, *new)
        return change

    def _report(
        self,
        outcomes: Sequence[tuple[str, Answer, Change]],
        files: Sequence[WatchedFile],
        began: float,
        *,
        late: bool = False,
        notes: tuple[str, ...] = (),
        loading: tuple[str, ...] = (),
    ) -> Report:
        names = tuple(dict.fromkeys(file.name for file in files))
        change = merge((change for _, _, change in outcomes), names)
        results: dict[str, Answer] = {}
        for name, answer, _ in outcomes:
            results[name] = min(results.get(name, answer), answer, key=_RANK.index)
        return Report(
            tuple(results.items()),
            change,
            self._reported.select_new(change.new),
            waited=0.0 if late else time.monotonic() - began,
            limit=self.settings.wait,
            late=late,
            files=names,
            announcements=tuple(self._announcements(names)),
            notes=notes,
            loading=loading,
            uses=self.uses(),
        )

    def _announcements(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Notes on servers and checkers that are missing or off for these files; each once a run, by a key."""
        missing: dict[str, str] = {}
        off: dict[str, str] = {}
        slow: list[tuple[str, str]] = []
        for name in names:
            for spec in self.servers:
                if spec.language(name):
                    missing.setdefault(spec.name, self._workers.missing_reason(spec, name))
                    off.setdefault(spec.name, self._workers.off_reason(spec, name))
                    slow += [(spec.name, name)] if self._workers.skips(spec, name) else []
            for checker in text_checkers.TEXT_CHECKERS:
                if checker.accepts(name, self._files[name].now or ""):
                    missing.setdefault(checker.name, self._refused.get(checker.name, ""))
        for name in sorted(missing):
            if missing[name] and self._is_new(f"missing {name}"):
                yield f"missing {name}", f"{name} is not available: {missing[name]}"
            elif off.get(name) and self._is_new(f"off {name}"):
                yield f"off {name}", f"{name} is off for the rest of the run: {off[name]}"
        for name, path in slow:
            if not off.get(name) and self._is_new(
                key := f"slow {name} {crc32(path.encode('utf-8', 'surrogatepass')):08x}"
            ):
                yield (
                    key,
                    f"{name} takes too long over {display_path(path)}, and is not asked about it any more",
                )

    def _is_new(self, key: str) -> bool:
        new = key not in self._announced
        self._announced.add(key)
        return new
