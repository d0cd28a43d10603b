"""A run as two charts for the job's summary: the tokens held over the turns, and where the time went. Mermaid's own
text, as GitHub renders it. Pure; what stands in a chart is numbers, words of ours, and names stripped to letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.agent.journal_file import JournalFile
from bot.contracts.journal import CallStarted, Checked, RequestSent, Response, ResponseFailed, Result
from bot.contracts.messages import Usage

_POINTS = 60
_SPANS = 10
_NAMED_TURNS = 25
_NAME = 30
# A day in milliseconds: a journal that says more was tampered with.
_LATEST = 86_400_000
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_. -]+")


class Span(NamedTuple):
    """What took from `start` to `end`, in milliseconds since the journal was opened."""

    section: str
    label: str
    start: int
    end: int


def charts(journal: JournalFile) -> str:
    """Markdown with both, each with a sentence that says what it shows; empty where there is nothing to show."""
    usages = [record.usage for record in journal.records(Response)]
    spans = list(_spans(journal))
    parts = []
    if len(usages) > 1:
        parts += ["### Tokens over turns", _caption(usages), _block(_tokens(usages))]
    if spans:
        shown = _longest(spans)
        left = f", the longest {len(shown)} of {len(spans)}" if len(shown) < len(spans) else ""
        parts += [
            "### Where the time went",
            f"Minutes and seconds since the run began{left}.",
            _block(_gantt(shown)),
        ]
    return "\n\n".join(parts)


def _block(text: str) -> str:
    return f"```mermaid\n{text}\n```"


# Tokens


def _held(usage: Usage) -> int:
    return max(usage.input + usage.cache_read + usage.cache_write, 0)


def _caption(usages: Sequence[Usage]) -> str:
    held, cached = sum(map(_held, usages)), sum(max(usage.cache_read, 0) for usage in usages)
    share = f", {100 * cached / held:.0f} % of all that was sent" if held else ""
    return f"Bars: tokens of context sent with each request. Line: those of them read from the cache{share}."


def _tokens(usages: Sequence[Usage]) -> str:
    size = -(-len(usages) // _POINTS)
    groups = [usages[start : start + size] for start in range(0, len(usages), size)]
    held = [max(map(_held, group)) for group in groups]
    cached = [max(max(usage.cache_read, 0) for usage in group) for group in groups]
    # As a range the axis would have halves of turns on it.
    named = ", ".join(f'"{turn}"' for turn in range(1, len(usages) + 1))
    turns = f"[{named}]" if len(usages) <= _NAMED_TURNS else f"1 --> {len(usages)}"
    return "\n".join(
        (
            "xychart-beta",
            f'    x-axis "turn" {turns}',
            f'    y-axis "tokens" 0 --> {max(*held, 1)}',
            f"    bar [{', '.join(map(str, held))}]",
            f"    line [{', '.join(map(str, cached))}]",
        )
    )


# Time


def _spans(journal: JournalFile) -> Iterator[Span]:
    asked: dict[int, float] = {}
    started: dict[str, float] = {}
    for line in journal.lines:
        match line.record:
            case RequestSent(turn=turn):
                asked[turn] = line.at
            case Response(turn=turn) | ResponseFailed(turn=turn):
                yield from _span("Model", f"turn {turn}", asked.pop(turn, line.at), line.at)
            case CallStarted(call_id=call):
                started[call] = line.at
            case Result(turn=turn, call_id=call, name=name):
                yield from _span("Tools", f"turn {turn} {_name(name)}", started.pop(call, line.at), line.at)
            case Checked(name=name, phase=phase, run=run):
                yield from _span("Checks", f"{phase} {_name(name)}", line.at - run.duration, line.at)


def _span(section: str, label: str, start: float, end: float) -> Iterator[Span]:
    begun, over = (int(min(max(1000 * at, 0), _LATEST)) for at in (start, end))
    if over > begun:
        yield Span(section, label, begun, over)


def _longest(spans: Sequence[Span]) -> list[Span]:
    """The longest few of each section, in the order in which they began."""
    kept: list[Span] = []
    for section in dict.fromkeys(span.section for span in spans):
        of_it = sorted(
            (span for span in spans if span.section == section), key=lambda span: span.start - span.end
        )
        kept += sorted(of_it[:_SPANS], key=lambda span: span.start)
    return kept


def _gantt(spans: Sequence[Span]) -> str:
    lines = ["gantt", "    dateFormat x", "    axisFormat %M:%S"]
    section = ""
    for span in spans:
        if span.section != section:
            section = span.section
            lines.append(f"    section {section}")
        lines.append(f"    {span.label} :{span.start}, {span.end}")
    return "\n".join(lines)


def _name(name: str) -> str:
    """Nothing that Mermaid or Markdown would read as more than letters."""
    return " ".join(_NOT_IN_A_NAME.sub(" ", name[: 4 * _NAME]).split())[:_NAME] or "other"
