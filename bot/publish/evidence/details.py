"""The folded sections under the table of evidence. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.contracts.evidence import CoveredFile, Problem
from bot.contracts.formatting import count_of
from bot.contracts.outcome import CheckResult, Outcome
from bot.evidence.labels import kinds_of, short_tail
from bot.publish.evidence.problems import (
    count_fixed,
    count_new,
    failing,
    fixed_problems,
    new_problems,
    problem_line,
)
from bot.publish.text import markdown
from bot.publish.text.filters import safe_code, safe_html, safe_tail

_TAILS = 3
_LISTED = 30
_LINES = 12


@dataclass(frozen=True, slots=True)
class Details:
    """`summary` is what shows while it is closed: text without Markdown, since it stands in a tag."""

    summary: str
    text: str

    def html(self) -> str:
        return f"<details><summary>{self.summary}</summary>\n\n{self.text}\n\n</details>"


def evidence_details(outcome: Outcome, scale: float = 1.0) -> list[str]:
    """As little as there is `scale` for; nothing that would be empty."""
    most = int(_LISTED * scale)
    details = [*_tests(outcome.checks, most), *(_tails(outcome.checks) if scale == 1 else ())]
    new, fixed = new_problems(outcome), fixed_problems(outcome)
    details += _problems("new", new, count_new(outcome), most)
    details += _problems("fixed", fixed, count_fixed(outcome), most)
    if outcome.coverage is not None:
        details += _coverage(outcome.coverage.files, most)
    return [one.html() for one in details]


def _tails(checks: Sequence[CheckResult]) -> Iterator[Details]:
    failed = [check for check in failing(checks) if check.after.tail.strip()]
    for check in failed[:_TAILS]:
        summary = f"Output of {safe_html(check.command)} after the change"
        yield Details(summary, markdown.fenced(safe_tail(short_tail(check.after.tail))))


def _tests(checks: Sequence[CheckResult], most: int) -> Iterator[Details]:
    for check in checks[:_TAILS]:
        lines: list[str] = []
        reasons = dict(check.tests.reasons) if check.tests else {}
        for kind in kinds_of(check.tests):
            for name in kind.names[:most]:
                why = f": {safe_code(reasons[name])}" if kind.grave and reasons.get(name) else ""
                lines.append(f"- {kind.words}: {safe_code(name)}{why}")
            if kind.names and (more := kind.number - len(kind.names[:most])) > 0:
                lines.append(f"- {kind.words}: {more:,} more")
        if lines:
            yield Details(f"Tests of {safe_html(check.command)}", "\n".join(lines))


def _problems(word: str, problems: Sequence[Problem], number: int, most: int) -> Iterator[Details]:
    if not problems or not most:
        return
    lines = [f"- {problem_line(problem)}" for problem in problems[:most]]
    if (more := number - len(problems[:most])) > 0:
        lines.append(f"- and {more:,} more")
    yield Details(count_of(number, f"{word} problem"), "\n".join(lines))


def _coverage(files: Sequence[CoveredFile], most: int) -> Iterator[Details]:
    missed = [file for file in files if file.covered < file.measured]
    lines = [f"- {safe_code(file.path)}{_numbers(file)}" for file in missed[:most]]
    if lines and (more := len(missed) - len(lines)) > 0:
        lines.append(f"- and {count_of(more, 'file')} more")
    if lines:
        yield Details("Changed lines that no test runs", "\n".join(lines))


def _numbers(file: CoveredFile) -> str:
    named = [str(number) for number in file.missed[:_LINES]]
    more = max(file.measured - file.covered, len(file.missed)) - len(named)
    if not named:
        return f": {count_of(more, 'line')}"
    word = "line" if len(named) == 1 and more <= 0 else "lines"
    return f": {word} {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}"
