"""What was held back or denied in a run, as lines for people. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.contracts.outcome import Denial, WithheldFile
from bot.evidence.styled_line import Line, code, line, names, quote

_NAMED = 5


def held_back(files: Sequence[WithheldFile]) -> Iterator[Line]:
    """Yield a line for each reason, with the first files that it holds back: they may be thousands."""
    paths: dict[str, list[str]] = {}
    for file in files:
        paths.setdefault(file.reason, []).append(file.path)
    for reason, alike in paths.items():
        yield line(names(alike, _NAMED), ": ", quote(reason))


def denied(denials: Sequence[Denial]) -> Iterator[Line]:
    """Yield each denied call once, with the rule and the number of tries."""
    for denial, times in Counter(denials).items():
        why = line(": ", quote(denial.reason)) if denial.reason else ()
        # The name of a built-in rule is a phrase of its own: "the built-in rule git-push".
        own = denial.rule.startswith("the ")
        rule = line(quote(denial.rule)) if own else line("rule ", code(denial.rule))
        often = f", {times} times" if times > 1 else ""
        yield line(code(denial.tool), " ", code(denial.subject), why, " (", rule, f"{often})")
