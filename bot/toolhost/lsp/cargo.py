"""`cargo check` as a checker of Rust: one run over the whole project as it is on disk, or over the base commit, on a
thread of its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.contracts.evidence import Answer, Problem, ServerUse, Severity
from bot.contracts.plain_text import printable
from bot.toolhost.context import Context
from bot.toolhost.lsp.launch import Launcher
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import ServerSpec
from bot.toolhost.lsp.workers import DiagnosticsRequest, WatchedFile, Worker
from bot.toolhost.programs import Cancellation, run_program

_LOCK = "Cargo.lock"
_TIMEOUT = 300.0
"""Seconds of one run."""

_MAX_OUTPUT = 16 << 20
_MAX_PROBLEMS = 1000
_LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING}

ProblemsByFile = dict[str, tuple[Problem, ...]]


class CargoCheck:
    """`argv` is the program with what comes before `check`; `folder` holds the Cargo.lock; `refusal` is called before
    each run; `export` writes the base commit to a folder. `cancel` ends a run from any thread."""

    def __init__(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        context: Context,
        folder: Path,
        *,
        refusal: Callable[[], str],
        export: Callable[[Path], bool],
    ) -> None:
        self._argv = [*argv, "check", "--quiet", "--message-format=json", "--offline", "--locked"]
        self._environment = environment
        self._context = context
        self._folder = folder
        self._refusal = refusal
        self._export = export
        self._cancelled = Cancellation()

    def cancel(self) -> None:
        self._cancelled.set()

    def run(self) -> ProblemsByFile | str:
        """The problems by path relative to the root; else why the project cannot be checked."""
        return self._check(self._folder)

    def run_on_base(self) -> ProblemsByFile | str:
        folder = self._context.tmp / "cargo-base"
        if not self._export(folder):
            return "a file was changed before it had looked at the project"
        project = folder / self._folder.relative_to(self._context.real_root)
        if not os.path.exists(project / _LOCK) and (lock := read_text(self._folder / _LOCK)):
            project.mkdir(parents=True, exist_ok=True)
            (project / _LOCK).write_text(lock)  # one that is not in git
        return self._check(project)

    def _check(self, folder: Path) -> ProblemsByFile | str:
        if reason := self._refusal():
            return reason
        try:
            result = run_program(
                self._argv,
                cwd=folder,
                environment=self._environment,
                timeout=_TIMEOUT,
                cap=_MAX_OUTPUT,
                cancelled=self._cancelled,
                start=self._context.monitor.start_beside,
            )
        except OSError as error:
            return f"it could not be run: {error.strerror}"
        if result.timed_out:
            return f"it took more than {_TIMEOUT:g} s"
        problems = _parse(result.output, self._folder.relative_to(self._context.real_root))
        if result.exit_code != 0 and not any(problems.values()):
            stderr = printable(result.errors.decode("utf-8", "replace"))
            lines = [line for line in stderr.split("\n") if line.strip()]
            return f"it could not check the project: {lines[0][:200] if lines else 'it said nothing'}"
        return problems


def read_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None


def _parse(output: bytes, folder: Path) -> ProblemsByFile:
    problems: dict[str, list[Problem]] = {}
    count = 0
    for line in output.splitlines():
        try:
            event = json.loads(line)
            problem = _problem(event["message"], folder) if event["reason"] == "compiler-message" else None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            continue  # output of a build script
        if problem is not None and count < _MAX_PROBLEMS:
            count += 1
            problems.setdefault(problem.path, []).append(problem)
    return {
        path: tuple(sorted(set(some), key=lambda problem: (problem.line, problem.column)))
        for path, some in problems.items()
    }


def _problem(message: Mapping[str, Any], folder: Path) -> Problem | None:
    severity = _LEVELS.get(message["level"])
    span = next((span for span in message["spans"] if span["is_primary"]), None)
    if severity is None or span is None:
        return None
    code = message["code"]
    text = span["text"][0]["text"] if span["text"] else ""
    return Problem(
        "cargo",
        str(folder / str(span["file_name"])),
        int(span["line_start"]),
        int(span["column_start"]),
        severity,
        str(code["code"]) if code else "",
        printable(str(message["message"])).partition("\n")[0][:1000],
        snippet=printable(str(text))[:300],
    )


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
        launcher = self._launcher
        environment = launcher.probe()
        if isinstance(environment, str):
            return environment
        self._cargo = CargoCheck(
            launcher.command.argv,
            environment,
            launcher.context,
            launcher.command.root or self._root,
            refusal=launcher.refusal,
            export=launcher.guard.base.export,
        )
        self._began = time.monotonic()
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
