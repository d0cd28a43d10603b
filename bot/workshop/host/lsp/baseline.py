"""What is new in a file since the agent began: its problems now against those before, as a multiset and never by line,
since an edit above moves them all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from bot.contracts.problems import Problem

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
    """Of one or more files. `remaining` counts those that were there before and are; `environment` those that are new
    only because a package is not installed here."""

    new: tuple[Problem, ...] = ()
    fixed: int = 0
    remaining: int = 0
    environment: int = 0


def compare(before: Sequence[Problem], now: Sequence[Problem], missing: Collection[str] = ()) -> Change:
    """Of one file and one tool. `missing` are the modules that are known to be not installed."""
    unmatched = Counter(map(_exactly, before))
    second_look: list[Problem] = []
    for problem in now:
        if unmatched[key := _exactly(problem)]:
            unmatched[key] -= 1
        else:
            second_look.append(problem)
    # Then without the line it stands on: an edit of that line is no new problem.
    left = Counter(key[:-1] for key in unmatched.elements())
    new: list[Problem] = []
    for problem in second_look:
        if left[loose := _exactly(problem)[:-1]]:
            left[loose] -= 1
        else:
            new.append(problem)
    counted = [problem for problem in new if not module_of(problem) or module_of(problem) not in missing]
    fixed = sum(left.values())
    return Change(tuple(counted), fixed, len(before) - fixed, len(new) - len(counted))


def together(changes: Iterable[Change], first: Collection[str] = ()) -> Change:
    """Errors first, those of the files `first` before the others', then by file and line; what is said of one line more
    than once, by one tool or two, is said once."""
    all_of_them = list(changes)
    new = sorted(
        _once([problem for change in all_of_them for problem in change.new]),
        key=lambda p: (p.severity != "error", p.path not in first, p.path, p.line, p.column),
    )
    return Change(
        tuple(new),
        sum(change.fixed for change in all_of_them),
        sum(change.remaining for change in all_of_them),
        sum(change.environment for change in all_of_them),
    )


def certain(change: Change) -> Change:
    """Of one tool: where an error is new, what is gone may only be hidden by it, and does not count as fixed."""
    return replace(change, fixed=0) if any(problem.severity == "error" for problem in change.new) else change


def module_of(problem: Problem) -> str:
    """The package that an import did not find, by its first name; empty for another problem, and for a relative
    import, which is nobody's package."""
    if problem.code not in _IMPORT_CODES:
        return ""
    found = _QUOTED.search(problem.message) or _PATH.search(problem.message)
    name = found[1] if found else ""
    if not name or name.startswith("."):
        return ""
    if problem.tool in ("ty", "pyright", "mypy"):
        return name.partition(".")[0]
    scope = 2 if name.startswith("@") else 1
    return "/".join(name.split("/")[:scope])


def missing_modules(problems: Iterable[Problem]) -> Iterator[str]:
    return (name for problem in problems if (name := module_of(problem)))


def _once(problems: Sequence[Problem]) -> Iterator[Problem]:
    """What does not parse, and what name is unknown, both checkers of Python say; and of a name it is said each time
    that it stands on a line."""
    by_ty = {(p.path, p.line, _kind(p)) for p in problems if p.tool == "ty"}
    said: set[Hashable] = set()
    for problem in problems:
        kind = _kind(problem) if problem.tool == "ruff" else ""
        place = (problem.path, problem.line)
        what = (*place, problem.tool, problem.severity, problem.code, problem.message)
        if (kind and (*place, kind) in by_ty) or what in said:
            continue
        said.add(what)
        yield problem


def _kind(problem: Problem) -> str:
    if problem.code in _SYNTAX:
        return "syntax"
    return _UNDEFINED.get(problem.code, problem.code if problem.code in _UNDEFINED.values() else "")


def _exactly(problem: Problem) -> tuple[Hashable, ...]:
    message = _LINE.sub(r"\1", problem.message)
    return (problem.tool, problem.severity, problem.code, message, problem.snippet.strip())
