"""Job summaries on Actions: of a run with its evidence, of a maintenance plan, and of dashboards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from bot.contracts.evidence import ServerUse
from bot.contracts.formatting import count_of, money
from bot.contracts.outcome import Outcome
from bot.evidence.held_back_and_denied import denied, held_back
from bot.evidence.view import View, view_of
from bot.gate.secrets import withhold_if_secret
from bot.gate.text import clean_line
from bot.maintenance.due_tasks import Decision
from bot.publish.evidence import details, one_line, remarks, table
from bot.publish.markdown import cell, code, fenced, plain

_SENTENCE = 1_000
_MOST = 20
_DENIED = 5


def run_summary(outcome: Outcome, pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return the summary of a run as Markdown. Untrusted text has no effect; a line with a secret is withheld."""
    view = view_of(outcome)
    checks = view.summary
    doubt = "" if checks.verified else ", not verified"
    heading = f"## Slash Agent: {outcome.status.value.replace('_', ' ')}{doubt}"
    lines = [heading, "", _sentence(outcome.reason), ""]
    if not checks.verified:
        lines += [_sentence(f"{checks.unverified} {checks.help}".strip()), ""]
    thread = outcome.request.thread
    hidden = [thread.hidden] if thread and thread.hidden else []
    lines += _published(pull_url, (*hidden, *notes[:_MOST]))
    lines += _evidence(view)
    lines += ["", "### The run", "", "| | |", "| --- | --- |"]
    lines += [f"| {name} | {cell(value)} |" for name, value in _facts(outcome) if value]
    return "\n".join(lines) + "\n"


