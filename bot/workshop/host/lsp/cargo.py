"""`cargo check` in the place of a language server for Rust: it looks at the whole project as it is on disk, and ends.

What it found before the agent's first change is kept of all files; a run that a change overtakes is done again, and so
is the first one then, over the commit that the run began with.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bot.contracts.plain_text import printable
from bot.contracts.problems import Answer, Problem, ServerUse, Severity
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.context import Context
from bot.workshop.host.lsp.programs import Answered
from bot.workshop.host.programs import run_program

_LOCK = "Cargo.lock"
_LONGEST = 300.0
"""Seconds of one run."""

_CAP = 16 << 20
_MOST = 1000
_Found = dict[str, tuple[Problem, ...]]
_LEVELS = {"error": Severity.ERROR, "warning": Severity.WARNING}


class Cargo:
    """As `servers.Server`, for a lane. `argv` is the program with what comes before `check`; `folder` holds the
    Cargo.lock; `why_not` is asked before each run; `export` writes out the commit that the run began with."""

    def __init__(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        context: Context,
        folder: Path,
        why_not: Callable[[], str],
        export: Callable[[Path], bool],
    ) -> None:
        self.name = "cargo"
        self.version = ""
        self.off = ""
        self._argv = [*argv, "check", "--quiet", "--message-format=json", "--offline", "--locked"]
        self._environment = environment
        self._context = context
        self._folder = folder
        self._why_not = why_not
        self._export = export
        self._cancelled = Cancellation()
        self._texts: dict[str, str] = {}
        self._news = threading.Condition()
        self._wanted = self._done = 0
        self._found: _Found = {}
        self._first: _Found | None = None
        self._owed: set[str] = set()
        self._asked = 0
        self._waited = self._first_answer = 0.0
        self._began = time.monotonic()
        threading.Thread(target=self._work, name="cargo check", daemon=True).start()

    @property
    def loading(self) -> bool:
        return False

    def open(self, path: str, text: str, language_id: str) -> None:
        self._texts[path] = text

    def change(self, path: str, text: str) -> None:
        self._texts[path] = text

    def saved(self, path: str) -> None:
        """What counts is what is `touched`."""

    def close_file(self, path: str) -> None:
        self._texts.pop(path, None)

    def touched(self, changes: Mapping[str, str]) -> None:
        with self._news:
            self._wanted += 1
            self._news.notify_all()

    def diagnostics(self, paths: Iterable[str], seconds: float) -> dict[str, Answered]:
        asked = list(paths)
        began = time.monotonic()
        with self._news:
            self._wanted = max(self._wanted, 1)
            self._news.notify_all()
            self._news.wait_for(lambda: self.off or self._done == self._wanted, max(0.0, seconds))
            self._asked += len(asked)
            self._waited += time.monotonic() - began
            if self._done != self._wanted and not self.off:
                self._owed.update(asked)
            return {path: self._answer(path) for path in asked}

    def late(self) -> dict[str, Answered]:
        with self._news:
            if self.off or self._done != self._wanted:
                return {}
            owed, self._owed = self._owed, set()
            return {path: self._answer(path) for path in owed}

    def memory(self) -> int:
        return 0  # it runs for a moment, within the limits of every command

    def use(self) -> ServerUse:
        return ServerUse(self.name, self.version, self._first_answer, self._asked, self._waited, 0, self.off)

    def stop(self) -> None:
        with self._news:
            self.off = self.off or "stopped"
            self._cancelled.set()
            self._news.notify_all()

    def _answer(self, path: str) -> Answered:
        if self.off:
            return Answered(Answer.UNAVAILABLE, note=self.off)
        if self._done != self._wanted:
            return Answered(Answer.TIMED_OUT)
        if self._texts.get(path) == _on_disk(Path(self._context.real_root) / path):
            return Answered(Answer.COMPLETE, self._found.get(path, ()))
        # Asked about a text before a change that is on disk already.
        if self._first is None:
            return Answered(Answer.UNAVAILABLE, note="nobody looked before the first change")
        return Answered(Answer.COMPLETE, self._first.get(path, ()))

    def _work(self) -> None:
        while (number := self._next()) is not None:
            before = dict(self._texts)
            found = self._check(self._folder)
            first: _Found | str | None = self._first
            if first is None and not isinstance(found, str):
                first = found if number == 1 and self._untouched(before) else self._check_base()
            with self._news:
                if isinstance(found, str) or isinstance(first, str):
                    self.off = self.off or next(one for one in (found, first) if isinstance(one, str))
                else:
                    self._first = first
                    if number == self._wanted:
                        self._found, self._done = found, number
                        self._first_answer = self._first_answer or time.monotonic() - self._began
                self._news.notify_all()

    def _next(self) -> int | None:
        """Waits for something to look at; `None` at the end."""
        with self._news:
            self._news.wait_for(lambda: self.off or self._done != self._wanted)
            return None if self.off else self._wanted

    def _untouched(self, before: Mapping[str, str]) -> bool:
        """Whether a first run saw all files as they were."""
        root = Path(self._context.real_root)
        return self._wanted == 1 and all(_on_disk(root / path) == text for path, text in before.items())

    def _check_base(self) -> _Found | str:
        folder = self._context.tmp / "cargo-base"
        if not self._export(folder):
            return "a file was changed before it had looked at the project"
        project = folder / self._folder.relative_to(self._context.real_root)
        if not os.path.exists(project / _LOCK) and (lock := _on_disk(self._folder / _LOCK)):
            project.mkdir(parents=True, exist_ok=True)
            (project / _LOCK).write_text(lock)  # one that git does not know
        return self._check(project)

    def _check(self, folder: Path) -> _Found | str:
        if why := self._why_not():
            return why
        try:
            done = run_program(
                self._argv,
                cwd=folder,
                environment=self._environment,
                timeout=_LONGEST,
                cap=_CAP,
                cancelled=self._cancelled,
                start=self._context.keepers.start_beside,
            )
        except OSError as error:
            return f"it could not be run: {error.strerror}"
        if done.timed_out:
            return f"it took more than {_LONGEST:g} s"
        found = _problems(done.output, self._folder.relative_to(self._context.real_root))
        if done.exit_code != 0 and not any(found.values()):
            words = [
                line for line in printable(done.errors.decode("utf-8", "replace")).split("\n") if line.strip()
            ]
            return f"it could not check the project: {words[0][:200] if words else 'it said nothing'}"
        return found


def _problems(output: bytes, folder: Path) -> _Found:
    found: dict[str, list[Problem]] = {}
    count = 0
    for line in output.splitlines():
        try:
            said = json.loads(line)
            problem = _problem(said["message"], folder) if said["reason"] == "compiler-message" else None
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            continue  # what a build script prints comes along
        if problem is not None and count < _MOST:
            count += 1
            found.setdefault(problem.path, []).append(problem)
    return {
        path: tuple(sorted(set(some), key=lambda one: (one.line, one.column))) for path, some in found.items()
    }


def _problem(message: Mapping[str, Any], folder: Path) -> Problem | None:
    severity = _LEVELS.get(message["level"])
    span = next((one for one in message["spans"] if one["is_primary"]), None)
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


def _on_disk(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
