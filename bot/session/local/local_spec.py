"""The run of `fix` or `review` on a local checkout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bot.checkout.clone import Source
from bot.contracts.progress import NoteEvent, View
from bot.contracts.request import Actor, Request, Tier, Verb
from bot.session.context.models import connect_model
from bot.session.context.preflight import policy_note
from bot.session.job.spec import RunSpec
from bot.session.run_folder import RunFolder
from bot.workspace.sandbox.backends import Setting


def local_request(verb: Verb, instruction: str, repo: Path, options: dict[str, str] | None = None) -> Request:
    """The request of the person at the terminal."""
    return Request(verb, instruction, Actor("you", 0, Tier.LOCAL), "", "", str(repo), options=options or {})


def local_spec(
    request: Request,
    repo: Path,
    folder: RunFolder,
    model: str,
    environment: Mapping[str, str],
    view: View,
    *,
    sandbox: Setting,
    budget_usd: float | None,
    revision: str = "HEAD",
) -> RunSpec:
    """The spec of a run of `request` at `revision` of `repo`, with a note if the policy is not committed."""
    note = policy_note(repo)
    if note:
        view.tell(NoteEvent(note))
    return RunSpec(
        request=request,
        source=Source(str(repo), revision),
        folder=folder,
        connect=lambda: connect_model(model, environment),
        connect_named=lambda name: connect_model(name, environment),
        environment=environment,
        sandbox=sandbox,
        origin=repo,
        budget_usd=budget_usd,
        notes=(note,) if note else (),
        say=lambda text: view.tell(NoteEvent(text)),
        view=view,
    )
