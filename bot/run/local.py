"""`slash-agent fix`: the main job on a local checkout. The result is a new branch or a patch file.

The checked-out branch, the index, the work tree and dirty files are never touched; the job works on HEAD.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.checkout.clone import Source
from bot.checkout.local import top_of
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.progress import Noted, View
from bot.contracts.request import Actor, Request, Tier, Verb
from bot.providers.connect import default_model
from bot.run.cut_off import cut_off, names_the_work
from bot.run.folder import RunFolder, new_folder
from bot.run.job import Ended, Job, run_job
from bot.run.models import connect_model
from bot.run.preflight import check_file, check_folder, check_machine, check_new_branch, policy_note
from bot.run.signals import cancelled_by_signals
from bot.sandbox.choose import Setting

GO_ON = "Go on where the last run ended, and finish what it was asked."


@dataclass(frozen=True, slots=True)
class Fix:
    """What the command line asked for. `out` is where the bundle goes; `patch` a file instead of a branch; `resume` the
    folder of a run that is gone on from."""

    repo: Path
    instruction: str
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    patch: Path | None = None
    out: Path | None = None
    resume: Path | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    """What came of it. `branch` is empty where none was made; `unseen` counts files that HEAD does not have so.
    `kept_run` is the run's folder if its work tree is kept."""

    outcome: Outcome
    exit_code: ExitCode
    bundle: Path
    branch: str
    unseen: int
    kept_run: RunFolder | None = None


def fix(asked: Fix, environment: Mapping[str, str], view: View) -> Fixed:
    """Do the job while `view` looks on. Raises an `AgentError` for what goes wrong before the first request, and where
    the result cannot be left where it was wanted."""
    if not asked.instruction.strip() and asked.resume is None:
        raise UsageError('Say what to do, as in: slash-agent fix "the date parser should accept ISO weeks"')
    repo = top_of(asked.repo.resolve())
    check_machine()
    check_folder(asked.out)
    check_file(asked.patch, "--patch")
    if asked.patch is None:
        check_new_branch(repo)
    model = asked.model or default_model(environment)
    last = _last(asked.resume, environment) if asked.resume else None
    folder = new_folder(environment)
    note = policy_note(repo)
    if note:
        view.tell(Noted(note))
    job = Job(
        request=Request(
            Verb.CONTINUE if last else Verb.FIX,
            asked.instruction.strip() or GO_ON,
            Actor("you", 0, Tier.LOCAL),
            "",
            "",
            str(repo),
        ),
        source=Source(str(repo), "HEAD"),
        folder=folder,
        connect=lambda: connect_model(model, environment),
        connect_named=lambda name: connect_model(name, environment),
        environment=environment,
        sandbox=asked.sandbox,
        origin=repo,
        budget_usd=asked.budget_usd,
        resume=last,
        notes=(note,) if note else (),
        say=lambda text: view.tell(Noted(text)),
        view=view,
    )
    stop = CancelToken()
    at_once = cut_off(folder, asked.out, view, "slash-agent fix")
    with names_the_work(folder, goes_on=True), cancelled_by_signals(stop, view.interrupted, at_once):
        return _keep(asked, repo, folder, run_job(job, stop))


def _last(root: Path, environment: Mapping[str, str]) -> Path:
    """The bundle of the run in `root`; made now, from its work tree, if that is kept. Raises `FolderBusy`."""
    from bot.publish.bundle.files import OUTCOME

    if not root.is_dir():
        raise UsageError(f"There is no run folder {root} to go on from.")
    if (root / OUTCOME).is_file():
        return root.resolve()
    folder = RunFolder(root.resolve())
    if folder.has_tree or not (folder.bundle / OUTCOME).is_file():
        from bot.run.salvage import salvage

        salvage(folder.root, environment)
    return folder.bundle


def _keep(asked: Fix, repo: Path, folder: RunFolder, ended: Ended) -> Fixed:
    """The bundle first: whatever fails after it, the diff can be had. Its rooms are imported here, at the end, and
    not before the first request."""
    from bot.publish.bundle.files import PATCH
    from bot.run.conclude import exit_code
    from bot.run.show import keep

    outcome, verdict = ended.outcome, ended.verdict
    bundle = keep(asked.out, folder, ended)
    branch = ""
    try:
        if verdict is not None and verdict.files:
            if asked.patch is not None:
                _write(asked.patch, verdict.patch)
            else:
                branch = _branch(repo, ended)
        unseen = _unseen(repo)
    except UsageError as error:
        said = str(error).rstrip(".")
        raise UsageError(f"{said}. The change is kept as {bundle / PATCH}.") from error
    finally:
        if not ended.needs_tree:
            folder.finish()
    code = exit_code(outcome.stop_reason, outcome.status)
    return Fixed(outcome, code, bundle, branch, unseen, folder if ended.needs_tree else None)


def _write(file: Path, patch: bytes) -> None:
    try:
        file.write_bytes(patch)
    except OSError as error:
        raise UsageError(f"The patch cannot be written to {file}: {error.strerror}.") from error


def _branch(repo: Path, ended: Ended) -> str:
    from bot.checkout.branches import Signature, branch_name, commit_tree, create_branch
    from bot.publish.body.title import title
    from bot.publish.change.commit import commit_message

    assert ended.verdict is not None
    identity = Signature(ended.policy.identity.name, ended.policy.identity.email)
    checkout = ended.checkout
    commit = commit_tree(
        checkout.git,
        ended.verdict.tree_sha,
        checkout.base_sha,
        commit_message(ended.outcome),
        identity,
        identity,
        ended.outcome.ended_at,
    )
    name = branch_name(None, title(ended.outcome))
    return create_branch(repo, name, source=checkout.git, commit=commit, base=checkout.base_sha)


def _unseen(repo: Path) -> int:
    from bot.checkout.branches import uncommitted

    return uncommitted(repo)
