"""Add the diagnostics of a call's changes to its result. A failure in here costs nothing but the diagnostics."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from bot.contracts.checkers import CHECKED_SUFFIXES
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost import files
from bot.toolhost.context import Context
from bot.toolhost.lsp.launch import Settings
from bot.toolhost.lsp.report import Report, record, text
from bot.toolhost.lsp.service import DiagnosticsService
from bot.toolhost.scan import Scanner
from bot.toolhost.text import NotTextError, decode

_VIEW = "view"
_EDITS = ("edit", "write", "patch")
_SHELL = ("bash", "bash_output", "bash_kill")

_LARGEST = 1 << 20
"""Bytes over which a file is not checked: such files are generated."""


class Diagnosing:
    """One for each tool host. Used by the thread that runs tools only."""

    def __init__(self, context: Context, scanner: Scanner, options: Mapping[str, Any]) -> None:
        """`options` are those of the start message: `wait`, `servers`, `said`, which programs may be started
        (`only_ours`, `refused`, `since`), and `again` where a host before this one worked on the tree."""
        self._context = context
        self._scanner = scanner
        self._again = bool(options.get("again"))
        settings = Settings(
            options["wait"],
            options.get("servers", {}),
            frozenset(options.get("said", ())),
            options.get("only_ours", ""),
            options.get("refused", {}),
            options.get("since", time.time_ns()),
        )
        self._service = DiagnosticsService(context, settings, self._before, self._now, scanner.base_content)
        self._pending: dict[str, None] = {}
        self._moved: dict[str, str] = {}
        self._broken = ""
        self._reported_broken = False
        self._waited = 0.0

    def before(self, tool: str) -> None:
        """Prepare for an edit: the problems of files that were read must be known before it. Starts nothing."""
        began = time.monotonic()
        if tool in _EDITS and self._service.reads_any and not self._broken:
            self._service.settle(began + self._service.settings.wait)
        self._waited = time.monotonic() - began

    def after(self, tool: str, outcome: ToolOutcome, *, more_edits: bool = False) -> ToolOutcome:
        """The result with the diagnostics, if a file of interest changed; otherwise unchanged. With `more_edits`
        they come with a later result: half of a change has errors that the rest fixes."""
        if self._context.cancelled.is_set():
            return outcome
        report: Report | None = None
        if not self._broken:
            try:
                report = self._diagnose(tool, outcome, more_edits=more_edits)
            except Exception as error:  # noqa: BLE001 - a bug in here must not cost the edit's result
                self._broken = _why(error)
        if self._broken and not self._reported_broken:
            self._reported_broken = True
            note = f"Diagnostics are off for the rest of the run: {self._broken}"
            return outcome._replace(content=f"{outcome.content}\n{note}")
        return outcome if report is None else self._with(outcome, report)

    def changed_meanwhile(self, names: Sequence[str]) -> None:
        """Record files that changed without a report by a call; they are checked with the next result."""
        self._pending.update(dict.fromkeys(names))

    def _diagnose(self, tool: str, outcome: ToolOutcome, *, more_edits: bool) -> Report | None:
        if tool == _VIEW and not outcome.is_error:
            self._read(str(outcome.metadata.get("path", "")))
        names, moved = _edited(tool, outcome.metadata)
        self._moved |= moved
        if more_edits and tool in _EDITS:
            self.changed_meanwhile(names)
            return None
        if tool in _SHELL and self._service.reads_any:
            self._context.busy()
            # Before the first read, a command's changes are reported with the next result, after the scan.
            names = self._scanner.touched(is_checked)
        if self._pending:
            names = list(dict.fromkeys((*self._pending, *names)))
            self._pending.clear()
        moved, self._moved = self._moved, {}
        names = [name for name in names if is_checked(name)]
        if not names:
            return None
        self._context.busy()
        # One limit for both waits, before and after the edit.
        return self._service.changed(names, moved, time.monotonic() - self._waited)

    def _read(self, name: str) -> None:
        if is_checked(name) and (now := self._now(name)) is not None:
            before = self._before(name) if self._again else now
            if before is not None:
                self._service.read(name, before)

    def _with(self, outcome: ToolOutcome, report: Report) -> ToolOutcome:
        note = text(report)
        content = f"{outcome.content}\n{note}" if note else outcome.content
        return outcome._replace(content=content, metadata={**outcome.metadata, "diagnostics": record(report)})

    def _now(self, name: str) -> str | None:
        try:
            with files.opened(self._context, self._context.root / name, name) as (fd, status):
                if status.st_size > _LARGEST:
                    return None
                return decode(files.read_all(fd, name)).content
        except (ToolFailure, NotTextError):
            return None

    def _before(self, name: str) -> str | None:
        """The text before the first change by a tool; else the text in the commit that the run began with."""
        history = self._context.history
        versions = history.versions(name)
        data: bytes | None = None
        if versions:
            try:
                data = history.content(versions[0])
            except LookupError:
                return None
        else:
            data = self._scanner.base_content(name)
        try:
            return None if data is None or len(data) > _LARGEST else decode(data).content
        except NotTextError:
            return None


def is_checked(name: str) -> bool:
    """Whether a server takes a file of this name."""
    return os.path.splitext(name)[1].lower() in CHECKED_SUFFIXES


def _edited(tool: str, metadata: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """The files that an edit changed, and the old names of those that it moved."""
    if tool not in _EDITS:
        return [], {}
    several = metadata.get("files")
    changed = [one for one in (several if isinstance(several, list) else [metadata]) if "after_hash" in one]
    moved = {str(one["path"]): str(one["moved_from"]) for one in changed if "moved_from" in one}
    return [str(one["path"]) for one in changed], moved


def _why(error: Exception) -> str:
    """The error for the model: the system's message, and for a bug of ours its location."""
    if isinstance(error, OSError) and error.strerror:
        return f"the system refuses what they need ({error.strerror})"
    last = traceback.extract_tb(error.__traceback__)[-1]
    position = f"{os.path.basename(last.filename)}:{last.lineno}"
    return f"a fault in the program itself ({type(error).__name__} in {position})"
