"""Compare the problems of a file with those before the agent's first change, as multisets: line numbers do not count,
since an edit moves those below it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from bot.contracts.evidence import Problem
from bot.toolhost.context import Context

_LINE = re.compile(r"\b(lines?|columns?) \d+(:\d+)?", re.IGNORECASE)
_QUOTED = re.compile(r"[`'\"‘“]([^`'\"’”\n]{1,200})[`'\"’”]")
_PATH = re.compile(r"could not import (\S{1,200})")
_IMPORT_CODES = frozenset(
    {"unresolved-import", "2307", "7016", "import-not-found", "reportMissingImports", "BrokenImport"}
)
_SYNTAX = frozenset({"invalid-syntax", "syntax-error", "E999"})
_UNDEFINED = {"F821": "unresolved-reference"}


@dataclass(frozen=True, slots=True)
class Change:
    """Of one or more files. `remaining` counts old problems that are left; `environment` new ones that come only from
    a package that is not installed."""

    new: tuple[Problem, ...] = ()
    fixed: int = 0
    remaining: int = 0
    environment: int = 0


def compare(before: Sequence[Problem], now: Sequence[Problem], missing: Collection[str] = ()) -> Change:
    """Compare the problems of one file by one tool. `missing` are the modules that are known not to be installed."""
    unmatched = Counter(map(_identity, before))
    unmatched_now: list[Problem] = []
    for problem in now:
        if unmatched[key := _identity(problem)]:
            unmatched[key] -= 1
        else:
            unmatched_now.append(problem)
    # Then without the quoted line: an edit of that line makes no new problem.
    remaining = Counter(key[:-1] for key in unmatched.elements())
    new: list[Problem] = []
    for problem in unmatched_now:
        if remaining[identity := _identity(problem)[:-1]]:
            remaining[identity] -= 1
        else:
            new.append(problem)
    counted = [problem for problem in new if not module_of(problem) or module_of(problem) not in missing]
    fixed = sum(remaining.values())
    return Change(tuple(counted), fixed, len(before) - fixed, len(new) - len(counted))


def merge(changes: Iterable[Change], first: Collection[str] = ()) -> Change:
    """Merge changes: errors first, those of the files `first` before others, then by file and line, without
    duplicates."""
    all_changes = list(changes)
    new = sorted(
        _without_duplicates([problem for change in all_changes for problem in change.new]),
        key=lambda p: (p.severity != "error", p.path not in first, p.path, p.line, p.column),
    )
    return Change(
        tuple(new),
        sum(change.fixed for change in all_changes),
        sum(change.remaining for change in all_changes),
        sum(change.environment for change in all_changes),
    )


def certain(change: Change) -> Change:
    """For one tool: a new error may hide old problems, so nothing counts as fixed beside one."""
    return replace(change, fixed=0) if any(problem.severity == "error" for problem in change.new) else change


def module_of(problem: Problem) -> str:
    """The top-level package of an unresolved import; empty for another problem and for a relative import."""
    if problem.code not in _IMPORT_CODES:
        return ""
    match = _QUOTED.search(problem.message) or _PATH.search(problem.message)
    name = match[1] if match else ""
    if not name or name.startswith("."):
        return ""
    if problem.tool in ("ty", "pyright", "mypy"):
        return name.partition(".")[0]
    scope = 2 if name.startswith("@") else 1
    return "/".join(name.split("/")[:scope])


def _without_duplicates(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Without repetitions on a line, and without syntax errors and undefined names of ruff that ty reports too."""
    by_ty = {(p.path, p.line, _kind(p)) for p in problems if p.tool == "ty"}
    seen: set[Hashable] = set()
    for problem in problems:
        kind = _kind(problem) if problem.tool == "ruff" else ""
        position = (problem.path, problem.line)
        key = (*position, problem.tool, problem.severity, problem.code, problem.message)
        if (kind and (*position, kind) in by_ty) or key in seen:
            continue
        seen.add(key)
        yield problem


def _kind(problem: Problem) -> str:
    if problem.code in _SYNTAX:
        return "syntax"
    return _UNDEFINED.get(problem.code, problem.code if problem.code in _UNDEFINED.values() else "")


def _identity(problem: Problem) -> tuple[Hashable, ...]:
    message = _LINE.sub(r"\1", problem.message)
    return (problem.tool, problem.severity, problem.code, message, problem.snippet.strip())


_MODULE_SUFFIXES = ("", ".py", ".pyi", ".ts", ".tsx", ".js")


class MissingPackages(Collection[str]):
    """For one tool: packages that were not found before the change, by the problems `before`, and, without an installed
    environment, every package that is not in the tree. A failed import of one is not blamed on the change. `files` are
    the names of files that the tool looks at."""

    def __init__(self, tool: str, context: Context, files: Iterable[str], before: Iterable[Problem]) -> None:
        self._known = set(filter(None, map(module_of, before)))
        parents = {str(folder) for name in files for folder in PurePosixPath(name).parents}
        self._no_environment = tool in ("ty", "typescript") and not _has_environment(tool, context, parents)
        self._folders = [context.root / name for name in {"src", "lib", *parents}]

    def __contains__(self, module: object) -> bool:
        return module in self._known or (
            self._no_environment and isinstance(module, str) and not self._is_in_tree(module)
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _is_in_tree(self, module: str) -> bool:
        paths = (folder / f"{module}{suffix}" for folder in self._folders for suffix in _MODULE_SUFFIXES)
        return any(map(os.path.exists, paths))


def _has_environment(tool: str, context: Context, folders: Iterable[str]) -> bool:
    if tool == "typescript":
        return any(os.path.isdir(context.root / folder / "node_modules") for folder in folders)
    if context.environment.get("VIRTUAL_ENV"):
        return True
    paths = (context.root / folder / name for folder in folders for name in (".venv", "venv"))
    return any(os.path.isfile(path / "pyvenv.cfg") for path in paths)
