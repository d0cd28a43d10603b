"""Create a check run with annotations on a commit: for a review, or for new problems on a pushed commit. Idempotent.

A check run of another app never counts as ours, whatever its name. The conclusion is always neutral: its text comes
from the bundle, and branch protection may require a check by name. Most tokens may not create one, and nothing depends
on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from github.CheckRun import CheckRun

from bot.contracts.errors import GateError
from bot.contracts.evidence import Problem, Severity
from bot.contracts.formatting import count_of
from bot.contracts.pulls import Annotation, Side
from bot.contracts.threads import Account
from bot.evidence.problems import count_problems, problem_line, problems_of
from bot.github.checks import app_of
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import ACTIONS, CheckRunDraft
from bot.publish.change.commit import CheckedCommit
from bot.publish.context import PublishContext
from bot.publish.evidence import one_line
from bot.publish.markdown import safe_plain
from bot.review.diff import Diff, parse_diff


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`key` identifies it when a bundle is published again; without one it is always created."""

    name: str
    head_sha: str
    title: str
    summary: str
    annotations: Sequence[Annotation] = ()
    key: str = ""


def post_check_run(
    github: GitHub, repository: str, one: CheckReport, *, forbidden: str = ""
) -> tuple[str, ...]:
    """Create the check run, unless it exists. Returns soft failures, a sentence each; `forbidden` is the sentence for a
    token that may not create one."""
    try:
        if not _exists(github, repository, one):
            draft = CheckRunDraft(one.name, one.head_sha, "neutral", one.title, one.summary, one.key)
            github.create_check_run(repository, draft, one.annotations)
    except GitHubError as error:
        if error.status in (403, 404):
            return (forbidden,) if forbidden else ()
        return (f"The check run could not be made: {error}",)
    except GateError as error:
        return (f"The check run could not be made: {error}",)
    return ()


def _exists(github: GitHub, repository: str, one: CheckReport) -> bool:
    runs = github.check_runs(repository, one.head_sha, one.name) if one.key else ()
    return any(there.external_id == one.key and is_by_us(there, github.me()) for there in runs)


def is_by_us(run: CheckRun, me: Account | None) -> bool:
    """Whether our app created it. A person's token cannot create any, so the workflow's own token did. If our app is
    unknown, none counts as ours, which at worst creates a second one."""
    app = app_of(run)
    if me is None or not app:
        return False
    return app == ACTIONS if me.kind != "Bot" else f"{app}[bot]".casefold() == me.login.casefold()


NAME = "Slash Agent problems"
MOST = 200
_LISTED = 50
_LEVELS = {Severity.ERROR: "failure", Severity.WARNING: "warning"}
_FORBIDDEN = (
    "The new problems are in the pull request's text only: this token may not annotate lines. "
    "`checks: write` in the publishing job's permissions lets it."
)


def annotate(context: PublishContext, commit: CheckedCommit) -> tuple[str, ...]:
    """Annotate the commit with the new problems, if there are any. Returns soft failures, a sentence each."""
    problems = problems_of(context.outcome, "new")
    if not problems:
        return ()
    annotated = on_lines(problems, parse_diff(commit.verdict.patch))[:MOST]
    number = count_problems(context.outcome, "new")
    # In a dry run the commit does not exist on GitHub.
    key = "" if context.github.dry_run is not None else f"slash-agent-problems:{commit.sha}"
    title = f"{count_of(number, 'new problem')}, {len(annotated):,} on lines of the diff"
    annotations = [_annotation(problem) for problem in annotated]
    one = CheckReport(NAME, commit.sha, title, _summary(problems, number), annotations, key)
    return post_check_run(context.github, context.repository, one, forbidden=_FORBIDDEN)


def on_lines(problems: Sequence[Problem], diff: Diff) -> list[Problem]:
    """Return the problems on lines of the diff: GitHub shows no others."""
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
    """Return Markdown with all problems, on a line of the diff or not."""
    lines = [
        "These problems are new with the change. The conclusion of this check is always neutral.",
        "",
    ]
    lines += [f"- {one_line(problem_line(problem))}" for problem in problems[:_LISTED]]
    if (more := number - len(problems[:_LISTED])) > 0:
        lines.append(f"- and {more:,} more")
    return "\n".join(lines)
