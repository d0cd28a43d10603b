"""Job summaries on Actions: of a run with its evidence, of a maintenance plan, and of dashboards."""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bot.contracts.formatting import count_of, money
from bot.contracts.outcome import Outcome
from bot.evidence.held_back_and_denied import denied, held_back
from bot.evidence.view import view_of
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.maintenance.due_tasks import Decision
from bot.publish.evidence import details, one_line, remarks, table
from bot.publish.markdown import fenced, macros_of, plain

MOST_ROWS = 400
_MOST_EVIDENCE = 40
_LEFT = "It is due, and the matrix is full: it waits for the next plan by the schedule."


def run_summary(outcome: Outcome, pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return the summary of a run as Markdown. Untrusted text has no effect; a line with a secret is withheld."""
    view, thread = view_of(outcome), outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    evidence = {
        "rows": table(view.rows[:_MOST_EVIDENCE]),
        "more": max(len(view.rows) - _MOST_EVIDENCE, 0),
        "remarks": remarks(view),
        "details": list(details(view)),
    }
    return str(_macros().run(outcome, view, evidence, pull_url, [*hidden, *notes[:20]]))


def publish_summary(pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return what publishing adds to the run's own summary in the same job; empty for nothing."""
    text = str(_macros().published(pull_url, notes))
    return f"## Slash Agent: published\n\n{text}" if text else ""


def outcome_summary(status: str, sentence: str) -> str:
    """Return the summary of an event that needed no agent."""
    return f"## Slash Agent: {status.replace('_', ' ')}\n\n{_sentence(sentence)}\n"


def error_summary(verb: str, sentence: str) -> str:
    """Return the summary of a step that ended in an error, with its log message."""
    text = withhold_if_secret(sentence) or clean_line(sentence, 1_000)
    return f"## Slash Agent: {verb} failed\n\n{fenced(text)}\n"


def plan_summary(
    decisions: Iterable[tuple[str, Decision]], jobs: Collection[tuple[str, str]], notes: Sequence[str]
) -> str:
    """Return the summary of a maintenance plan. `jobs` has repository and task of those in the matrix."""
    told: dict[str, list[tuple[str, str, str, str]]] = {"runs": [], "left": [], "waits": []}
    for repository, one in decisions:
        what = "waits" if not one.run else "runs" if (repository, one.task.name) in jobs else "left"
        shown, why = "**runs**" if what == "runs" else what, _LEFT if what == "left" else one.why
        told[what].append((repository, one.task.name, shown, why))
    return str(_macros().plan(told, MOST_ROWS, notes))


def dashboards_summary(done: Sequence[str], notes: Sequence[str]) -> str:
    """Return the summary of dashboards. `done` has a sentence on each repository's dashboard."""
    return str(_macros().dashboards(done, MOST_ROWS, notes))


def _sentence(text: str, limit: int = 1_000) -> str:
    return withhold_if_secret(text) or plain(clean_line(text, limit))


@cache
def _macros() -> Any:
    return macros_of(
        Path(__file__).parent / "templates/summary.md.j2",
        sentence=_sentence,
        one_line=one_line,
        denied=denied,
        held_back=held_back,
        count_of=count_of,
        money=money,
        word=lambda value: value.replace("_", " "),
    )
