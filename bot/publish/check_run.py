"""A check run of ours on a commit: neutral, with annotations, made once however often it is published.

What another app made is never taken for ours, whatever it calls itself: its words would stand where ours should.
Never more than neutral: what it says comes from the run's bundle, and branch protection may ask for a check by name.
Most tokens may not make one, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.contracts.errors import GateError
from bot.contracts.pulls import Annotation
from bot.github.checks import ACTIONS
from bot.github.client import GitHub
from bot.github.errors import GitHubError
from bot.github.values import Account, CheckRunData

_COMPARED = 2_000
"""Words: of a long summary the end is cut."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`key` identifies it on a second publishing; without one it is always created."""

    name: str
    head_sha: str
    title: str
    summary: str
    annotations: Sequence[Annotation] = ()
    key: str = ""


def post_check_run(
    github: GitHub, repository: str, one: CheckReport, *, forbidden: str = ""
) -> tuple[str, ...]:
    """Soft failures, a sentence each; `forbidden` is the one for a token that may not create a check run."""
    try:
        _put(github, repository, one)
    except GitHubError as error:
        if error.status in (403, 404):
            return (forbidden,) if forbidden else ()
        return (f"The check run could not be made: {error}",)
    except GateError as error:
        return (f"The check run could not be made: {error}",)
    return ()


def _put(github: GitHub, repository: str, one: CheckReport) -> None:
    """A publishing that died half-way left the first annotations: they are added to, never doubled."""
    runs = github.check_runs(repository, one.head_sha, one.name) if one.key else ()
    for there in runs:
        if there.external_id == one.key and is_by_us(there, github.me()) and _says(there, one):
            if missing := one.annotations[there.annotations :]:
                github.add_annotations(
                    repository, there.id, title=one.title, summary=one.summary, annotations=missing
                )
            return
    github.create_check_run(
        repository,
        name=one.name,
        head_sha=one.head_sha,
        conclusion="neutral",
        title=one.title,
        summary=one.summary,
        annotations=one.annotations,
        external_id=one.key,
    )


def is_by_us(run: CheckRunData, me: Account | None) -> bool:
    """Whether our app created it. A person's token cannot create any: those are then by the workflow's own token. If
    the token may not ask for its app, none counts as ours, which at worst creates a second one."""
    if me is None or not run.app:
        return False
    return run.app == ACTIONS if me.kind != "Bot" else f"{run.app}[bot]".casefold() == me.login.casefold()


def _says(run: CheckRunData, one: CheckReport) -> bool:
    """Whether `run` has the text of this report: another writer under our app, such as another workflow, has another
    text."""
    actual, expected = run.summary.split(), f"{one.title[:255]}\n\n{one.summary}".split()[:_COMPARED]
    return actual[: len(expected)] == expected
