"""`slash-agent fix` and the other verbs that work on a local checkout. A change becomes a new branch or a patch file.

The checked-out branch, the index, the work tree and dirty files are never touched; the job works on HEAD.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from bot.checkout.branches import count_uncommitted
from bot.checkout.clone import Source
from bot.checkout.dirty import DirtyBase, make_dirty_base
from bot.checkout.git import Git
from bot.checkout.local import git_dir_of, repository_root
from bot.checkout.objects import newest_subjects
from bot.contracts.errors import AgentError, ExitCode, PublishError, UsageError
from bot.contracts.formatting import sentence
from bot.contracts.journal import Note
from bot.contracts.outcome import Outcome, exit_code
from bot.contracts.plain_text import utf8
from bot.contracts.plan import Plan
from bot.contracts.progress import View
from bot.contracts.request import ALLOW_DELETIONS, SKILL, Actor, Request, Tier
from bot.providers.connect import default_model
from bot.publish.bundle import OUTCOME, PATCH, PLAN, Bundle, parse, read_bundle
from bot.review.known_findings import NO_MEMORY
from bot.run.run import run
from bot.session.context.preflight import (
    check_file,
    check_folder,
    check_machine,
    check_new_branch,
    uncommitted_policy,
)
from bot.session.context.review_scope import PullTarget
from bot.session.context.run import RunResult, RunSpec
from bot.session.local.review import range_to_review
from bot.session.run_folder import RunFolder, new_folder, parent_folder
from bot.session.tools.approvals import own_recording
from bot.verbs.record import Earlier
from bot.verbs.registry import DEFAULT, VERBS, needs, taking
from bot.workspace.sandbox.backends import Setting

_NO_INSTRUCTION = """Say what to do, as in: {}
For an issue write 123 or '#123': without quotes, a shell takes #123 for a comment."""

_ONLY_PATCH = (
    "The change does not apply to HEAD without your uncommitted changes, so it is a patch and no commit."
)


class FixOptions(NamedTuple):
    """Options of the command line. `out` is the folder for the bundle, `patch` a file in place of a branch, `resume`
    the folder of the run to continue; `allow_deletions` lets the run delete more than half of the files. `checks` are
    options of the request: which checks run, and for how long. `plan` is the file or the bundle with the plan to carry
    out; `verb` is what is asked for if nothing earlier is named. `from_github` adds to a run what it takes from
    GitHub. With `publishes` the bundle is published, and no branch or patch is made. With `dirty` uncommitted changes
    are part of the base, of untracked files those in `include`.

    A review is of what HEAD changes since `base`, a branch or commit, empty for the remote's default branch; with
    `since`, of what is new since that commit. `target` is the pull request that the review is for."""

    repo: Path
    instruction: str
    model: str = ""
    budget_usd: float | None = None
    sandbox: Setting = "auto"
    patch: Path | None = None
    out: Path | None = None
    resume: Path | None = None
    allow_deletions: bool = False
    checks: Mapping[str, str] = MappingProxyType({})
    verb: str = DEFAULT
    plan: Path | None = None
    skill: str | None = None
    from_github: Callable[[RunSpec], RunSpec] | None = None
    publishes: bool = False
    dirty: bool = False
    include: Sequence[Path] = ()
    base: str = ""
    since: str = ""
    target: PullTarget | None = None


class FixResult(NamedTuple):
    """`branch` is empty if none was created, `pull_url` if nothing was published; `unseen` counts files that differ
    from HEAD. `kept_run` is the run's folder if its work tree is kept, `notes` say what could not be found out."""

    bundle: Bundle
    exit_code: ExitCode
    branch: str = ""
    unseen: int = 0
    kept_run: RunFolder | None = None
    notes: tuple[str, ...] = ()
    pull_url: str = ""

    @property
    def outcome(self) -> Outcome:
        return self.bundle.outcome


def fix(options: FixOptions, environment: Mapping[str, str], view: View) -> FixResult:
    """Do the job and report to `view`. Raises `AgentError` for an error before the first request, and if the result
    cannot be written to its destination; `NothingToReviewError` if there is nothing to review."""
    verb, continues = VERBS[options.verb], needs(options.verb, Earlier.RUN) or options.resume is not None
    if not (options.instruction.strip() or continues or options.plan or verb.reviews):
        raise UsageError(_NO_INSTRUCTION.format(verb.local.example if verb.local else ""))
    plan = _read_plan(options)
    repo = repository_root(options.repo.resolve())
    check_machine()
    check_folder(options.out)
    check_file(options.patch, "--patch")
    if options.patch is None and verb.changes and not options.publishes:
        check_new_branch(repo)
    review_range = None
    if verb.reviews:
        memory = options.target.memory if options.target else NO_MEMORY
        base, review_range = range_to_review(repo, options.base, options.since, memory)
        everything = f"Review what HEAD changes since it left {base}."
        options = options._replace(instruction=options.instruction.strip() or everything)
    options = options._replace(model=options.model or default_model(environment))
    last = _last(options, environment, repo) if continues else None
    request = _request(options, repo, plan, last, environment)
    folder = new_folder(environment)
    try:
        spec = _spec(options, request, repo, folder, environment, view)
        dirty = make_dirty_base(repo, options.include, folder.root / "dirty.git") if options.dirty else None
        if dirty is not None:
            at, notes, subjects = Source(str(dirty.git_dir), "HEAD"), (*spec.notes, dirty.note), spec.subjects
            spec = replace(spec, source=at, notes=notes, subjects=lambda sha: subjects(dirty.head))
        elif review_range is not None:
            spec = replace(spec, source=Source(str(repo), review_range.head_sha), range=review_range)
        return _deliver(options, repo, folder, run(replace(spec, resume=last)), dirty)
    finally:
        folder.tidy()


