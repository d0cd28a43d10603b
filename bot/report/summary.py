"""Job summaries on Actions: of a run with its evidence, of a maintenance plan, and of dashboards."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from bot.contracts.outcome import Outcome
from bot.evidence.view import view_of
from bot.gate.clean_text import clean_line
from bot.gate.secrets import withhold_if_secret
from bot.maintenance.due_tasks import Decision
from bot.publish.macros import folded_sections, macros_of
from bot.publish.markdown import fenced, safe_line

MOST_ROWS = 400
_FOLDER = Path(__file__).parent / "templates"
_LEFT = "It is due, and the matrix is full: it waits for the next plan by the schedule."


def run_summary(outcome: Outcome, pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return the summary of a run as Markdown. Untrusted text has no effect; a line with a secret is withheld."""
    view, thread = view_of(outcome), outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    sections = list(folded_sections(view))
    return str(macros_of("summary", _FOLDER).run(outcome, view, sections, pull_url, [*hidden, *notes[:20]]))


def publish_summary(pull_url: str, notes: Sequence[str]) -> str:
    """Return what publishing adds to the run's own summary in the same job; empty for nothing."""
    text = str(macros_of("summary", _FOLDER).published(pull_url, notes))
    return f"## Slash Agent: published\n\n{text}" if text else ""


def outcome_summary(status: str, sentence: str) -> str:
    """Return the summary of an event that needed no agent."""
    return f"## Slash Agent: {status.replace('_', ' ')}\n\n{safe_line(sentence, 1_000)}\n"


def error_summary(verb: str, sentence: str) -> str:
    """Return the summary of a step that ended in an error, with its log message."""
    text = withhold_if_secret(sentence) or clean_line(sentence, 1_000)
    return f"## Slash Agent: {verb} failed\n\n{fenced(text)}\n"


def plan_summary(
    decisions: Iterable[tuple[str, Decision]], jobs: Collection[tuple[str, str]], notes: Sequence[str]
) -> str:
    """Return the summary of a maintenance plan. `jobs` has repository and task of those in the matrix."""
    rows: dict[str, list[tuple[str, str, str, str]]] = {"runs": [], "left": [], "waits": []}
    for repository, one in decisions:
        what = "waits" if not one.run else "runs" if (repository, one.task.name) in jobs else "left"
        word, why = "**runs**" if what == "runs" else what, _LEFT if what == "left" else one.why
        rows[what].append((repository, one.task.name, word, why))
    return str(macros_of("summary", _FOLDER).plan(rows, MOST_ROWS, notes))


def dashboards_summary(done: Sequence[str], notes: Sequence[str]) -> str:
    """Return the summary of dashboards. `done` has a sentence on each repository's dashboard."""
    return str(macros_of("summary", _FOLDER).dashboards(done, MOST_ROWS, notes))
