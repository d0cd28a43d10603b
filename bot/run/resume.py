"""Going on from the bundle of an earlier run: its change is put into the new work tree, or refused in words.

A bundle is an artifact, and so hostile: it is read as publishing reads it, and its patch goes through the gate before
a byte of it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.agent.task import LastRun
from bot.checkout import remote
from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout, Source
from bot.checkout.errors import CheckoutError
from bot.checkout.git import GitError
from bot.contracts import journal as lines
from bot.contracts.errors import GateError, UsageError
from bot.contracts.outcome import ChangedFile, Outcome
from bot.contracts.request import Request
from bot.contracts.wording import sentence
from bot.gate.patch import judge_patch, refuse_bombs
from bot.gate.scratch import scratch
from bot.gate.verdict import MayWrite, Verdict
from bot.publish.bundle.read import Bundle, read_bundle

_LINK = "120000"


@dataclass(frozen=True, slots=True)
class Resumed:
    """What the new run starts with. `files` is what its tree holds of the last run's change, for the journal."""

    last: LastRun
    files: tuple[lines.FileVersion, ...] = ()


def last_bundle(folder: Path, request: Request) -> Bundle:
    """The bundle that `request` goes on from. Raises `UsageError` where it is of another place."""
    bundle = read_bundle(folder)
    was = bundle.outcome.request
    ours = was.repository.lower() == request.repository.lower()
    if ours and not request.repository and was.clone_url != request.clone_url:
        raise UsageError(
            f"The last run worked on {was.clone_url}, not on {request.clone_url}: nothing was done."
        )
    if not ours or (was.thread.number if was.thread else 0) != (
        request.thread.number if request.thread else 0
    ):
        raise UsageError(
            "The bundle that was to be gone on from belongs to another thread: nothing was done."
        )
    return bundle


def resume(bundle: Bundle, checkout: Checkout, source: Source, may_write: MayWrite) -> Resumed:
    """Put the bundle's change into the work tree of `checkout`, which no workshop must have opened yet.

    Raises `UsageError` where it does not apply to the commit at hand.
    """
    verdict = _verdict(bundle, checkout, source, may_write)
    if verdict is None or not verdict.files:
        return Resumed(_told(bundle.outcome, ()))
    base = f"{checkout.base_sha}^{{tree}}"
    index = checkout.tree / ".git" / "index"
    checkout.git.run("read-tree", "-m", "-u", base, verdict.tree_sha, work_tree=checkout.tree, index=index)
    # The index goes back to the base: `git diff` in the work tree shows the change.
    checkout.git.run("read-tree", base, index=index)
    files = tuple(file.path for file in verdict.files)
    return Resumed(_told(bundle.outcome, files), _versions(checkout, verdict))


def _verdict(bundle: Bundle, checkout: Checkout, source: Source, may_write: MayWrite) -> Verdict | None:
    """The change on the commit at hand; `None` where that commit has all of it already."""
    try:
        refuse_bombs(bundle.patch)
    except GateError as error:
        raise UsageError(f"The last run's change cannot be gone on from: {error}.") from error
    if not bundle.patch or _is_in(bundle.patch, checkout):
        return None
    try:
        return judge_patch(checkout.git, checkout.base_sha, bundle.patch, may_write=may_write)
    except GateError as error:
        if bundle.outcome.base_sha == checkout.base_sha:
            raise UsageError(f"The last run's change cannot be gone on from: {error}.") from error
    merged = _merged(bundle, checkout, source)
    try:
        return judge_patch(checkout.git, checkout.base_sha, merged, may_write=may_write)
    except GateError as error:
        raise UsageError(f"The last run's change cannot be gone on from: {error}.") from error


def _is_in(patch: bytes, checkout: Checkout) -> bool:
    with scratch(checkout.git, checkout.base_sha) as room:
        room.git.run("read-tree", checkout.base_sha, index=room.index)
        try:
            room.git.run("apply", "--cached", "--check", "--reverse", "-", input=patch, index=room.index)
        except GitError:
            return False
    return True


def _merged(bundle: Bundle, checkout: Checkout, source: Source) -> bytes:
    """The change as a patch on the commit at hand, by a three-way merge with the commit that it was made on."""
    old = bundle.outcome.base_sha
    git = checkout.git
    try:
        if remote.is_remote(source.url):
            remote.fetch(git.git_dir, source.url, [old], source.token, ["--depth=1", "--no-tags"])
        with scratch(git, checkout.base_sha) as room:
            git.run("read-tree", checkout.base_sha, index=room.index)
            git.run(
                "apply",
                "--cached",
                "--3way",
                "--whitespace=nowarn",
                "-",
                input=bundle.patch,
                index=room.index,
            )
            tree = git.run("write-tree", index=room.index).decode().strip()
        return git.run(
            "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", checkout.base_sha, tree
        )
    except (GitError, CheckoutError) as error:
        names = ", ".join(f"`{file.path}`" for file in bundle.outcome.files[:5]) or "its files"
        raise UsageError(
            f"The last run's change was made on commit {old[:12]} and does not apply to {checkout.base_sha[:12]}: "
            f"{names} changed meanwhile. Ask for it anew with `/agent fix`."
        ) from error


def _versions(checkout: Checkout, verdict: Verdict) -> tuple[lines.FileVersion, ...]:
    before = blobs_at(checkout.git, checkout.base_sha, [file.path for file in verdict.files])
    after = blobs_at(checkout.git, verdict.tree_sha, [file.path for file in verdict.files])
    return tuple(_version(file, before.get(file.path), after.get(file.path)) for file in verdict.files)


def _version(file: ChangedFile, before: bytes | None, after: bytes | None) -> lines.FileVersion:
    link = after.decode(errors="surrogateescape") if after is not None and file.mode == _LINK else None
    return lines.FileVersion(
        path=file.path,
        before=None if before is None else _sha256(before),
        after=None if after is None else _sha256(after),
        mode=int(file.mode, 8) & 0o777 or 0o644,
        before_content=before,
        content=None if link is not None else after,
        link=link,
    )


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _told(outcome: Outcome, files: tuple[str, ...]) -> LastRun:
    description = outcome.description
    said = (description.title, description.summary, description.notes, outcome.answer)
    return LastRun(
        asked=outcome.request.wish,
        ended=f"{outcome.status.value} ({outcome.stop_reason.value}). {sentence(outcome.reason)}",
        said="\n\n".join(part for part in said if part),
        question=outcome.question,
        files=files,
    )
