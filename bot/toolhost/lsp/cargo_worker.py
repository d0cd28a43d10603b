"""The thread that runs `cargo check` for a project."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bot.contracts.evidence import Answer, ServerUse
from bot.toolhost.lsp.cargo import CargoCheck, ProblemsByFile, read_text
from bot.toolhost.lsp.launch import Launcher
from bot.toolhost.lsp.process import FileDiagnostics
from bot.toolhost.lsp.registry import ServerSpec
from bot.toolhost.lsp.workers import DiagnosticsRequest, WatchedFile, Worker


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