def publish_summary(pull_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return what publishing adds to the run's own summary in the same job; empty for nothing."""
    lines = _published(pull_url, notes)
    return "\n".join(["## Slash Agent: published", "", *lines]) + "\n" if lines else ""


def outcome_summary(status: str, sentence: str) -> str:
    """Return the summary of an event that needed no agent."""
    return f"## Slash Agent: {status.replace('_', ' ')}\n\n{_sentence(sentence)}\n"


def error_summary(verb: str, sentence: str) -> str:
    """Return the summary of a step that ended in an error, with its log message."""
    text = withhold_if_secret(sentence) or clean_line(sentence, _SENTENCE)
    return f"## Slash Agent: {verb} failed\n\n{fenced(text)}\n"


def _published(pull_url: str, notes: Sequence[str]) -> list[str]:
    link = [f"Pull request: {pull_url}", ""] if pull_url else []
    return [*link, *(f"- {_sentence(note)}" for note in notes[: _MOST + 1])]


def _evidence(view: View) -> list[str]:
    """Return the same evidence as in the pull request, with more rows."""
    first = [*view.failures[:_MOST], *view.look_first]
    lines = ["", "### Look at first", "", *(f"- {one_line(line)}" for line in first)] if first else []
    if rows := table(view.rows[: 2 * _MOST]):
        lines += ["", "### Evidence", "", *rows]
    if (more := len(view.rows) - 2 * _MOST) > 0:
        lines += ["", f"{count_of(more, 'more row')} in `outcome.json`."]
    if remarked := remarks(view):
        lines += ["", *(f"- {remark}" for remark in remarked)]
    for part in details(view):
        lines += ["", part]
    return lines


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    request = outcome.request
    thread = request.thread.url if request.thread else ""
    added, removed = sum(f.additions for f in outcome.files), sum(f.removals for f in outcome.files)
    turns, tokens = count_of(outcome.turns, "turn"), count_of(outcome.usage.total, "token")
    changed = f"{count_of(len(outcome.files), 'file')}, +{added} -{removed}" if outcome.files else ""
    return [
        ("asked for", f"{request.verb}, by {plain(request.actor.login)}"),
        ("where", thread if thread.startswith(("https://", "http://")) else ""),
        ("model", f"{code(outcome.model)}: {turns}, {tokens}, {money(outcome.cost, 4)}"),
        ("stopped by", outcome.stop_reason.value.replace("_", " ")),
        ("changed", changed),
        *(("withheld", one_line(line)) for line in islice(held_back(outcome.withheld), _MOST)),
        *_denied(outcome),
        *(("language server", _server(server)) for server in outcome.servers[:_MOST]),
        *_sandbox(outcome),
    ]


def _denied(outcome: Outcome) -> list[tuple[str, str]]:
    calls = list(denied(outcome.denials))
    rows = [("denied", one_line(call)) for call in calls[:_DENIED]]
    more = len(calls) - _DENIED
    return [*rows, *([("denied", f"{count_of(more, 'more call')}, in the report")] if more > 0 else [])]


def _sandbox(outcome: Outcome) -> list[tuple[str, str]]:
    probed = outcome.sandbox_probe
    if probed is None:
        return [("sandbox", plain(outcome.sandbox))]
    notes = (("sandbox, note", _sentence(note)) for note in probed.notes[:_MOST])
    return [("sandbox", _sentence(probed.described)), *notes]


def _server(server: ServerUse) -> str:
    name = _sentence(f"{server.name} {server.version}".strip())
    return f"{name}: {_sentence(server.note)}" if server.note else name


def _sentence(text: str, limit: int = _SENTENCE) -> str:
    return withhold_if_secret(text) or plain(clean_line(text, limit))


MOST_ROWS = 400
_MOST_NOTES = 100
_PLAN_SENTENCE = 500
_LEFT = "It is due, and the matrix is full: it waits for the next plan by the schedule."


def plan_summary(
    decisions: Iterable[tuple[str, Decision]], jobs: Collection[tuple[str, str]], notes: Sequence[str]
) -> str:
    """Return the summary of a maintenance plan. `jobs` has repository and task of those in the matrix."""
    told: dict[str, list[str]] = {"**runs**": [], "left": [], "waits": []}
    for repository, one in decisions:
        name = (repository, one.task.name)
        what = "waits" if not one.run else "**runs**" if name in jobs else "left"
        told[what].append(_row(*name, what, _LEFT if what == "left" else one.why))
    runs, left, waits = map(len, told.values())
    counts = [f"{count_of(runs, 'task')} to run now" if runs else "Nothing to run now"]
    counts += [f"{left} left for the next plan"] if left else []
    counts += [f"{waits} waiting"] if waits else []
    rows = [row for kind in told.values() for row in kind]
    lines = ["## Slash Agent: maintenance plan", "", f"{', '.join(counts)}.", *_notes(notes)]
    if rows:
        lines += ["", "| Repository | Task | | Why |", "| --- | --- | --- | --- |", *rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines += ["", f"{count_of(len(rows) - MOST_ROWS, 'more task')}: see the log."]
    return "\n".join(lines) + "\n"


def dashboards_summary(done: Sequence[str], notes: Sequence[str]) -> str:
    """Return the summary of dashboards as Markdown. `done` has a sentence on each repository's dashboard."""
    listed = [f"- {_sentence(line, _PLAN_SENTENCE)}" for line in done[:MOST_ROWS]]
    if len(done) > MOST_ROWS:
        listed.append(f"- {len(done) - MOST_ROWS} more: see the log.")
    return "\n".join(["## Slash Agent: dashboards", "", *listed, *_notes(notes)]) + "\n"


def _row(repository: str, task: str, what: str, why: str) -> str:
    return f"| {cell(plain(repository))} | {cell(plain(task))} | {what} | {cell(_sentence(why, _PLAN_SENTENCE))} |"


def _notes(notes: Sequence[str]) -> list[str]:
    if not notes:
        return []
    more = [f"- {len(notes) - _MOST_NOTES} more: see the log."] if len(notes) > _MOST_NOTES else []
    listed = [f"- {_sentence(note, _PLAN_SENTENCE)}" for note in notes[:_MOST_NOTES]]
    return ["", "To look at:", "", *listed, *more]
