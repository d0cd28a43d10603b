"""The result of a run for people: a headline, what to do next, the details, and the model's notes for the reviewer."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.cli.terminal.printer import Mark, Printer, Style
from bot.contracts.formatting import count_of, money
from bot.contracts.outcome import Outcome, Status, StopReason
from bot.contracts.plan import Plan
from bot.contracts.pulls import Review, Severity, Side
from bot.evidence.labels import short_tail
from bot.evidence.look_first import denied, held_back
from bot.evidence.styled_line import plain
from bot.evidence.summary import summarize_checks
from bot.evidence.view import Mark as RowMark
from bot.evidence.view import View, view_of

_MOST_TESTS = 10
_MOST_FILES = 20
_MOST_OUTPUT, _LEAST_OUTPUT = 10, 3

_STOPPED = {
    StopReason.MAX_TOKENS: "the model's answer was cut off",
    StopReason.BUDGET: "the budget is spent",
    StopReason.TIME: "the time is up",
    StopReason.TURNS: "all turns are used",
    StopReason.LOOP: "the model repeated itself",
    StopReason.DENIED: "a call was denied",
    StopReason.CANCELED: "cancelled",
    StopReason.PROVIDER_ERROR: "the model's provider failed",
    StopReason.GATE: "the gate refused the change",
    StopReason.ERROR: "the run broke off",
}
_ROW_STYLES: dict[RowMark, Style] = {
    "good": "green",
    "bad": "red",
    "attention": "yellow",
    "nothing": "yellow",
}
_SEVERITY: dict[Severity, Style] = {
    Severity.CRITICAL: "red",
    Severity.MAJOR: "red",
    Severity.MINOR: "yellow",
    Severity.NOTE: "cyan",
}


def print_result(
    outcome: Outcome,
    printer: Printer,
    where: str = "",
    next: Sequence[tuple[str, str]] = (),
    review: Review | None = None,
    notes: Sequence[str] = (),
    plan: Plan | None = None,
) -> None:
    """`where` says where the change is, as in `on agent/fix-it`. `next` are labels with a command or a place each.
    `notes` are the verb's own, beside the outcome's."""
    if printer.is_terminal:
        printer.line()  # after the lines of what went on
    printer.headline(*headline(outcome, where, review))
    view = view_of(outcome, listed=_MOST_TESTS) if outcome.files else None
    for label, text in _reasons(outcome, view):
        printer.field(label, text, "yellow")
    if text := _plan_text(plan) if plan else outcome.answer or outcome.question:
        printer.line()
        printer.markdown(text)
    if review is not None:
        _print_review(review, printer)
    if next:
        printer.line()
    for label, text in next:
        printer.field(label, text, copied=True)
    printer.line()
    if view is not None:
        _print_evidence(view, printer)
    for file in outcome.files[:_MOST_FILES]:
        printer.field("file", f"{file.path}  +{file.additions} -{file.removals}")
    if (more := len(outcome.files) - _MOST_FILES) > 0:
        printer.field("", f"and {count_of(more, 'more file')}")
    for line in held_back(outcome.withheld):
        printer.field("withheld", plain(line), "yellow")
    for line in denied(outcome.denials):
        printer.field("denied", plain(line), "yellow")
    turns, tokens = count_of(outcome.turns, "turn"), count_of(outcome.usage.total, "token")
    printer.field("model", f"{outcome.model}: {turns}, {tokens}, {money(outcome.cost, 4)}")
    printer.field("sandbox", outcome.sandbox)
    for note in (*outcome.notes, *notes):
        printer.field("note", note)
    described = outcome.description
    for title, text in ((described.title, described.summary), ("For the reviewer", described.notes)):
        if outcome.files and text.strip():
            printer.line()
            printer.line(title or "What the model says of it", "bold")
            printer.markdown(text)


def _plan_text(plan: Plan) -> str:
    """Return the plan as Markdown."""
    steps = (f"{one.text} ({', '.join(one.paths)})" if one.paths else one.text for one in plan.steps)
    parts = [f"**{plan.title}**", "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))]
    if plan.risks:
        parts.append(f"**Risks.** {plan.risks}")
    if plan.estimate_turns:
        parts.append(f"Estimate: about {count_of(plan.estimate_turns, 'turn')}.")
    return "\n\n".join(parts)


def headline(outcome: Outcome, where: str = "", review: Review | None = None) -> tuple[Mark, str]:
    """Return the result of a run in one line."""
    stopped = _STOPPED.get(outcome.stop_reason, "")
    if outcome.stop_reason is StopReason.MAX_TOKENS and outcome.reason.startswith("The conversation "):
        stopped = "the conversation is too long for the model"
    failed = outcome.status is Status.FAILED
    mark, text = _headline_parts(outcome, where, review, stopped)
    if failed and outcome.stop_reason is StopReason.CANCELED:
        text = "Cancelled, nothing was changed"
    elif failed and stopped and review is not None:
        mark, text = "bad", f"Not finished ({stopped}): {text[0].lower()}{text[1:]}"
    elif stopped and outcome.status is Status.PARTIAL:
        mark, text = "doubt", f"Not finished ({stopped}): {text}"
    return mark, f"{text}, {money(outcome.cost)}" if outcome.cost else text


def _headline_parts(outcome: Outcome, where: str, review: Review | None, stopped: str) -> tuple[Mark, str]:
    if review is not None and review.findings:
        counts = Counter(finding.severity for finding in review.findings)
        listed = ", ".join(f"{counts[severity]} {severity}" for severity in Severity if counts[severity])
        return "doubt", f"{count_of(review.findings, 'finding')} ({listed})"
    if review is not None:
        seen_part = review.not_looked_at
        return ("doubt", "No findings in what was looked at") if seen_part else ("good", "No findings")
    if outcome.files:
        checks = summarize_checks(outcome)
        mark: Mark = "bad" if checks.failing else "good" if checks.good else "doubt"
        changed = f"{count_of(len(outcome.files), 'file')} changed {where}".rstrip()
        return mark, ", ".join(filter(None, (changed, checks.headline)))
    match outcome.status:
        case Status.ANSWERED:
            return "good", "Answered"
        case Status.NO_CHANGE if outcome.answer:
            # A request with a question mark was a question; of any other the answer is why nothing came of it.
            is_question = "?" in (outcome.request.instruction or "")
            return "good" if is_question else "doubt", "Answered, no file was changed"
        case Status.NEEDS_INPUT:
            return "doubt", "The agent has a question"
        case Status.NO_CHANGE:
            return "doubt", "Nothing was changed"
        case Status.REFUSED:
            return "bad", "Refused"
        case Status.FAILED | Status.PARTIAL:
            # What a run had that broke off is in its folder.
            unchanged = "" if outcome.stop_reason is StopReason.ERROR else ", nothing was changed"
            return "bad", f"Failed{f' ({stopped})' if stopped else ''}{unchanged}"
        case _:
            return "good", outcome.status.value.replace("_", " ").capitalize()


def _reasons(outcome: Outcome, view: View | None) -> Iterator[tuple[str, str]]:
    """Yield the reasons why a result is incomplete."""
    clean = outcome.stop_reason in (StopReason.END_TURN, StopReason.CHECKS_FAILING, StopReason.NEEDS_INPUT)
    fine = clean and (outcome.files or outcome.status is not Status.NO_CHANGE)
    if outcome.status is Status.FAILED or not (outcome.answer or fine):
        yield "why", outcome.reason
    if view is not None:
        for number, line in enumerate((*view.failures, *view.look_first)):
            yield "" if number else "look at", plain(line)
        if not view.summary.verified:
            yield "checks", view.summary.unverified
        if view.summary.help:
            yield "to do", view.summary.help
    for note in outcome.sandbox_probe.notes if outcome.sandbox_probe else ():
        yield "warning", note


def _print_evidence(view: View, printer: Printer) -> None:
    for row in view.rows:
        sides = " → ".join(plain(side) for side in (row.before, row.after) if side)
        text = "; ".join(filter(None, (sides, plain(row.change))))
        printer.field(row.kind, f"{plain(row.what)}: {text}", _ROW_STYLES[row.mark])
    # The names of both titles' checks are their second piece.
    explained = {one.title[1] for one in view.sections if one.kind == "tests" and one.grave}
    most = _LEAST_OUTPUT if explained else _MOST_OUTPUT
    for section in view.sections:
        for line in section.lines[: section.grave]:
            printer.field("", plain(line))
        if section.output and section.grave and section.title[1] not in explained:
            printer.field("why", f"{plain(section.title)} ends:")
            for text in short_tail(section.output).splitlines()[-most:]:
                printer.field("", f"│ {text}", copied=True)
    for number, remark in enumerate(view.remarks):
        printer.field("" if number else "remarks", plain(remark))


def _print_review(review: Review, printer: Printer) -> None:
    if review.summary.strip():
        printer.line()
        printer.markdown(review.summary)
    for finding in review.findings:
        printer.line()
        first, last = finding.lines
        lines = "" if not last else f":{last}" if first == last else f":{first}-{last}"
        old = " (old file)" if finding.side is Side.LEFT else ""
        printer.line(f"{finding.severity}: {finding.title}", _SEVERITY[finding.severity])
        printer.line(f"  {finding.path}{lines}{old}", "bold")
        for line in finding.body.splitlines():
            printer.line(f"  {line}")
        if finding.suggestion is not None:
            for line in finding.text.split("\n"):
                printer.line(f"  - {line}", "red")
            for line in finding.suggestion.split("\n") if finding.suggestion else ():
                printer.line(f"  + {line}", "green")
    if review.left_out:
        printer.line()
    for left_out in review.left_out:
        printer.field("left out", left_out)
