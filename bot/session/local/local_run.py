"""What `fix` and `review` give a run: the request of the person at the terminal, on their checkout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bot.checkout.clone import Source
from bot.checkout.git import Git
from bot.checkout.local import git_dir_of
from bot.checkout.objects import newest_subjects
from bot.contracts.background import Background
from bot.contracts.journal import Note
from bot.contracts.plain_text import utf8
from bot.contracts.progress import View
from bot.contracts.request import Actor, Request, Tier
from bot.session.context.preflight import uncommitted_policy
from bot.session.context.run import RunSpec
from bot.session.run_folder import RunFolder
from bot.session.tools.run_models import connect_model


def local_request(
    verb: str, instruction: str | None, repo: Path, options: dict[str, str] | None = None
) -> Request:
    """The request of the person at the terminal. Arguments and paths are bytes that need not be UTF-8; the journal and
    the bundle are, so what is not becomes U+FFFD here."""
    text, url = utf8(instruction or ""), utf8(repo)
    return Request(verb, text or None, Actor("you", 0, Tier.LOCAL), "", "", url, options=options or {})


def local_spec(
    request: Request,
    repo: Path,
    folder: RunFolder,
    model: str,
    environment: Mapping[str, str],
    view: View,
    revision: str = "HEAD",
) -> RunSpec:
    """The spec of a run of `request` at `revision` of `repo`, with a note if the policy is not committed.
    Begins to connect the model, since an import takes longer than all that comes before the first request."""
    connecting = Background(partial(connect_model, model, environment), "connect")
    is_local = request.actor.tier is Tier.LOCAL  # else the base branch's policy applies
    policy_text, note = uncommitted_policy(repo) if is_local else (None, "")
    if note:
        view.tell(Note(note))
    return RunSpec(
        request=request,
        source=Source(str(repo), revision),
        folder=folder,
        connecting=connecting,
        model=model,
        environment=environment,
        origin=repo,
        notes=(note,) if note else (),
        policy_text=policy_text,
        subjects=lambda sha: newest_subjects(Git(git_dir_of(repo)), sha),
        view=view,
    )
