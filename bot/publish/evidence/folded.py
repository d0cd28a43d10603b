"""What stands under the table of evidence, folded: each part a summary line and Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.contracts.outcome import CheckResult, Outcome
from bot.contracts.problems import Problem
from bot.contracts.tested import CoveredFile
from bot.contracts.wording import count_of
from bot.evidence.words import kinds_of, short_tail
from bot.publish.evidence.counted import count_fixed, count_new, failing, fixed_problems, new_problems
from bot.publish.evidence.lines import problem_line
from bot.publish.text import markdown
from bot.publish.text.shown import shown_code, shown_html, shown_tail

_TAILS = 3
_LISTED = 30
_LINES = 12


@dataclass(frozen=True, slots=True)
class Folded:
    """`summary` is what shows while it is closed: text without Markdown, since it stands in a tag."""

    summary: str
    text: str

    def html(self) -> str:
        return f"<details><summary>{self.summary}</summary>\n\n{self.text}\n\n</details>"


def parts(outcome: Outcome, room: float = 1.0) -> list[str]:
    """As little as there is `room` for; nothing that would be empty."""
    most = int(_LISTED * room)
    found = [*_tests(outcome.checks, most), *(_tails(outcome.checks) if room == 1 else ())]
    new, fixed = new_problems(outcome), fixed_problems(outcome)
    found += _problems("new", new, count_new(outcome), most)
    found += _problems("fixed", fixed, count_fixed(outcome), most)
    if outcome.coverage is not None:
        found += _coverage(outcome.coverage.files, most)
    return [one.html() for one in found]


def _tails(checks: Sequence[CheckResult]) -> Iterator[Folded]:
    failed = [check for check in failing(checks) if check.after.tail.strip()]
    for check in failed[:_TAILS]:
        summary = f"Output of {shown_html(check.command)} after the change"
        yield Folded(summary, markdown.fenced(shown_tail(short_tail(check.after.tail))))


def _tests(checks: Sequence[CheckResult], most: int) -> Iterator[Folded]:
    for check in checks[:_TAILS]:
        lines: list[str] = []
        reasons = dict(check.tests.reasons) if check.tests else {}
        for kind in kinds_of(check.tests):
            for name in kind.names[:most]:
                why = f": {shown_code(reasons[name])}" if kind.grave and reasons.get(name) else ""
                lines.append(f"- {kind.words}: {shown_code(name)}{why}")
            if kind.names and (more := kind.number - len(kind.names[:most])) > 0:
                lines.append(f"- {kind.words}: {more:,} more")
        if lines:
            yield Folded(f"Tests of {shown_html(check.command)}", "\n".join(lines))


def _problems(word: str, shown: Sequence[Problem], number: int, most: int) -> Iterator[Folded]:
    if not shown or not most:
        return
    lines = [f"- {problem_line(problem)}" for problem in shown[:most]]
    if (more := number - len(shown[:most])) > 0:
        lines.append(f"- and {more:,} more")
    yield Folded(count_of(number, f"{word} problem"), "\n".join(lines))


def _coverage(files: Sequence[CoveredFile], most: int) -> Iterator[Folded]:
    missed = [file for file in files if file.covered < file.measured]
    lines = [f"- {shown_code(file.path)}{_numbers(file)}" for file in missed[:most]]
    if lines and (more := len(missed) - len(lines)) > 0:
        lines.append(f"- and {count_of(more, 'file')} more")
    if lines:
        yield Folded("Changed lines that no test runs", "\n".join(lines))


def _numbers(file: CoveredFile) -> str:
    named = [str(number) for number in file.missed[:_LINES]]
    more = max(file.measured - file.covered, len(file.missed)) - len(named)
    if not named:
        return f": {count_of(more, 'line')}"
    word = "line" if len(named) == 1 and more <= 0 else "lines"
    return f": {word} {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}"
