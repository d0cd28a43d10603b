"""Problems before against after: which are new, which are gone, which are still there.

Matched as a multiset of file, tool, code and message, never by line: an edit moves lines, and a problem that moved is
not new. The source line decides only which one of several equal ones is the new one.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from bot.contracts.plain_text import quoted_lines
from bot.contracts.problems import Compared, Problem, Severity

_TOLD = 10

_LINE_NUMBERS = re.compile(r"(?i)\b(lines?|columns?|col)[ :]*\d+")
# How far something is over what is allowed: "too many lines (53)", "too complex (12 > 10)", "a complexity of 21".
_SIZES = re.compile(
    r"(?i)(\b(?:many|long|deeply|complex)\b[^()\n]{0,60}\()\d+(?=\)| > \d+\))|(\b(?:complexity|length) (?:of|from) )\d+"
)
_QUOTED = re.compile(r"""[`'"‘“]([^`'"’”]{1,200})[`'"’”]""")
_GO_MODULE = re.compile(
    r"(?:no required module provides package|could not import|cannot find package) \"?([\w./-]+)"
)

_MISSING_IMPORT = frozenset({
    "import-not-found", "unresolved-import", "import-untyped", "import", "reportMissingImports",
    "reportMissingModuleSource", "TS2307", "TS2792", "TS7016", "E0432", "E0433",
    "import/no-unresolved", "import-x/no-unresolved", "n/no-missing-import", "node/no-missing-import",
})  # fmt: skip
"""By what code each tool says that something that is imported is not there."""


class Delta(NamedTuple):
    """`environment` are new ones that only say again that something is not installed."""

    new: tuple[Problem, ...] = ()
    fixed: tuple[Problem, ...] = ()
    environment: tuple[Problem, ...] = ()
    remaining: int = 0


class _Keyed(NamedTuple):
    """A problem under the path that its file had before the change."""

    problem: Problem
    path: str

    def without_snippet(self) -> Hashable:
        found = self.problem
        return (self.path, found.tool, found.code, normalised(found.message))

    def with_snippet(self) -> Hashable:
        return (self.without_snippet(), " ".join(self.problem.snippet.split()))


def compare(
    before: Iterable[Problem], after: Iterable[Problem], renamed: Mapping[str, str] | None = None
) -> Delta:
    """`renamed` leads from a path after the change to the one before it. What is shown first comes first."""
    old = renamed or {}
    was = [_Keyed(problem, problem.path) for problem in dict.fromkeys(before)]
    now = [_Keyed(problem, old.get(problem.path, problem.path)) for problem in dict.fromkeys(after)]
    was_left, now_left = _unmatched(was, now, _Keyed.with_snippet)
    was_left, now_left = _unmatched(was_left, now_left, _Keyed.without_snippet)
    missing = {module for found in was if (module := missing_module(found.problem))}
    new: list[Problem] = []
    explained: list[Problem] = []
    for problem, _ in now_left:
        (explained if _is_missing_already(missing_module(problem), missing) else new).append(problem)
    remaining = len(now) - len(now_left)
    gone = [problem for problem, _ in was_left]
    return Delta(_in_order(new), _in_order(gone), _in_order(explained), remaining)


def normalised(message: str) -> str:
    """The message without the numbers of lines, which move, and without sizes: what is too long before a change and
    after it is no new problem."""
    return " ".join(_SIZES.sub(r"\1\2", _LINE_NUMBERS.sub(r"\1", message)).split())


def missing_module(problem: Problem) -> str:
    """What `problem` says is imported and not there; empty where it says something else. A module of the project's own,
    named by its place beside the file, is another thing in each folder, and never counts."""
    if problem.code in _MISSING_IMPORT:
        found = _QUOTED.search(problem.message)
    elif not problem.code:
        found = _GO_MODULE.search(problem.message)
    else:
        return ""
    module = found[1] if found else ""
    return "" if module.startswith(".") else module


def missing_modules(problems: Iterable[Problem]) -> int:
    """How many different ones are missing."""
    return len({module for problem in problems if (module := missing_module(problem))})


def new_errors(results: Iterable[Compared]) -> list[Problem]:
    return [problem for result in results for problem in result.new if problem.severity is Severity.ERROR]


def tell_model(new: Sequence[Problem]) -> str:
    """One message for the model about errors that its change brought."""
    lines = [line for problem in new[:_TOLD] for line in _shown(problem)]
    if len(new) > _TOLD:
        lines.append(f"and {len(new) - _TOLD} more")
    listed = quoted_lines("\n".join(lines))
    return (
        "You said you are done, but with your change checkers report errors that were not there before, in the lines "
        f"with |:\n{listed}\nFix them, or say in `describe_change` why they are right. The tool host was started anew: "
        "view a file again before you edit it. This is said once."
    )


def one_line(problem: Problem) -> str:
    """`path:line:column tool code: message`, with what is not known left out."""
    numbers = [str(number) for number in (problem.line, problem.column) if number]
    where = ":".join([problem.path, *numbers])
    return f"{where} {problem.tool}{f' {problem.code}' if problem.code else ''}: {problem.message}"


def _shown(problem: Problem) -> Iterable[str]:
    yield one_line(problem)
    if problem.snippet.strip():
        yield f"  {problem.line} | {problem.snippet.strip()}"


def _unmatched(
    was: Sequence[_Keyed], now: Sequence[_Keyed], key: Callable[[_Keyed], Hashable]
) -> tuple[list[_Keyed], list[_Keyed]]:
    """What of both is left when equals are paired off, in their order."""
    waiting: defaultdict[Hashable, deque[_Keyed]] = defaultdict(deque)
    for found in was:
        waiting[key(found)].append(found)
    left: list[_Keyed] = []
    for found in now:
        partners = waiting[key(found)]
        if partners:
            partners.popleft()
        else:
            left.append(found)
    return [found for partners in waiting.values() for found in partners], left


def _is_missing_already(module: str, missing: set[str]) -> bool:
    """Whether the module, or a package that it is in, was missing before."""
    parts = re.split(r"[./]", module)
    return bool(module) and (
        module in missing
        or any(".".join(parts[:n]) in missing or "/".join(parts[:n]) in missing for n in range(1, len(parts)))
    )


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(
        sorted(
            problems,
            key=lambda of: (of.severity is not Severity.ERROR, of.path, of.line, of.column, of.message),
        )
    )
