"""Detect setup and checks of a repository from CI, manifests and tool configurations: those of the root and of each
project folder below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from typing import Any

from bot.environment.detection import Detection, Read
from bot.environment.project import ProjectDetection
from bot.environment.workflows import Workflows, read_workflows
from bot.parsing.parser import Parser

_LARGEST = 400_000


def detect(paths: Collection[str], text: Callable[[str], str | None]) -> Detection:
    """Detect setup and checks from the files of one commit. `paths` are all files, relative to the root; `text` returns
    the text of one. Nothing is run. Text of the repository is used only in commands and their sources."""
    with Parser() as parser:
        return _detected(frozenset(paths), text, parser)


def _detected(names: frozenset[str], text: Callable[[str], str | None], parser: Parser) -> Detection:

    @cache
    def bounded(path: str) -> str | None:
        content = text(path) if path in names else None
        return content if content is not None and len(content) <= _LARGEST else None

    read = Read(bounded, parser)
    workflows = read_workflows(names, read)
    folders = _project_folders(names, workflows)
    detected = []
    for folder in ("", *folders):
        prefix = f"{folder}/" if folder else ""
        own_paths = frozenset(
            path.removeprefix(prefix)
            for path in names
            if path.startswith(prefix) and (folder or _top(path) not in folders)
        )
        detection = ProjectDetection(own_paths, read.below(folder), workflows, folder, folders)
        detected.append(_with_folder(folder, detection.result()))

    def all_of(name: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(item for part in detected for item in getattr(part, name)))

    return Detection(
        all_of("setup"),
        all_of("bring"),
        all_of("checks"),
        all_of("omissions"),
        tuple(read.unread.values()),
        next((part.history for part in detected if part.history), ""),
    )


_MANIFESTS = ("package.json", "pyproject.toml", "setup.py", "go.mod", "Cargo.toml", "pom.xml")
_FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")  # a folder's name gets into a command
_MOST_FOLDERS = 6
_NO_PROJECT = re.compile(
    r"(?i)(test|example|fixture|sample|doc|bench|fuzz|demo|script|tool|third_?party|vendor)"
)


def files_read(paths: Collection[str]) -> list[str]:
    """Return the files that detection may read, for callers that fetch them all at once."""
    named = {
        *_MANIFESTS,
        "tox.ini",
        "setup.cfg",
        "noxfile.py",
        "tox.toml",
        "hatch.toml",
        "CMakeLists.txt",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "pnpm-lock.yaml",
        "requirements.txt",
        "requirements-dev.txt",
        "action.yml",
        "action.yaml",
        "devcontainer.json",
        ".devcontainer.json",
    }
    return [
        path
        for path in paths
        if (path.count("/") <= 1 and path.rpartition("/")[2] in named) or path.startswith(".github/")
    ][:300]


def _top(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def _project_folders(names: frozenset[str], workflows: Workflows) -> tuple[str, ...]:
    """Return folders below the root with a manifest that CI uses or whose kind the root does not have."""
    ci_folders = {script.folder for job in workflows.jobs for script in job.scripts}
    folders = {
        folder
        for folder, _, name in (path.partition("/") for path in names)
        if name in _MANIFESTS
        and _FOLDER.fullmatch(folder)
        and (folder in ci_folders or not (name in names or _NO_PROJECT.match(folder)))
    }
    return tuple(sorted(folders)[:_MOST_FOLDERS])


def _with_folder(folder: str, detected: Detection) -> Detection:
    if not folder:
        return detected
    return Detection(
        tuple(
            replace(
                item,
                command=f"cd {folder} && {item.command}",
                makes=f"{folder}/{item.makes}" if item.makes else "",
            )
            for item in detected.setup
        ),
        tuple(f"{folder}/{item}" for item in detected.bring),
        tuple(
            replace(
                item,
                name=f"{folder}: {item.name}",
                command=f"cd {folder} && {item.command}",
                plain=f"cd {folder} && {item.plain}",
            )
            for item in detected.checks
        ),
        detected.omissions,
        history=detected.history,
    )
