"""Compare the problems of a file with those before the agent's first change, as multisets: line numbers do not count,
since an edit moves those below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from bot.contracts.evidence import Problem, Severity

_LINE = re.compile(r"\b(lines?|columns?) \d+(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """Of one or more files. `remaining` counts old problems that are left."""

    new: tuple[Problem, ...] = ()
    fixed: int = 0
    remaining: int = 0


def compare(before: Sequence[Problem], now: Sequence[Problem]) -> Change:
    """Compare the problems of one file by one tool."""
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
    fixed = sum(remaining.values())
    return Change(tuple(new), fixed, len(before) - fixed)


def merge(changes: Iterable[Change], first: Collection[str] = ()) -> Change:
    """Merge changes: errors first, those of the files `first` before others, then by file and line, each once. What two
    tools report at one position is the first one's."""
    all_changes = list(changes)
    tools: dict[Hashable, str] = {}
    new = {
        (p.tool, p.path, p.line, p.code, p.message): p
        for one in all_changes
        for p in one.new
        if tools.setdefault((p.path, p.line, p.column), p.tool) == p.tool
    }
    ordered = sorted(
        new.values(),
        key=lambda p: (p.severity != Severity.ERROR, p.path not in first, p.path, p.line, p.column),
    )
    fixed, remaining = sum(one.fixed for one in all_changes), sum(one.remaining for one in all_changes)
    return Change(tuple(ordered), fixed, remaining)


def certain(change: Change) -> Change:
    """For one tool: a new error may hide old problems, so nothing counts as fixed beside one."""
    return replace(change, fixed=0) if any(p.severity is Severity.ERROR for p in change.new) else change


def _identity(problem: Problem) -> tuple[Hashable, ...]:
    message = _LINE.sub(r"\1", problem.message)
    return (problem.tool, problem.severity, problem.code, message, problem.snippet.strip())
