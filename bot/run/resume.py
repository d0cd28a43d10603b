"""`continue`: put the change of an earlier run into the new work tree.

A bundle is an artifact, and so hostile: it is read as publishing reads it, and its patch passes the gate before a byte
of it is written.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bot.agent.first_message import LastRun
from bot.checkout import remote
from bot.checkout.clone import Checkout
from bot.checkout.git import CheckoutError, GitError
from bot.checkout.objects import tree_with_patch
from bot.contracts.errors import GateError, UsageError
from bot.contracts.formatting import sentence
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request
from bot.gate.judge import Verdict, judge_patch, refuse_bombs
from bot.policy.protected_files import MayWrite
from bot.publish.bundle import Bundle, read_bundle
from bot.session.context.run import Run


def bundle_to_continue(folder: Path, request: Request) -> Bundle:
    """The bundle that `request` continues. Raises `UsageError` if it belongs to another thread or repository."""
    bundle = read_bundle(folder)
    was = bundle.outcome.request
    if os.path.isabs(request.clone_url) and was.clone_url != request.clone_url:
        raise UsageError(
            f"The last run worked on {was.clone_url}, not on {request.clone_url}: nothing was done."
        )
    if _thread_of(was) != _thread_of(request):
        raise UsageError("The bundle to continue belongs to another thread. Nothing was done.")
    return bundle


_DIFF = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")


def apply_earlier_change(run: Run, may_write: MayWrite) -> LastRun | None:
    """Put the change of the run that `run` continues into its work tree, which no workspace must have opened yet.
    Raises `UsageError` if the change of a bundle does not apply. If that of a pull request does not, the run begins at
    the base, and the model is told why."""
    if run.continued is not None:
        outcome = run.continued.outcome
        names = tuple(file.path for file in outcome.files)
        verdict = _verdict(run, may_write, run.continued.patch, outcome.base_sha, names)
        return _put(verdict, run.checkout, _last_run(outcome))
    if run.earlier is None or run.profile.read_only:
        return None
    last, head, git = run.earlier, run.earlier.head_sha, run.checkout.git
    try:
        if remote.is_remote(run.source.url):
            remote.fetch(git.git_dir, run.source.url, [head], run.source.token, ["--depth=2", "--no-tags"])
        parent = git.line("rev-parse", f"{head}^")
        verdict = _verdict(run, may_write, git.run(*_DIFF, parent, head), parent)
    except (GitError, CheckoutError, UsageError) as error:
        return last._replace(ending=f"The last run's change cannot be used: {error}.")
    if verdict is None or not verdict.files:
        last = last._replace(ending="The base has all of its change by now.")
    return _put(verdict, run.checkout, last)


def _put(verdict: Verdict | None, checkout: Checkout, last: LastRun) -> LastRun:
    """Put a change into the work tree, if there is one."""
    if verdict is None or not verdict.files:
        return last
    base = f"{checkout.base_sha}^{{tree}}"
    index = checkout.tree / ".git" / "index"
    checkout.git.run("read-tree", "-m", "-u", base, verdict.tree_sha, work_tree=checkout.tree, index=index)
    # The index goes back to the base: `git diff` in the work tree shows the change.
    checkout.git.run("read-tree", base, index=index)
    return last._replace(files=tuple(file.path for file in verdict.files))


def _verdict(
    run: Run, may_write: MayWrite, patch: bytes, old: str, names: Sequence[str] = ()
) -> Verdict | None:
    """The change `patch` of commit `old` on the current base; `None` if the base has all of it. `names` are its files,
    for messages."""
    base = run.checkout.base_sha
    try:
        refuse_bombs(patch)
        if not patch or _is_in(patch, run.checkout):
            return None
        if old != base:
            patch = _merged(run, patch, old, names)
        return judge_patch(run.checkout.git, base, patch, may_write=may_write)
    except GateError as error:
        raise UsageError(f"The last run's change cannot be used: {error}.") from error


def _is_in(patch: bytes, checkout: Checkout) -> bool:
    with suppress(GitError):
        tree_with_patch(checkout.git, checkout.base_sha, patch, "--reverse")
        return True
    return False


def _merged(run: Run, patch: bytes, old: str, names: Sequence[str]) -> bytes:
    """The change as a patch on the current base, by a three-way merge with the commit it was made on, if that can be
    had."""
    source, git, base = run.source, run.checkout.git, run.checkout.base_sha
    try:
        if remote.is_remote(source.url):
            with suppress(CheckoutError):
                remote.fetch(git.git_dir, source.url, [old], source.token, ["--depth=1", "--no-tags"])
        tree = tree_with_patch(git, base, patch, "--3way")
        return git.run(*_DIFF, base, tree)
    except GitError as error:
        files = ", ".join(f"`{name}`" for name in names[:5]) or "its files"
        raise UsageError(
            f"The last run's change was made on commit {old[:12]} and does not apply to {base[:12]}: "
            f"{files} changed meanwhile. Ask for it anew with `/agent fix`."
        ) from error


def _last_run(outcome: Outcome) -> LastRun:
    description = outcome.description
    texts = (description.title, description.summary, description.notes, outcome.answer)
    return LastRun(
        instruction=outcome.request.full_instruction,
        ending=f"{outcome.status.value} ({outcome.stop_reason.value}). {sentence(outcome.reason)}",
        message="\n\n".join(part for part in texts if part),
        question=outcome.question,
    )


def _thread_of(request: Request) -> tuple[str, int]:
    # A run in a checkout may or may not be for its repository on GitHub.
    is_local = os.path.isabs(request.clone_url)
    where = request.clone_url if is_local else request.repository.lower()
    return where, request.thread.number if request.thread else 0
