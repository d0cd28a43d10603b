"""New problems as annotations of a neutral check run on the pushed commit."""

from __future__ import annotations

from collections.abc import Sequence

from bot.contracts.evidence import Problem, Severity
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Annotation, Side
from bot.publish.change.commit import CheckedCommit
from bot.publish.check_run import CheckReport, post_check_run
from bot.publish.context import PublishContext
from bot.publish.evidence.problems import count_new, new_problems, problem_line
from bot.publish.text.filters import safe_plain
from bot.review.diff import Diff, parse_diff

NAME = "Slash Agent problems"
MOST = 200
_LISTED = 50
_LEVELS = {Severity.ERROR: "failure", Severity.WARNING: "warning"}
_FORBIDDEN = (
    "The new problems are in the pull request's text only: this token may not annotate lines. "
    "`checks: write` in the publishing job's permissions lets it."
)


def annotate(context: PublishContext, prepared: CheckedCommit) -> tuple[str, ...]:
    """Soft failures, a sentence each. Nothing is written where the checkers found nothing new."""
    problems = new_problems(context.outcome)
    if not problems:
        return ()
    annotated = on_lines(problems, parse_diff(prepared.verdict.patch))[:MOST]
    number = max(count_new(context.outcome), len(problems))
    # In a dry run there is no such commit to look for it on.
    key = "" if context.github.dry_run is not None else f"slash-agent-problems:{prepared.sha}"
    title = f"{count_of(number, 'new problem')}, {len(annotated):,} on lines of the diff"
    annotations = [_annotation(problem) for problem in annotated]
    one = CheckReport(NAME, prepared.sha, title, _summary(problems, number), annotations, key)
    return post_check_run(context.github, context.repository, one, forbidden=_FORBIDDEN)


def on_lines(problems: Sequence[Problem], diff: Diff) -> list[Problem]:
    """The annotations on lines that the diff shows: nobody would see others."""
    return [problem for problem in problems if _is_shown(problem, diff)]


def _is_shown(problem: Problem, diff: Diff) -> bool:
    file = diff.find(problem.path)
    if file is None or file.path != problem.path:
        return False
    return any(hunk.holds(Side.RIGHT, problem.line) for hunk in file.hunks)


def _annotation(problem: Problem) -> Annotation:
    kind = " ".join(part for part in (problem.tool, problem.code) if part)
    message = safe_plain(problem.message, 1_000) or "no message"
    return Annotation(
        problem.path,
        problem.line,
        _LEVELS[problem.severity],
        message,
        safe_plain(kind, 200).replace("\n", " "),
    )


def _summary(problems: Sequence[Problem], number: int) -> str:
    """Markdown: all of them, on a line of the diff or not."""
    lines = [
        "They are there with the change and were not before. Nothing is to be read from this check's colour.",
        "",
    ]
    lines += [f"- {problem_line(problem)}" for problem in problems[:_LISTED]]
    if (more := number - len(problems[:_LISTED])) > 0:
        lines.append(f"- and {more:,} more")
    return "\n".join(lines)
