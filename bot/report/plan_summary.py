"""The summary of a maintenance plan or of its dashboards. The job's log has every decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from bot.contracts.formatting import count_of
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.maintenance.due_tasks import Decision
from bot.publish.markdown import cell, plain

MOST_ROWS = 400
_MOST_NOTES = 100
_SENTENCE = 500
_LEFT = "It is due, and the matrix is full: it waits for the next plan by the schedule."


def plan_summary(
    decisions: Iterable[tuple[str, Decision]], jobs: Collection[tuple[str, str]], notes: Sequence[str]
) -> str:
    """Markdown. `decisions` has the repository beside each decision, `jobs` is what the matrix holds, as repository and
    task; `notes` is what was warned of."""
    runs: list[str] = []
    left: list[str] = []
    waits: list[str] = []
    for repository, one in decisions:
        name = (repository, one.task.name)
        if not one.run:
            waits.append(_row(*name, "waits", one.why))
        elif name in jobs:
            runs.append(_row(*name, "**runs**", one.why))
        else:
            left.append(_row(*name, "left", _LEFT))
    counts = [f"{count_of(len(runs), 'task')} to run now" if runs else "Nothing to run now"]
    counts += [f"{len(left)} left for the next plan"] if left else []
    counts += [f"{len(waits)} waiting"] if waits else []
    rows = [*runs, *left, *waits]
    lines = ["## Slash Agent: maintenance plan", "", f"{', '.join(counts)}.", *_notes(notes)]
    if rows:
        lines += ["", "| Repository | Task | | Why |", "| --- | --- | --- | --- |", *rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines += ["", f"{count_of(len(rows) - MOST_ROWS, 'more task')}: see the log."]
    return "\n".join(lines) + "\n"


def dashboards_summary(done: Sequence[str], notes: Sequence[str]) -> str:
    """Markdown. `done` says of each repository what became of its dashboard."""
    listed = [f"- {_sentence(line)}" for line in done[:MOST_ROWS]]
    if len(done) > MOST_ROWS:
        listed.append(f"- {len(done) - MOST_ROWS} more: see the log.")
    return "\n".join(["## Slash Agent: dashboards", "", *listed, *_notes(notes)]) + "\n"


def _row(repository: str, task: str, what: str, why: str) -> str:
    return f"| {cell(plain(repository))} | {cell(plain(task))} | {what} | {cell(_sentence(why))} |"


def _notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    more = [f"- {len(notes) - _MOST_NOTES} more: see the log."] if len(notes) > _MOST_NOTES else []
    return ["", "To look at:", "", *(f"- {_sentence(note)}" for note in notes[:_MOST_NOTES]), *more]


def _sentence(text: str) -> str:
    return withhold_if_secret(text) or plain(clean_line(text, _SENTENCE))
