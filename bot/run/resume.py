"""`continue`: put the change of an earlier run into the new work tree.

A bundle is an artifact, and so hostile: it is read as publishing reads it, and its patch passes the gate before a byte
of it is written.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bot.agent.first_message import LastRun
from bot.checkout import remote
from bot.checkout.clone import Checkout, Source
from bot.checkout.errors import CheckoutError
from bot.checkout.git import GitError
from bot.contracts.errors import GateError, UsageError
from bot.contracts.formatting import sentence
from bot.contracts.outcome import Outcome
from bot.contracts.request import Request
from bot.gate.judge import judge_patch, refuse_bombs
from bot.gate.objects import scratch
from bot.gate.verdict import Verdict
from bot.gate.withheld import MayWrite
from bot.publish.bundle.read import read_bundle
from bot.publish.bundle.write import Bundle
from bot.session.context.run import EarlierRun, Run


def last_bundle(folder: Path, request: Request) -> Bundle:
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


def put_earlier_change(run: Run, may_write: MayWrite) -> LastRun | None:
    """Put the change of the run that `run` continues into the work tree."""
    if run.last is not None:
        return resume(run.last, run.checkout, run.source, may_write)
    if run.earlier is None or (run.earlier.head_sha and run.profile.read_only):
        return None
    return resume_pull(run.earlier, run.checkout, run.source, may_write)


def resume(bundle: Bundle, checkout: Checkout, source: Source, may_write: MayWrite) -> LastRun:
    """Put the bundle's change into the work tree of `checkout`, which no workspace must have opened yet.

    Raises `UsageError` where it does not apply to the commit at hand.
    """
    outcome = bundle.outcome
    names = tuple(file.path for file in outcome.files)
    change = EarlierChange(bundle.patch, outcome.base_sha, names)
    return _put(_verdict(change, checkout, source, may_write), checkout, _last_run(outcome))


class EarlierChange(NamedTuple):
    """A patch and the commit that it is made on; `names` are its files, for messages."""

    patch: bytes
    base_sha: str
    names: tuple[str, ...] = ()


_DIFF = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")


def resume_pull(earlier: EarlierRun, checkout: Checkout, source: Source, may_write: MayWrite) -> LastRun:
    """Put the change of the bot's open pull request, if there is one, into the work tree. Where it does not apply any
    more, the run begins at the base, and the model is told why."""
    last, head = earlier.last, earlier.head_sha
    if not head:
        return last
    try:
        if remote.is_remote(source.url):
            options = ["--depth=2", "--no-tags"]
            remote.fetch(checkout.git.git_dir, source.url, [head], source.token, options)
        parent = checkout.git.run("rev-parse", f"{head}^").decode().strip()
        change = EarlierChange(checkout.git.run(*_DIFF, parent, head), parent)
        verdict = _verdict(change, checkout, source, may_write)
    except (GitError, CheckoutError, UsageError) as error:
        return last._replace(ending=f"The last run's change cannot be used: {error}.")
    if verdict is None or not verdict.files:
        last = last._replace(ending="The base has all of its change by now.")
    return _put(verdict, checkout, last)


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
    change: EarlierChange, checkout: Checkout, source: Source, may_write: MayWrite
) -> Verdict | None:
    """The change on the current base; `None` if the base has all of it."""
    try:
        refuse_bombs(change.patch)
        if not change.patch or _is_in(change.patch, checkout):
            return None
        moved = change.base_sha != checkout.base_sha
        patch = _merged(change, checkout, source) if moved else change.patch
        return judge_patch(checkout.git, checkout.base_sha, patch, may_write=may_write)
    except GateError as error:
        raise UsageError(f"The last run's change cannot be used: {error}.") from error


def _is_in(patch: bytes, checkout: Checkout) -> bool:
    with scratch(checkout.git, checkout.base_sha) as work_area:
        work_area.git.run("read-tree", checkout.base_sha, index=work_area.index)
        try:
            work_area.git.run(
                "apply", "--cached", "--check", "--reverse", "-", input=patch, index=work_area.index
            )
        except GitError:
            return False
    return True


def _merged(change: EarlierChange, checkout: Checkout, source: Source) -> bytes:
    """The change as a patch on the current base, by a three-way merge with the commit it was made on, if that can be
    had."""
    old, git = change.base_sha, checkout.git
    try:
        if remote.is_remote(source.url):
            with suppress(CheckoutError):
                remote.fetch(git.git_dir, source.url, [old], source.token, ["--depth=1", "--no-tags"])
        with scratch(git, checkout.base_sha) as work_area:
            index = work_area.index
            git.run("read-tree", checkout.base_sha, index=index)
            git.run(
                "apply", "--cached", "--3way", "--whitespace=nowarn", "-", input=change.patch, index=index
            )
            tree = git.run("write-tree", index=index).decode().strip()
        return git.run(*_DIFF, checkout.base_sha, tree)
    except GitError as error:
        names = ", ".join(f"`{name}`" for name in change.names[:5]) or "its files"
        raise UsageError(
            f"The last run's change was made on commit {old[:12]} and does not apply to {checkout.base_sha[:12]}: "
            f"{names} changed meanwhile. Ask for it anew with `/agent fix`."
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
