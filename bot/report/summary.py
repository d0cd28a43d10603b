"""The job's summary on Actions' page: how it ended, why, the evidence that the pull request shows, and where tokens and
time went; the report has the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.problems import ServerUse
from bot.contracts.wording import count_of, duration, money
from bot.evidence.summary import summarize_checks
from bot.gate.text import clean_line, withhold_if_secret
from bot.publish.evidence import folded
from bot.publish.evidence.lines import failures
from bot.publish.evidence.look_first import look_first
from bot.publish.evidence.remarks import remarks
from bot.publish.evidence.table import table
from bot.publish.text.markdown import cell, code, fenced, plain
from bot.publish.text.shown import shown_code

_SENTENCE = 1_000
_MOST = 20
_DENIED = 5


def run_summary(outcome: Outcome, pull_url: str = "", notes: Sequence[str] = (), charts: str = "") -> str:
    """Markdown. What others wrote in it is inert; a line that holds a secret is withheld. `charts` is of
    `charts_of`."""
    checks = summarize_checks(outcome)
    doubt = "" if checks.verified else ", not verified"
    lines = [
        f"## Slash Agent: {outcome.status.value.replace('_', ' ')}{doubt}",
        "",
        _sentence(outcome.reason),
        "",
    ]
    if not checks.verified:
        lines += [_sentence(f"{checks.unverified} {checks.help}".strip()), ""]
    thread = outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    lines += _published(pull_url, (*hidden, *notes[:_MOST]))
    lines += _evidence(outcome)
    lines += ["", "### The run", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {cell(value)} |" for name, value in _facts(outcome) if value]
    return "\n".join([*lines, *(["", charts] if charts else [])]) + "\n"


def published_summary(pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """What publishing adds where the run's own summary stands in the same job; empty where it adds nothing."""
    lines = _published(pull_url, notes)
    return "\n".join(["## Slash Agent: published", "", *lines]) + "\n" if lines else ""


def charts_of(journal: Path) -> str:
    """Where tokens and time of a run went, for `run_summary`. Empty where the journal cannot be read: a summary without
    charts is one all the same."""
    from bot.agent.journal_file import read_journal
    from bot.report.charts import charts

    try:
        return charts(read_journal(journal, lenient=True))
    except UsageError:
        return ""


def ended_summary(status: str, sentence: str) -> str:
    """The summary of an event that needed no agent."""
    return f"## Slash Agent: {status.replace('_', ' ')}\n\n{_sentence(sentence)}\n"


def trouble_summary(verb: str, sentence: str) -> str:
    """The summary of a step that ended in an error, in the words of its log."""
    shown = withhold_if_secret(sentence) or clean_line(sentence, _SENTENCE)
    return f"## Slash Agent: {verb} failed\n\n{fenced(shown)}\n"


def _published(pull_url: str, notes: Sequence[str]) -> list[str]:
    link = [f"Pull request: {pull_url}", ""] if pull_url else []
    return [*link, *(f"- {_sentence(note)}" for note in notes[: _MOST + 1])]


def _evidence(outcome: Outcome) -> list[str]:
    """As in the pull request, with more rows."""
    rows, left_out = table(outcome, 2 * _MOST)
    failed = failures(outcome.checks)
    first = [*failed[:_MOST], *look_first(outcome, outcome.files)]
    lines = ["", "### Look at first", "", *(f"- {line}" for line in first)] if first else []
    lines += ["", "### Evidence", "", *rows] if rows else []
    lines += ["", f"{count_of(left_out, 'more row')} in `outcome.json`."] if left_out else []
    said = remarks(outcome)
    lines += ["", *(f"- {remark}" for remark in said)] if said else []
    for part in folded.parts(outcome):
        lines += ["", part]
    return lines


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    request = outcome.request
    thread = request.thread.url if request.thread else ""
    added, removed = sum(f.additions for f in outcome.files), sum(f.removals for f in outcome.files)
    turns, tokens = count_of(outcome.turns, "turn"), count_of(outcome.usage.total, "token")
    changed = f"{count_of(len(outcome.files), 'file')}, +{added} -{removed}" if outcome.files else ""
    return [
        ("asked for", f"{request.verb.value}, by {plain(request.actor.login)}"),
        ("where", thread if thread.startswith(("https://", "http://")) else ""),
        ("model", f"{code(outcome.model)}: {turns}, {tokens}, {money(outcome.cost, 4)}"),
        ("stopped by", outcome.stop_reason.value.replace("_", " ")),
        ("changed", changed),
        *(("withheld", f"{code(held.path)}: {_sentence(held.reason)}") for held in outcome.withheld[:_MOST]),
        *_denied(outcome),
        *(("language server", _server(server)) for server in outcome.servers[:_MOST]),
        *_wall(outcome),
    ]


def _denied(outcome: Outcome) -> list[tuple[str, str]]:
    """Each call once, with the rule that denied it, and how often."""
    calls = Counter(outcome.denials)
    told = []
    for denial, times in list(calls.items())[:_DENIED]:
        call = f"{shown_code(denial.tool, 60)} {shown_code(denial.subject, 120)}"
        often = f", {times} times" if times > 1 else ""
        rule = f"rule {shown_code(denial.rule, 60)}{often}"
        told.append(("denied", f"{call}: {_sentence(denial.reason)} ({rule})"))
    if (more := len(calls) - _DENIED) > 0:
        told.append(("denied", f"{count_of(more, 'more call')}, in the report"))
    return told


def _wall(outcome: Outcome) -> list[tuple[str, str]]:
    wall = outcome.wall
    if wall is None:
        return [("sandbox", plain(outcome.sandbox))]
    landlock = f", Landlock ABI {wall.abi}" if wall.abi else ""
    reached = [canary.name for canary in wall.canaries if canary.inside]
    closed = [canary.name for canary in wall.canaries if not canary.outside and not canary.inside]
    held = len(wall.canaries) - len(reached) - len(closed)
    canaries = [
        f"{held} out of reach: {', '.join(one.name for one in wall.canaries if one.outside and not one.inside)}"
        if held
        else "",
        f"closed on this machine: {', '.join(closed)}" if closed else "",
        f"reached: {', '.join(reached)}" if reached else "",
    ]
    return [
        ("sandbox", plain(f"{wall.back_end}, tier {wall.tier}, kernel {wall.kernel}{landlock}")),
        ("canaries", plain("; ".join(filter(None, canaries)))),
        *(("sandbox, note", _sentence(note)) for note in wall.notes[:_MOST]),
    ]


def _server(server: ServerUse) -> str:
    name = _sentence(f"{server.name} {server.version}".strip())
    if server.note:
        return f"{name}: {_sentence(server.note)}"
    first = f", first answer after {duration(server.first_answer)}" if server.first_answer else ""
    return (
        f"{name}{first}, asked {count_of(server.asked, 'time')}, waited for {duration(server.waited)}, "
        f"{server.memory >> 20:,} MiB"
    )


def _sentence(text: str) -> str:
    return withhold_if_secret(text) or plain(clean_line(text, _SENTENCE))
