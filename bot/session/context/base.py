"""What a run reads at its base: policy, task, skills, checks. Never from the head of a pull request."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.checkout.clone import Checkout
from bot.checkout.objects import blobs_at
from bot.contracts.errors import UsageError
from bot.contracts.request import CHECK, NO_CHECKS, SKILL, Request
from bot.ecosystems.registry import ecosystems
from bot.environment.detect import detect, files_read
from bot.environment.detection_result import Detection
from bot.evidence.check import Check
from bot.maintenance import apply
from bot.maintenance.task import Task, path_of, read_task
from bot.parsing.parser import Parser
from bot.policy.check_settings import CheckSpec, ServiceSpec, SetupStep
from bot.policy.load import load_policy
from bot.policy.settings import Policy
from bot.publish.convention.read import Conventions, read_conventions
from bot.session.context.run import RunSpec
from bot.skills.folders import SkillSet, Wanted, commit_skills, session_skills
from bot.verbs.registry import VERBS


def base_policy(
    checkout: Checkout, request: Request, task: Task | None, parser: Parser | None, text: str | None = None
) -> Policy:
    """The policy of the base, within the bounds of the task: of a pull request its base branch's, never its head's.
    `text` is that of a person's own checkout, which holds in its place.

    Raises `PolicyError`, and `UsageError` where the file that the request names is not there.
    """
    if text is None:
        text = checkout.read(request.policy_file, checkout.policy_sha)
    policy = load_policy(text, request.policy_file, parser)
    return policy if task is None else apply.with_task_limits(policy, task)


def base_task(checkout: Checkout, request: Request, parser: Parser | None) -> Task | None:
    """The maintenance task that the request names, from the base. Raises `UsageError` where it is not there."""
    if not request.task:
        return None
    path = path_of(request.task)
    text = checkout.read(path, checkout.policy_sha)
    if text is None:
        raise UsageError(f"There is no task {request.task}: {path} is not there at the base commit.")
    return read_task(text, path, parser)


def base_skills(checkout: Checkout, user: Mapping[str, str], request: Request) -> SkillSet:
    """Return the skills of the base, those of the person whose environment is `user` (an empty one has none) and the
    bundled ones. Raises `UsageError` if the request names one that is not there."""
    commit = checkout.policy_sha or checkout.base_sha
    wanted = Wanted(request.instruction or "", request.options.get(SKILL, ""))
    return session_skills(user, commit_skills(checkout.git, commit), wanted)


def base_conventions(spec: RunSpec, checkout: Checkout, parser: Parser) -> Conventions:
    """Return the conventions for the title of a change, none for a run that makes no change."""
    if not VERBS[spec.request.verb].changes:
        return Conventions()
    sha = checkout.policy_sha or checkout.base_sha
    return read_conventions(checkout.git, sha, parser, lambda: spec.subjects(sha))


def check_bring_folders(task: Task | None, origin: Path | None) -> None:
    """Raise `UsageError` if a folder that the task brings is not there, before a request is paid."""
    missing = [name for name in task.bring if origin is None or not (origin / name).is_dir()] if task else []
    if task and missing:
        raise UsageError(
            f"The task {task.name} brings {missing[0]}, which is not there: an earlier job of the workflow makes it. "
            "Nothing was run."
        )


def checks_of(policy: Policy, task: Task | None, detected: Detection) -> tuple[Check, ...]:
    """Return the checks of the policy, else those that were detected; and the task's own."""
    named = _as_checks(policy.checks) or (
        Check(one.name, one.command, detected=True, fallback=one.fallback) for one in detected.checks
    )
    return (*named, *_as_checks(task.checks if task else ()))


def services_of(policy: Policy, detected: Detection) -> tuple[ServiceSpec, ...]:
    """Return the servers of the policy, or those that detected checks need."""
    if policy.run_services or policy.checks:
        return policy.run_services
    return tuple(ServiceSpec(one.name, one.command, one.ready) for one in detected.services)


def detected_setup(policy: Policy, detected: Detection) -> tuple[SetupStep, ...]:
    """Return the detected setup; none if the policy has its own."""
    return () if policy.setup or policy.bring else detected.setup


def detected_at(checkout: Checkout, origin: Path | None = None, *, sockets: bool = True) -> Detection:
    """Return how the repository is set up and checked, by its CI and manifests; `sockets` is that of `detect`.

    They are the base branch's: the head of a pull request decides neither what is run nor on which files. `origin` is
    the user's own checkout, if there is one: what builds left there tells their options.
    """
    sha = checkout.policy_sha or checkout.base_sha
    paths = checkout.paths_at(sha)
    known = blobs_at(checkout.git, sha, files_read(paths))
    left: dict[str, Path] = {}
    if origin is not None:  # files of builds that the commit lacks; no link is followed
        files = {path: origin.resolve() / path for one in ecosystems() for path in one.builds_leave}
        left = {
            path: file
            for path, file in files.items()
            if path not in paths and file.is_file() and file.resolve() == file
        }

    def read(path: str) -> str | None:
        if path in known:
            return known[path].decode(errors="replace")
        return left[path].read_text(errors="replace") if path in left else checkout.read(path, sha)

    return detect({*paths, *left}, read, sockets=sockets)


def chosen_checks(checks: tuple[Check, ...], options: Mapping[str, str]) -> tuple[Check, ...]:
    """Return the checks that a request chose: all, none, or the one that it named; blanks, hyphens and case do not
    matter. Raises `UsageError` for a name that none has."""
    if options.get(NO_CHECKS) == "true":
        return ()
    wanted = options.get(CHECK)
    if wanted is None:
        return checks
    matching = tuple(
        one._replace(fallback=False) for one in checks if _plain_name(one.name) == _plain_name(wanted)
    )
    if not matching:
        named = ", ".join(f"`{one.name}`" for one in checks) or "none at all"
        raise UsageError(f"There is no check `{wanted}` here. There are: {named}.")
    return matching


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


def _as_checks(specs: Sequence[CheckSpec]) -> tuple[Check, ...]:
    return tuple(
        Check(spec.name, spec.command, spec.timeout, junit=spec.junit, fallback=spec.fallback)
        for spec in specs
    )
