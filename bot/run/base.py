"""What a run takes from the base: the policy, the task, the checks. Never from the head of a pull request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.checkout.blobs import blobs_at
from bot.checkout.clone import Checkout
from bot.checkout.git import GitError
from bot.contracts.errors import UsageError
from bot.contracts.request import Request
from bot.evidence.detect import Check
from bot.gate.secrets import Finder
from bot.policy.defaults import SETUP_TIMEOUT
from bot.policy.load import load_policy
from bot.policy.schema import CheckSpec, Policy, SetupStep
from bot.tasks.task import Task

if TYPE_CHECKING:
    from bot.environment.detected import Detected


def base_policy(checkout: Checkout, request: Request, task: Task | None = None) -> Policy:
    """The policy of the base, within the bounds of the task: of a pull request its base branch's, never its head's.

    Raises `PolicyError`, and `UsageError` where the file that the request names is not there.
    """
    policy = load_policy(_base_file(checkout, request.policy_file), request.policy_file)
    if task is None:
        return policy
    from bot.tasks.apply import bounded

    return bounded(policy, task)


def base_task(checkout: Checkout, request: Request) -> Task | None:
    """The maintenance task that the request names, from the base. Raises `UsageError` where it is not there."""
    if not request.task:
        return None
    from bot.tasks.file import path_of, read_task

    path = path_of(request.task)
    text = _base_file(checkout, path)
    if text is None:
        raise UsageError(f"There is no task {request.task}: {path} is not there at the base commit.")
    return read_task(text, path)


def base_finder(checkout: Checkout, policy: Policy) -> Finder:
    """What looks like a credential: by our own patterns, and by the file of rules that the policy names. Raises
    `RuleFileError` for a mistake in it, and `UsageError` where it is not there."""
    return finder_of(policy, lambda path: _base_file(checkout, path), "at the base commit")


def finder_of(policy: Policy, read: Callable[[str], str | None], where: str) -> Finder:
    """The same, with the file's text from `read`; `where` says in words where that looks."""
    path = policy.detector.rules
    if not path:
        return Finder()
    from bot.gate.rule_file import read_rules

    text = read(path)
    if text is None:
        raise UsageError(
            f"The policy names {path} under `detector: rules`, and there is no such file {where}."
        )
    return Finder(read_rules(text, path))


def worded_as(request: Request, task: Task | None) -> Request:
    """What the model is asked for: of a task the words of its file."""
    if task is None:
        return request
    from bot.tasks.apply import worded

    return worded(request, task)


def _base_file(checkout: Checkout, path: str) -> str | None:
    return _file_at(checkout, checkout.policy_sha or checkout.base_sha, path)


def _file_at(checkout: Checkout, sha: str, path: str) -> str | None:
    """The text of a file of a commit; `None` where there is none. One stray byte hides no policy."""
    try:
        return checkout.git.run("cat-file", "blob", f"{sha}:{path}").decode(errors="replace")
    except GitError:
        return None


def checks_of(
    policy: Policy, checkout: Checkout, task: Task | None, prepared: Preparation | None = None
) -> tuple[Check, ...]:
    """The policy's, else those of what was `prepared`, else those that the repository's CI and manifests suggest; and
    the task's own."""
    own = _as_checks(task.checks if task else ())
    if prepared is not None and prepared.checks:
        return (*prepared.checks, *own)
    if policy.checks:
        return (*_as_checks(policy.checks), *own)
    found = detected_at(checkout).checks
    return (*(Check(one.name, one.plain, detected=True) for one in found), *own)


@dataclass(frozen=True, slots=True)
class Preparation:
    """How an environment is prepared that the policy says nothing of: `setup` runs in a tree of the commit `sha`, and
    `checks` are those that work after it. `versions` are the tools' that it names."""

    sha: str
    setup: tuple[SetupStep, ...]
    checks: tuple[Check, ...]
    versions: tuple[str, ...] = ()


def preparation_of(policy: Policy, checkout: Checkout) -> Preparation | None:
    """What the repository's CI and manifests ask for, as the base branch has them: the head of a pull request decides
    neither what is run nor on which files. `None` if the policy says how, or if there is nothing to do."""
    if policy.setup or policy.bring or policy.checks:
        return None
    sha = checkout.policy_sha or checkout.base_sha
    found = detected_at(checkout, sha)
    if not found.setup:
        return None
    steps = tuple(SetupStep(one.guarded, SETUP_TIMEOUT, one.egress) for one in found.setup)
    checks = tuple(Check(one.name, one.command, detected=True) for one in found.checks)
    return Preparation(sha, steps, checks, tuple(f"{one.tool} {one.version}" for one in found.versions))


def detected_at(checkout: Checkout, sha: str = "") -> Detected:
    """How the repository is set up and checked, by the files of the base commit, or of the commit `sha`."""
    from bot.environment.detect import detect, files_read

    sha = sha or checkout.base_sha
    listing = checkout.git.run("ls-tree", "-r", "-z", "--name-only", sha)
    paths = [path.decode(errors="surrogateescape") for path in listing.split(b"\0") if path]
    known = blobs_at(checkout.git, sha, files_read(paths))

    def read(path: str) -> str | None:
        if path in known:
            return known[path].decode(errors="replace")
        return _file_at(checkout, sha, path)

    return detect(paths, read)


def _as_checks(specs: Sequence[CheckSpec]) -> tuple[Check, ...]:
    return tuple(
        Check(spec.name, spec.command, spec.timeout, junit=spec.junit, coverage=spec.coverage)
        for spec in specs
    )
