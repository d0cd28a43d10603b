"""What a language server is started with, and what comes of asking it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.contracts.problems import Answer, Problem
from bot.workshop.host.lsp import processes
from bot.workshop.host.lsp.bounds import Bounds, Pauses
from bot.workshop.host.lsp.frames import Frames, Talk


@dataclass(frozen=True, slots=True)
class Program:
    """A server that can be started. Paths are relative to `root`; `project` is the folder that it works on, `root`
    where none is said. `environment` is the whole of it. `settings` answer `workspace/configuration` by their dotted
    names, `options` go with `initialize`. `talk` puts messages in its words, each of so many bytes at most. `spawn` may
    be replaced by one that lets others know of the process; it raises `OSError`."""

    name: str
    argv: tuple[str, ...]
    root: Path
    environment: Mapping[str, str]
    settings: Mapping[str, object] = field(default_factory=dict)
    options: object = None
    pauses: Pauses = field(default_factory=Pauses)
    bounds: Bounds = field(default_factory=Bounds)
    project: Path | None = None
    talk: Callable[[int], Talk] = Frames
    spawn: Callable[[Program], subprocess.Popen[bytes]] = field(
        default=lambda program: processes.spawn(program.argv, program.folder, program.environment)
    )

    @property
    def folder(self) -> Path:
        return self.project or self.root


@dataclass(frozen=True, slots=True)
class Answered:
    """What a server said of one file. `items` are its errors and warnings in the order of lines, none unless the answer
    is complete; `dropped` counts those beyond the most that is kept. `note` says why an answer is not complete, or what
    makes a complete one doubtful."""

    answer: Answer
    items: tuple[Problem, ...] = ()
    note: str = ""
    dropped: int = 0
