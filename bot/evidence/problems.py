"""Compare problems before and after a change: new, fixed and remaining ones.

Problems match as a multiset of file, tool, code and message, never by line number, since edits move lines. The source
line decides only which of several equal problems is the new one.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from bot.contracts.evidence import CheckerComparison, Problem, Severity
from bot.contracts.outcome import Outcome
from bot.contracts.plain_text import quoted_lines
from bot.evidence.styled_line import Line, code, line, quote

_MOST_LISTED = 10

_LINE_NUMBERS = re.compile(r"(?i)\b(lines?|columns?|col)[ :]*\d+")
# Sizes over a limit: "too many lines (53)", "too complex (12 > 10)", "a complexity of 21".
_SIZES = re.compile(
    r"(?i)(\b(?:many|long|deeply|complex)\b[^()\n]{0,60}\()\d+(?=\)| > \d+\))|(\b(?:complexity|length) (?:of|from) )\d+"
)
_QUOTED = re.compile(r"""[`'"‘“]([^`'"’”]{1,200})[`'"’”]""")
_GO_MODULE = re.compile(
    r"(?:no required module provides package|could not import|cannot find package) \"?([\w./-]+)"
)

_MISSING_IMPORT = frozenset(
    """
    import-not-found unresolved-import import-untyped import reportMissingImports reportMissingModuleSource
    TS2307 TS2792 TS7016 E0432 E0433 import/no-unresolved import-x/no-unresolved n/no-missing-import
    node/no-missing-import
    """.split()  # noqa: SIM905
)
"""The codes of the tools for missing imports."""


class Delta(NamedTuple):
    """`environment` are new problems about packages that were already missing."""

    new: tuple[Problem, ...]
    fixed: tuple[Problem, ...]
    environment: tuple[Problem, ...]
    remaining: int


def compare(
    before: Iterable[Problem], after: Iterable[Problem], renamed: Mapping[str, str] | None = None
) -> Delta:
    """Compare problems. `renamed` maps paths after the change to those before. Results are in order of display."""
    old_paths = renamed or {}

    def key(problem: Problem, path: str) -> Hashable:
        """The key under `path`, the one that its file had before the change."""
        return (path, problem.tool, problem.code, normalised(problem.message))

    # With their keys: a path after the change may be another file's before it.
    first = [(one, key(one, one.path)) for one in dict.fromkeys(before)]
    second = [(one, key(one, old_paths.get(one.path, one.path))) for one in dict.fromkeys(after)]
    left_before, left_after = _unmatched(first, second, lambda one: (one[1], *one[0].snippet.split()))
    left_before, left_after = _unmatched(left_before, left_after, lambda one: one[1])
    missing = {module for problem, _ in first if (module := missing_module(problem))}
    new: list[Problem] = []
    explained: list[Problem] = []
    for problem, _ in left_after:
        parts = re.split(r"([./])", missing_module(problem))
        # It, or one of its parent packages, was missing before.
        above = {"".join(parts[:n]) for n in range(1, len(parts) + 1)}
        (new if missing.isdisjoint(above) else explained).append(problem)
    fixed = [problem for problem, _ in left_before]
    return Delta(_in_order(new), _in_order(fixed), _in_order(explained), len(second) - len(left_after))


def normalised(message: str) -> str:
    """Return the message without line numbers, which move, and without sizes, which change without a new problem."""
    return " ".join(_SIZES.sub(r"\1\2", _LINE_NUMBERS.sub(r"\1", message)).split())


def missing_module(problem: Problem) -> str:
    """Return the module that `problem` reports as missing, or an empty string. A relative import does not count: it is
    another module in each folder."""
    pattern = _QUOTED if problem.code in _MISSING_IMPORT else _GO_MODULE
    match = pattern.search(problem.message) if pattern is _QUOTED or not problem.code else None
    return match[1] if match and not match[1].startswith(".") else ""


Kind = Literal["new", "fixed"]
KINDS: tuple[Kind, ...] = ("new", "fixed")


def problems_of(outcome: Outcome, kind: Kind) -> tuple[Problem, ...]:
    """Return the listed problems of a kind, errors first, of checkers with results before and after."""
    problems = (problem for one in outcome.diagnostics if one.complete for problem in getattr(one, kind))
    return tuple(sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR))


def count_problems(outcome: Outcome, kind: Kind) -> int:
    """Return their number, with those that the outcome does not list."""
    return sum(one.total(kind) for one in outcome.diagnostics if one.complete)


def problem_line(problem: Problem) -> Line:
    """Return `src/a.py:3` ruff error F401: os is unused. Warnings are not named as such."""
    position = f"{problem.path}:{problem.line}" if problem.line else problem.path
    error = "error" if problem.severity is Severity.ERROR else ""
    kind = " ".join(filter(None, (problem.tool, error, problem.code)))
    return line(code(position), " ", quote(kind), ": ", quote(problem.message))


def new_errors(results: Iterable[CheckerComparison]) -> list[Problem]:
    return [problem for result in results for problem in result.new if problem.severity is Severity.ERROR]


def new_errors_message(new: Sequence[Problem]) -> str:
    """Return one message for the model about new errors."""
    lines = []
    for problem in new[:_MOST_LISTED]:
        snippet = problem.snippet.strip()
        lines += [one_line(problem), *([f"  {problem.line} | {snippet}"] if snippet else [])]
    if len(new) > _MOST_LISTED:
        lines.append(f"and {len(new) - _MOST_LISTED} more")
    listed = quoted_lines("\n".join(lines))
    return (
        "You said you are done, but with your change checkers report errors that were not there before, in the lines "
        f"with |:\n{listed}\nFix them, or say in `describe_change` why they are right. This is said once."
    )


def one_line(problem: Problem) -> str:
    """Return `path:line:column tool code: message`, without unknown parts."""
    numbers = [str(number) for number in (problem.line, problem.column) if number]
    position = ":".join([problem.path, *numbers])
    return f"{position} {problem.tool}{f' {problem.code}' if problem.code else ''}: {problem.message}"


_Keyed = tuple[Problem, Hashable]


def _unmatched(
    before: Sequence[_Keyed], after: Sequence[_Keyed], key: Callable[[_Keyed], Hashable]
) -> tuple[list[_Keyed], list[_Keyed]]:
    """Return what is left of both after pairing equal problems, in order."""
    waiting: defaultdict[Hashable, deque[_Keyed]] = defaultdict(deque)
    for keyed in before:
        waiting[key(keyed)].append(keyed)
    left: list[_Keyed] = []
    for keyed in after:
        if partners := waiting[key(keyed)]:
            partners.popleft()
        else:
            left.append(keyed)
    return [keyed for partners in waiting.values() for keyed in partners], left


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    def rank(one: Problem) -> tuple[bool, str, int, int, str]:
        return (one.severity is not Severity.ERROR, one.path, one.line, one.column, one.message)

    return tuple(sorted(problems, key=rank))