def _spec(
    options: FixOptions,
    request: Request,
    repo: Path,
    folder: RunFolder,
    environment: Mapping[str, str],
    view: View,
) -> RunSpec:
    """The spec of a run at HEAD of `repo`, with a note if the policy is not committed."""
    spec = RunSpec(
        request=request,
        source=Source(str(repo), "HEAD"),
        folder=folder,
        model=options.model,
        environment=environment,
        sandbox=options.sandbox,
        budget_usd=options.budget_usd,
        out=options.out,
        origin=repo,
        memory=options.target.memory if options.target else NO_MEMORY,
        subjects=lambda sha: newest_subjects(Git(git_dir_of(repo)), sha),
        view=view,
        can_continue=VERBS[options.verb].changes,
    )
    if options.from_github:
        spec = options.from_github(spec)
    if spec.tier is Tier.LOCAL:  # else the base branch's policy applies
        policy_text, note = uncommitted_policy(repo)
        spec = replace(spec, policy_text=policy_text, notes=(*((note,) if note else ()), *spec.notes))
    for one in spec.notes:
        view.tell(Note(one))
    return spec


def _request(
    options: FixOptions, repo: Path, plan: Plan | None, last: Path | None, environment: Mapping[str, str]
) -> Request:
    """Return the request. One that goes on from the bundle `last` has its plan, thread and repository."""
    recording = own_recording(last, parent_folder(environment))
    was_allowed = recording is not None and recording.header.request.allows_deletions
    # What a person allows the run holds for the runs that continue it too.
    deletes = {ALLOW_DELETIONS: "true"} if options.allow_deletions or was_allowed else {}
    request_options = {**options.checks, **({SKILL: options.skill} if options.skill else {}), **deletes}
    instruction = options.instruction.strip()
    if last is None:
        name = taking(Earlier.PLAN) if plan else options.verb
        request = local_request(name, instruction or (plan.title if plan else ""), repo, request_options)
        if (target := options.target) is not None:
            request = request._replace(
                repository=target.repository,
                base_ref=target.pull.base_ref,
                clone_url=target.clone_url,
                pull=target.pull,
            )
        return request._replace(plan=plan)
    before = read_bundle(last).outcome.request
    # The instruction of the run that is continued names the branch.
    request = local_request(
        taking(Earlier.RUN), instruction or before.full_instruction, repo, request_options
    )
    of_github = {"repository": before.repository, "base_ref": before.base_ref, "thread": before.thread}
    return request._replace(plan=before.plan, **of_github)  # type: ignore[arg-type]  # fields of a request


def _read_plan(options: FixOptions) -> Plan | None:
    if options.plan is None:
        return None
    if options.instruction.strip():
        raise UsageError("--plan takes no instruction: leave it out, or make another plan.")
    file = options.plan / PLAN if options.plan.is_dir() else options.plan
    try:
        return parse(Plan, file.read_bytes(), str(file))
    except OSError as error:
        raise UsageError(f"The plan {file} cannot be read: {error.strerror}.") from error


def _last(options: FixOptions, environment: Mapping[str, str], repo: Path) -> Path:
    """The bundle of the run to continue, by default the last one in `repo`. If its work tree still exists, the bundle
    is made from it. Raises `FolderBusy`."""
    from bot.run.salvage import newest_run, salvage

    root = options.resume or newest_run(environment, repo)
    if not root.is_dir():
        raise UsageError(f"There is no run folder {root} to continue.")
    if (root / OUTCOME).is_file():
        return root.resolve()
    folder = RunFolder(root.resolve())
    if folder.has_tree or not (folder.bundle / OUTCOME).is_file():
        salvage(folder.root, environment, allow_deletions=options.allow_deletions)
    return folder.bundle


def _deliver(
    options: FixOptions, repo: Path, folder: RunFolder, result: RunResult, dirty: DirtyBase | None
) -> FixResult:
    """Make the branch or write the patch. Raises `PublishError`; the bundle is there already."""
    from bot.run.result import make_branch

    verdict, patch, outcome = result.verdict, result.bundle.folder / PATCH, result.outcome
    branch, unseen = "", 0
    notes: tuple[str, ...] = ()
    try:
        if verdict is not None and verdict.files and not options.publishes:
            if options.patch is None:
                branch = make_branch(repo, result, dirty)
                notes = () if branch else (_ONLY_PATCH,)
            else:
                options.patch.write_bytes(verdict.patch)
    except (AgentError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        if options.patch is not None:
            why = f"The patch cannot be written to {options.patch}: {why}"
        failure = PublishError(f"{why}. The change is kept as {patch}.")
        if options.patch is None:
            failure.add_note(f"apply it: git -C {quote(str(repo))} apply {quote(str(patch))}")
        raise failure from error
    finally:
        if not result.needs_tree:
            folder.finish()
    try:
        unseen = max(count_uncommitted(repo) - len(dirty.paths if dirty else ()), 0)
    except AgentError as error:  # the result stands
        notes = (sentence(f"uncommitted files could not be counted: {error}"),)
    code, tree_folder = exit_code(outcome.stop_reason, outcome.status), folder if result.needs_tree else None
    return FixResult(result.bundle, code, branch, unseen, tree_folder, notes)


def local_request(
    verb: str, instruction: str | None, repo: Path, options: dict[str, str] | None = None
) -> Request:
    """The request of the person at the terminal. Arguments and paths are bytes that need not be UTF-8; the journal and
    the bundle are, so what is not becomes U+FFFD here."""
    text, url = utf8(instruction or ""), utf8(repo)
    return Request(verb, text or None, Actor("you", 0, Tier.LOCAL), "", "", url, options=options or {})
