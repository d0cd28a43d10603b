"""Which problems are new, and the text of them for the model. It quotes the repository: each line without control
characters, at most `MAX_SHOWN` problems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.contracts.evidence import Answer, Problem, ServerUse, Severity
from bot.contracts.plain_text import printable_name

MAX_SHOWN = 10
_LINE = re.compile(r"\b(lines?|columns?) \d+(:\d+)?", re.IGNORECASE)


def new_problems(before: Sequence[Problem], now: Sequence[Problem]) -> list[Problem]:
    """The problems of one file by one tool that were not there before. They are matched as multisets, not by line
    numbers, since an edit moves those below it: first those on equal lines, then the others, since an edit of a line
    makes no new problem of an old one in it."""
    new, unmatched = list(now), Counter(map(_identity, before))
    for end in (None, -1):
        unmatched = Counter(key[:end] for key in unmatched.elements())
        candidates, new = new, []
        for problem in candidates:
            if unmatched[key := _identity(problem)[:end]]:
                unmatched[key] -= 1
            else:
                new.append(problem)
    return new


def in_order(problems: Iterable[Problem], first: Collection[str] = ()) -> list[Problem]:
    """Errors first, those of the files `first` before others, then by file and line, each once. What two tools report
    at one position is the first one's."""
    tools: dict[Hashable, str] = {}
    each = {
        (p.tool, p.path, p.line, p.code, p.message): p
        for p in problems
        if tools.setdefault((p.path, p.line, p.column), p.tool) == p.tool
    }
    return sorted(
        each.values(),
        key=lambda p: (p.severity != Severity.ERROR, p.path not in first, p.path, p.line, p.column),
    )


@dataclass(frozen=True, slots=True)
class Report:
    """`tools` has the answer of each server, `new` are the new problems of all files with results, `unreported` those
    that were not reported before. `limit` is the longest wait in seconds. `notes` are sentences on servers that are
    not available, `uses` are the servers of the run, `late` those that were in time before."""

    tools: Sequence[tuple[str, Answer]]
    new: Sequence[Problem]
    unreported: Sequence[Problem] = ()
    limit: float = 0.0
    notes: Sequence[str] = ()
    uses: Sequence[ServerUse] = ()
    late: Sequence[str] = ()

    def text(self) -> str:
        """The text for the model, with a line for each note; empty without a finding and a note."""
        return "\n".join([*self._findings(), *(f"Diagnostics: {note}" for note in self.notes)])

    def record(self) -> dict[str, Any]:
        """The same for the metadata of the tool result."""
        return {
            "tools": [[name, answer.value] for name, answer in self.tools],
            "new": [one._asdict() for one in self.new[:MAX_SHOWN]],
            "new_count": len(self.new),
            "note": " ".join(self.notes)[:1000],
            "servers": [one._asdict() for one in self.uses],
        }

    def _findings(self) -> Iterator[str]:
        names = ", ".join(name for name, answer in self.tools if answer is Answer.COMPLETE)
        late = ", ".join(self.late)
        unknown = f"{late} did not answer in {self.limit:.3g} s; state unknown" if late else ""
        if not names:
            yield from filter(None, [unknown and f"Diagnostics: {unknown}"])
        elif not self.new:
            yield f"Diagnostics: no new problems ({names}){'; ' if unknown else ''}{unknown}"
        else:
            repeated = len(self.new) - len(self.unreported)
            shown = f" ({repeated if self.unreported else 'all'} shown before)" if repeated else ""
            yield f"Diagnostics ({names}; {unknown or 'complete'}): {len(self.new)} new{shown}"
            yield from map(_lines, self.unreported[:MAX_SHOWN])
            if (rest := len(self.unreported) - MAX_SHOWN) > 0:
                yield f"[{rest} more new ones are not shown]"


def _lines(problem: Problem) -> str:
    column = f":{problem.column}" if problem.column else ""
    code = f":{problem.code}" if problem.code else ""
    position = f"{printable_name(problem.path)}:{problem.line}{column}"
    line = f"{position} {problem.severity} {problem.tool}{code} {problem.message}"
    return f"{line}\n{problem.line:>6} | {problem.snippet}" if problem.snippet else line


def _identity(problem: Problem) -> tuple[Hashable, ...]:
    """All but the position; the line of code comes last."""
    message = _LINE.sub(r"\1", problem.message)
    return (problem.tool, problem.severity, problem.code, message, problem.snippet.strip())
